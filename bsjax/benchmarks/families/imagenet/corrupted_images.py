"""ImageNet-C in a folder of the user, and random selection of its images."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from bsjax.benchmarks.families.imagenet.image_folders import existing, image_names, refuse_unknown, with_paths
from bsjax.benchmarks.kinds.engineering import SELECTION
from bsjax.core.left_behind import is_left_behind
from bsjax.core.messages import some
from bsjax.data import StimulusSet

Table = TypeVar("Table", bound=pd.DataFrame)


def corrupted_images(
    folder: str | Path, corruptions: Sequence[str], levels: Sequence[int], sampling_factor: int, seed: int
) -> StimulusSet:
    """A random selection of ImageNet-C, stored as ``corruption/level/synset/any_name.JPEG`` like its unpacked archives.

    Args:
        folder: the folder that holds the corruption folders.
        corruptions, levels: the corruptions and levels to use.
        sampling_factor, seed: as for :func:`sampled`.

    Returns:
        A set with ``stimulus_id``, ``synset``, ``noise_type`` and ``noise_level``.

    Raises:
        FileNotFoundError: a folder is missing or has no images.
        ValueError: a class is not in ImageNet, or ``sampling_factor`` is invalid.
    """
    root = existing(folder)
    cells = [(corruption, level) for corruption in corruptions for level in levels]
    missing = [f"{corruption}/{level}" for corruption, level in cells if not (root / corruption / str(level)).is_dir()]
    if missing:
        raise FileNotFoundError(f"{root} has no folder {some(missing)}: ImageNet-C is corruption/level/synset/image")
    rows = [
        (f"{corruption}/{level}/{image}", image.partition("/")[0], corruption, level)
        for corruption, level in cells
        for image in _images_by_class(root / corruption / str(level))
    ]
    table = pd.DataFrame(rows, columns=["stimulus_id", "synset", "noise_type", "noise_level"])
    refuse_unknown(table["synset"].drop_duplicates(), root)
    drawn, selection = sampled(table, corruptions, levels, sampling_factor, seed)
    stimuli = with_paths(drawn, root, "ImageNet-C")
    if selection:
        stimuli.attrs[SELECTION] = selection
    return stimuli


def sampled(
    table: Table, corruptions: Sequence[str], levels: Sequence[int], sampling_factor: int, seed: int
) -> tuple[Table, str]:
    """A random selection of the rows of each corruption and level, and its description.

    Args:
        table: a table with ``noise_type`` and ``noise_level``.
        corruptions, levels: the corruptions and levels to use.
        sampling_factor: 10 draws a tenth, rounded up; 1 takes all.
        seed: seed of the random selection. The same table gives the same rows.

    Raises:
        ValueError: ``sampling_factor`` is not a positive integer.
        FileNotFoundError: a corruption has no image at a level.

    Example:
        >>> table = pd.DataFrame({"noise_type": ["fog"] * 20, "noise_level": [1] * 10 + [2] * 10})
        >>> drawn, selection = sampled(table, ["fog"], [1, 2], sampling_factor=5, seed=0)
        >>> len(drawn), selection
        (4, 'a random 1 in 5 of each corruption and level, seed 0: 4 of 20 images')
    """
    if isinstance(sampling_factor, bool) or not isinstance(sampling_factor, int) or sampling_factor < 1:
        raise ValueError(f"sampling_factor must be a whole number from 1, got {sampling_factor!r}")
    random = np.random.default_rng(seed)
    kinds, strengths = table["noise_type"].to_numpy(), table["noise_level"].to_numpy()
    rows, n = [], 0
    for corruption in corruptions:
        for level in levels:
            cell = np.flatnonzero((kinds == corruption) & (strengths == level))
            if not len(cell):
                raise FileNotFoundError(f"there is no image of the corruption {corruption!r} at level {level}")
            n += len(cell)
            rows.append(np.sort(random.choice(cell, -(-len(cell) // sampling_factor), replace=False)))
    drawn = table.iloc[np.concatenate(rows)].reset_index(drop=True)
    if sampling_factor == 1:
        return drawn, ""
    share = f"a random 1 in {sampling_factor} of each corruption and level, seed {seed}"
    return drawn, f"{share}: {len(drawn)} of {n} images"


def _images_by_class(folder: Path) -> Iterator[str]:
    for name in sorted(path.name for path in folder.iterdir() if path.is_dir() and not is_left_behind(path.name)):
        yield from (f"{name}/{image}" for image in image_names(folder / name))
