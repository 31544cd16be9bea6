"""Entries of an activation cache: listing, description and removal."""

import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bsjax.activations.cache.files import NOTE, VALUES, Damaged, read_note

UNFINISHED, _TRASH = ".unfinished", ".trash"


@dataclass(frozen=True)
class Entry:
    """One layer's activations for a sequence of stimuli. Its description is read from its folder when it is needed.

    Attributes:
        key: digest of its recipe.
        folder: its location.
        complete: whether it can be read.
        n_bytes: size of its file.
        last_used: when it was written or last read.
    """

    key: str
    folder: Path
    complete: bool
    n_bytes: int
    last_used: datetime

    @property
    def identifier(self) -> str:
        """Name of the model when it was written; "?" if the description is unreadable."""
        return self._note["identifier"]

    @property
    def layer(self) -> str:
        """Name of the layer; "?" if the description is unreadable."""
        return self._note["layer"]

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values, rows first."""
        return self._note["shape"]

    @property
    def dtype(self) -> np.dtype:
        """Dtype of the values."""
        return self._note["dtype"]

    @property
    def rows_done(self) -> int:
        """Number of rows written; fewer than all while it is unfinished."""
        return self._note["rows_done"]

    @cached_property
    def _note(self) -> dict[str, Any]:
        try:
            return read_note(self.folder)
        except (OSError, Damaged):
            return {"identifier": "?", "layer": "?", "shape": (0,), "dtype": np.dtype(np.float32), "rows_done": 0}


def entries_in(root: Path) -> list[Entry]:
    """All entries, most recently used first, from names, sizes and times of files alone."""
    found = []
    for folder, complete in _folders(root):
        try:
            size, used = os.stat(folder / VALUES).st_size, os.stat(folder / NOTE).st_mtime
        except FileNotFoundError:  # being removed, or damaged, which goes first
            if not folder.is_dir():
                continue
            size, used = 0, 0.0
        found.append(Entry(folder.name, folder, complete, size, datetime.fromtimestamp(used, UTC)))
    return sorted(found, key=lambda entry: (-entry.last_used.timestamp(), entry.key))


def discard(root: Path, folder: Path) -> bool:
    """Remove an entry in one step; False if another process was faster, or it cannot be removed.

    A process that has mapped its values can still use them.
    """
    moved = root / _TRASH / secrets.token_hex(8)
    try:
        moved.parent.mkdir(exist_ok=True)
        os.rename(folder, moved)
    except OSError:
        return False
    shutil.rmtree(moved, ignore_errors=True)
    return True


def empty_trash(root: Path) -> None:
    """Remove entries whose removal was interrupted."""
    for left in _inside(root / _TRASH):
        shutil.rmtree(left, ignore_errors=True)


def _folders(root: Path) -> Iterator[tuple[Path, bool]]:
    for above in _inside(root):
        if above.name == UNFINISHED:
            yield from ((folder, False) for folder in _inside(above))
        elif len(above.name) == 2:
            yield from ((folder, True) for folder in _inside(above))


def _inside(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as found:
            return [Path(each.path) for each in found if each.is_dir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
