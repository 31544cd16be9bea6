"""Shown items, one per row: an image, a shifted image, or a window of a video."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bsjax.core.digests.arrays import file_digest
from bsjax.core.messages import counted, some
from bsjax.data import StimulusSet


@dataclass(frozen=True)
class Item:
    """One shown item.

    Attributes:
        path: the file.
        shift: shift of the preprocessed image to the right and down, as fractions of its height.
        window: for a video, the first frame, the number of frames, and frames per second; None for an image.
    """

    path: Path
    shift: tuple[float, float] = (0.0, 0.0)
    window: tuple[int, int, float] | None = None

    def digest(self) -> str:
        """A digest of the content: the bytes of the file, the shift and the window.

        Raises:
            FileNotFoundError: there is no such file.
        """
        shift = "" if self.shift == (0.0, 0.0) else f" shift {self.shift[0]!r} {self.shift[1]!r}"
        window = "" if self.window is None else f" window {self.window!r}"
        return f"{file_digest(self.path)}{shift}{window}"


def items_of(stimuli: StimulusSet) -> list[Item]:
    """The image of each row.

    Raises:
        KeyError: a stimulus has no path.
    """
    return [Item(Path(stimuli.get_stimulus(stimulus_id))) for stimulus_id in stimuli["stimulus_id"].tolist()]


def unique_items(items: Sequence[Item]) -> tuple[np.ndarray, list[int]]:
    """The index of each item's content, and the first item of each content.

    Raises:
        FileNotFoundError: files do not exist; the message names the first ones.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     for name in ("a", "b"):
        ...         _ = (Path(folder) / name).write_bytes(b"same")
        ...     unique_items([Item(Path(folder) / "a"), Item(Path(folder) / "b")])
        (array([0, 0]), [0])
    """
    # Compute the digest once for rows that share an item.
    digests: dict[Item, str] = {}
    missing = []
    for item in dict.fromkeys(items):
        try:
            digests[item] = item.digest()
        except FileNotFoundError:
            missing.append(item.path)
    if missing:
        what = f"{counted(len(missing), 'file')} of {len(missing) + len(digests):,} of the stimuli not found"
        raise FileNotFoundError(f"{what}: {some(missing)}. Were they moved since the stimulus set was loaded?")
    number, _ = pd.factorize(np.array([digests[item] for item in items], dtype=object))
    _, first = np.unique(number, return_index=True)
    return number, first.tolist()
