"""The gallery: anonymised stimulus files for the model's side, which reveal nothing but their pixels.

Each file is named by a digest of its content and has no metadata and no date. Duplicates are stored once, and stimulus
sets are presented in the order of these names, so neither names nor order reveal the identity of a stimulus.
"""

import hashlib
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from bsjax.core.file_reading import reading_as
from bsjax.core.files import write_atomically
from bsjax.data.files.media_types import media_type

_DIGITS = 24
# Modes that Pillow writes to PNG unchanged; other images are converted to RGB, as bsjax reads them.
_AS_THEY_ARE = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")


class Shown(NamedTuple):
    """A stimulus set in the gallery.

    Attributes:
        names: sorted names of the distinct files.
        rows: index of each stimulus into ``names``, shape (n_stimuli,).
    """

    names: list[str]
    rows: np.ndarray


class Gallery:
    """A folder of anonymised stimulus files.

    Args:
        folder: the folder, which must be readable by the model's side.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: dict[Path, str] = {}

    def show(self, paths: Sequence[Path]) -> Shown:
        """Add files to the gallery.

        Raises:
            FileNotFoundError: a file does not exist.
            ValueError: a file is not a readable image.
        """
        names = [self._name(path) for path in paths]
        distinct, rows = np.unique(np.array(names, dtype=str), return_inverse=True)
        return Shown(distinct.tolist(), rows.reshape(-1))

    def path(self, name: str) -> Path:
        """The path of a file in the gallery."""
        return self.folder / name

    def _name(self, path: Path) -> str:
        if path not in self._names:
            content, suffix = _plain(path)
            name = hashlib.sha256(content).hexdigest()[:_DIGITS] + suffix
            if not (self.folder / name).exists():
                os.utime(write_atomically(self.folder / name, content, sync=False), (0, 0))
            self._names[path] = name
        return self._names[path]


def _plain(path: Path) -> tuple[bytes, str]:
    """The content and suffix of a file: images as PNG without metadata, other files unchanged."""
    if not path.exists():
        raise FileNotFoundError(f"no file of a stimulus at {path}")
    with open(path, "rb") as file:
        content = file.read()
    if not media_type(path).startswith("image/"):
        return content, path.suffix.lower()
    with reading_as("an image", path, ""), Image.open(io.BytesIO(content)) as image:
        image.load()
        seen = image if image.mode in _AS_THEY_ARE else image.convert("RGB")
        for name in [name for name in seen.info if name != "transparency"]:
            del seen.info[name]
        made = io.BytesIO()
        seen.save(made, "PNG", compress_level=1)
    return made.getvalue(), ".png"
