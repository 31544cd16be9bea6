"""The gallery: files of stimuli as the model's side sees them, which say nothing beyond their pixels.

A file is named by a digest of its content, has no metadata and no date. Each content is there once, and sets of stimuli
are shown in the order of these names, so that neither names nor order tell what a stimulus is.
"""

from __future__ import annotations

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
# What Pillow writes as PNG as it is; other images are shown in the colours that bsjax reads them in.
_AS_THEY_ARE = ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")


class Shown(NamedTuple):
    """A set of stimuli in the gallery.

    Attributes:
        names: of the distinct files, in their order.
        rows: for each stimulus the number of its file among them.
    """

    names: list[str]
    rows: np.ndarray


class Gallery:
    """A folder of stimuli without names.

    Args:
        folder: where the files lie; it must be seen by the model's side.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names: dict[Path, str] = {}

    def show(self, paths: Sequence[Path]) -> Shown:
        """Put files into the gallery.

        Raises:
            FileNotFoundError, ValueError: a file is not there, or cannot be read as what its name says.
        """
        names = [self._name(path) for path in paths]
        distinct, rows = np.unique(np.array(names, dtype=str), return_inverse=True)
        return Shown(distinct.tolist(), rows.reshape(-1))

    def path(self, name: str) -> Path:
        """Where a file of the gallery lies."""
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
    """The content of a file without what is not to be seen, and its ending: images as PNG, others as they are."""
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
