"""Folders of images as users have them: of ImageNet, ImageNet-C and ObjectNet."""

import json
import os
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
import pandas as pd

from bsjax.benchmarks.kinds.engineering import SELECTION
from bsjax.core.file_reading import reading_as
from bsjax.core.labels import require_columns
from bsjax.core.left_behind import files_in, is_left_behind
from bsjax.core.messages import some
from bsjax.data import StimulusSet, load_image
from bsjax.data.files.tables import read_table
from bsjax.models.tasks.imagenet import synsets

_SUFFIXES = (".jpeg", ".jpg", ".png")
_WORDNET_ID = re.compile(r"n\d{8}")
_CLASSES, _PER_CLASS = 1000, 50
_FRAME = 2  # pixels, of an image of ObjectNet
Table = TypeVar("Table", bound=pd.DataFrame)


def validation_images(folder: str | Path) -> StimulusSet:
    """ImageNet's validation images of 2012, in one of three folder layouts.

    ============================  ================================================================================
    ``n01440764/any_name.JPEG``   a folder for each class, named by its WordNet id
    images and one CSV file       with columns ``filename`` and ``synset``
    images and one text file      lines ``filename synset``; or ``synset`` alone, for the images sorted by name
    ============================  ================================================================================

    Args:
        folder: the folder of the images.

    Returns:
        A set with ``stimulus_id`` and ``synset``. If it does not have 50 images of each of 1000 classes,
        ``attrs["selection"]`` and a warning describe the images found.

    Raises:
        FileNotFoundError: the folder is missing or has no image or none of these layouts, or an image of the table is
            missing.
        ValueError: there are several tables, the table cannot be read in this layout, or a class is not in ImageNet.
    """
    root = existing(folder)
    classes = sorted(entry.name for entry in os.scandir(root) if entry.is_dir() and _WORDNET_ID.fullmatch(entry.name))
    if classes:
        rows = [(f"{name}/{image}", name) for name in classes for image in image_names(root / name)]
    else:
        rows = _listed_images(root)
    table = pd.DataFrame(rows, columns=["stimulus_id", "synset"])
    refuse_unknown(table["synset"], root)
    if not len(table):
        raise FileNotFoundError(f"there is no image of a class in {root}")
    stimuli = with_paths(table, root, "ImageNet2012-validation")
    counts = table["synset"].value_counts()
    if len(counts) != _CLASSES or not (counts == _PER_CLASS).all():
        of = f"{_CLASSES * _PER_CLASS} of {_CLASSES} classes"
        stimuli.attrs[SELECTION] = f"{len(table)} images of {len(counts)} classes, of the {of}"
        warnings.warn(f"{root} has {stimuli.attrs[SELECTION]}: the score is of these only", stacklevel=2)
    return stimuli


def existing(folder: str | Path) -> Path:
    """The path of a folder, after checking that it exists.

    Raises:
        FileNotFoundError: the folder does not exist.
    """
    path = Path(folder).expanduser()
    if not path.is_dir():
        raise FileNotFoundError(f"no folder {path}")
    return path


def image_names(folder: Path) -> list[str]:
    """Sorted names of the images in a folder, without hidden files, pipes and folders."""
    names = (entry.name for entry in os.scandir(folder) if entry.is_file())
    return sorted(name for name in names if name.lower().endswith(_SUFFIXES) and not is_left_behind(name))


def with_paths(table: pd.DataFrame, root: Path, identifier: str) -> StimulusSet:
    """A table as a stimulus set, whose ids are paths within the folder ``root``."""
    paths = {name: root / name for name in table["stimulus_id"]}
    return StimulusSet(table, identifier=identifier, stimulus_paths=paths)


def refuse_unknown(classes: Iterable[str], root: Path) -> None:
    """Raise an error if a class is not in ImageNet.

    Raises:
        ValueError: a class is unknown; the message names it and the folder ``root``.
    """
    unknown = sorted(set(map(str, classes)) - set(synsets()))
    if unknown:
        raise ValueError(
            f"{root} has classes that are none of the {_CLASSES} of ImageNet: {some(unknown)}. They go by WordNet ids "
            "such as n01440764; numbers are not accepted, since there are several orders of the classes"
        )


def _listed_images(root: Path) -> list[tuple[str, str]]:
    """(file, synset) of each image in a folder without class folders, read from its single table."""
    tables = [path for path in files_in(root) if path.suffix in (".csv", ".txt")]
    if not tables:
        raise FileNotFoundError(
            f"{root} has no folders that are named by WordNet ids (n01440764 ...), and no .csv or .txt file that says "
            "which image shows which class"
        )
    if len(tables) > 1:
        raise ValueError(
            f"{root} has several tables, {some([path.name for path in tables])}: leave the one of the classes"
        )
    images = image_names(root)
    with reading_as("a table of classes", tables[0], ""):
        rows = _csv_rows(tables[0]) if tables[0].suffix == ".csv" else _text_rows(tables[0], images)
    have = set(images)
    lost = [name for name, _ in rows if name not in have]
    if lost:
        raise FileNotFoundError(f"{len(lost)} of {len(rows)} images of {tables[0]} are not in its folder: {some(lost)}")
    return rows


