"""Entries of an activation cache: listing, description and removal."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bsjax.activations.cache.files import JOURNAL, NOTE, VALUES, Damaged, read_note

UNFINISHED, _TRASH = ".unfinished", ".trash"


class Place(NamedTuple):
    """Location of an entry, the size of its file on disk, and its last use in seconds since 1970."""

    key: str
    folder: Path
    complete: bool
    n_bytes: int
    last_used: float


@dataclass(frozen=True)
class Entry:
    """One layer's activations for a sequence of stimuli.

    Attributes:
        key: digest of its recipe.
        identifier: name of the model when it was written.
        layer: name of the layer.
        shape: rows first.
        dtype: of the values.
        n_bytes: size of its file.
        rows_done: number of rows written; fewer than all while it is unfinished.
        complete: whether it can be read.
        last_used: when it was written or last read.
        folder: its location.
    """

    key: str
    identifier: str
    layer: str
    shape: tuple[int, ...]
    dtype: np.dtype
    n_bytes: int
    rows_done: int
    complete: bool
    last_used: datetime
    folder: Path


def places(root: Path) -> list[Place]:
    """All entries, most recently used first, from names, sizes and times of files alone."""
    found = []
    for folder, complete in _folders(root):
        try:
            values, used = os.stat(folder / VALUES), os.stat(folder / (NOTE if complete else JOURNAL))
            found.append(Place(folder.name, folder, complete, values.st_size, used.st_mtime))
        except FileNotFoundError:  # being removed, or damaged
            if folder.is_dir():
                found.append(Place(folder.name, folder, complete, _size(folder / VALUES), 0.0))
    return sorted(found, key=lambda place: (-place.last_used, place.key))


def entry_at(place: Place) -> Entry:
    """The description of an entry; names are "?" if it is unreadable."""
    try:
        note = read_note(place.folder)
        done = note["shape"][0] if place.complete else _rows_logged(place.folder / JOURNAL)
    except (OSError, ValueError, Damaged):
        note, done = {"identifier": "?", "layer": "?", "shape": (0,), "dtype": np.dtype(np.float32)}, 0
    return Entry(
        key=place.key,
        identifier=note["identifier"],
        layer=note["layer"],
        shape=note["shape"],
        dtype=note["dtype"],
        n_bytes=place.n_bytes,
        rows_done=done,
        complete=place.complete,
        last_used=datetime.fromtimestamp(place.last_used, UTC),
        folder=place.folder,
    )


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


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def _rows_logged(journal: Path) -> int:
    lines = journal.read_text().split("\n")[:-1]
    return int(lines[-1].split()[0]) if lines else 0