def _csv_rows(path: Path) -> list[tuple[str, str]]:
    table = read_table(path, text=("filename", "synset"))
    require_columns(table, ["filename", "synset"], str(path))
    return list(zip(table["filename"], table["synset"], strict=True))


def _text_rows(path: Path, images: Sequence[str]) -> list[tuple[str, str]]:
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if lines and all(len(line) == 2 for line in lines):
        return [(name, synset) for name, synset in lines]
    if lines and all(len(line) == 1 for line in lines):
        if len(lines) != len(images):
            raise ValueError(f"{path} has {len(lines)} lines, for the {len(images)} images beside it")
        return [(name, synset) for name, [synset] in zip(images, lines, strict=True)]
    raise ValueError(f"{path} must have lines `filename synset`, or `synset` alone for the images sorted by name")


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


def objectnet_images(folder: str | Path) -> StimulusSet:
    """The images of ObjectNet whose object is exactly one of ImageNet's classes, as in Brain-Score's BarbuMayo2019.

    Args:
        folder: the unpacked ObjectNet, with ``images/<object>/*.png`` and ``mappings/``; or a folder with folders
            ``<object>`` and a file ``mapping.json``, ``{object: WordNet id, or a list of them}``.

    Returns:
        A set with ``stimulus_id``, ``synset`` and ``object``; ``attrs["selection"]`` says how many objects are used and
        left out.

    Raises:
        FileNotFoundError: the folder or the mapping is missing, or an object has no images.
        ValueError: a class is not in ImageNet, or the images still have their red frame.
    """
    root = existing(folder)
    classes = _object_classes(root)
    images = root / "images" if (root / "images").is_dir() else root
    single = {name: ids[0] for name, ids in sorted(classes.items()) if len(ids) == 1}
    refuse_unknown(single.values(), root)
    absent = [name for name in single if not (images / name).is_dir()]
    if absent or not single:
        raise FileNotFoundError(f"{images} has no folder {some(absent) or 'of an object with one class of ImageNet'}")
    rows = [
        (f"{name}/{image}", synset, name) for name, synset in single.items() for image in image_names(images / name)
    ]
    table = pd.DataFrame(rows, columns=["stimulus_id", "synset", "object"])
    if not len(table):
        raise FileNotFoundError(f"there is no image in the folders of objects in {images}")
    stimuli = with_paths(table, images, "ObjectNet")
    first = stimuli.get_stimulus(table["stimulus_id"][0])
    if _framed(load_image(first)):
        raise ValueError(
            f"{first} has the red frame of {_FRAME} pixels that ObjectNet asks to remove: cut it off from a copy of "
            f"the images, e.g. with ImageMagick, `mogrify -shave {_FRAME}x{_FRAME} images/*/*.png`"
        )
    left_out = len(classes) - len(single)
    stimuli.attrs[SELECTION] = (
        f"{len(single)} objects that are one class of ImageNet; {left_out} that are several are left out"
    )
    return stimuli


def _object_classes(root: Path) -> Mapping[str, Sequence[str]]:
    """Object folder -> the WordNet ids of its classes."""
    own = root / "mapping.json"
    if own.is_file():
        with reading_as("a mapping of objects to WordNet ids", own, ""):
            mapping = json.loads(own.read_text(encoding="utf-8"))
            return {name: [ids] if isinstance(ids, str) else list(map(str, ids)) for name, ids in mapping.items()}
    folder = root / "mappings"
    files = ("folder_to_objectnet_label", "objectnet_to_imagenet_1k", "pytorch_to_imagenet_2012_id")
    paths = [folder / f"{name}.json" for name in files] + [folder / "imagenet_to_label_2012_v2"]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise FileNotFoundError(
            f"{root} has no mapping.json, {{object: WordNet id}}, and its mappings/ lacks ObjectNet's {some(missing)}"
        )
    with reading_as(f"ObjectNet's mappings {some([path.name for path in paths])}", folder):
        labels, of_label, units = (json.loads(path.read_text(encoding="utf-8")) for path in paths[:3])
        unit_of = {number: int(unit) for unit, number in units.items()}
        lines = paths[3].read_text(encoding="utf-8").splitlines()
        synset_of = {line.strip(): synsets()[unit_of[number]] for number, line in enumerate(lines) if number in unit_of}
        return {
            name: [synset_of[words] for words in of_label[label].split("; ")]
            for name, label in labels.items()
            if label in of_label
        }


def _framed(image: np.ndarray) -> bool:
    """Whether all pixels at the image border are red."""
    edges = (image[:_FRAME], image[-_FRAME:], image[:, :_FRAME], image[:, -_FRAME:])
    return all((edge[..., 0] > 200).all() and (edge[..., 1:] < 60).all() for edge in edges)
