"""Writer of a cache entry, row by row, which resumes after an interruption."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from errno import EDQUOT, EINVAL, ENOSPC, ENOSYS, EOPNOTSUPP
from pathlib import Path
from typing import Any

import numpy as np

from bsjax.activations.cache.files import (
    NOTE,
    VALUES,
    Damaged,
    file_size,
    mapped,
    npy_header,
    read_note,
    writing,
)
from bsjax.core.digests.files import remember
from bsjax.core.files import write_atomically
from bsjax.core.identity.opened import Notes, unchanged

_BLOCK = 1 << 22
# Bytes after which rows are flushed to disk while the next are computed, so that little is left for the end.
_SYNC_EVERY = 1 << 24


class EntryTooLarge(ValueError):
    """Activations exceed the size limit of the cache."""


class Writer:
    """Writes the rows of one entry; from :meth:`ActivationCache.write`.

    Disk space is reserved at the start. After each :meth:`write`, the description records the number of rows and the
    digest of all bytes so far. A resumed writer reads the rows of the earlier process again, and keeps them if they
    agree with it. So neither a killed process nor a power cut can leave rows that were not written.

    Attributes:
        rows_done: number of rows written, which is the index of the next one.
    """

    def __init__(
        self,
        folder: Path,
        target: Path,
        note: dict[str, Any],
        opened: Callable[[], Notes],
        committed: Callable[[], None],
    ) -> None:
        self._folder, self._target, self._note, self._committed = folder, target, note, committed
        self._opened, self._note["opened"] = opened, {}
        self._shape: tuple[int, ...] = tuple(note["shape"])
        self._dtype = np.dtype(note["dtype"])
        self._doing = f"cache activations of layer {note['layer']!r} of model {note['identifier']!r}"
        self._root = target.parent.parent
        self._header = npy_header(self._shape, self._dtype)
        self._row_bytes = int(np.prod(self._shape[1:], dtype=object)) * self._dtype.itemsize
        self._keep, self._unsynced = True, 0
        self._file: int | None = None
        self.rows_done, self._running = self._left() or (0, hashlib.sha256(self._header))
        with writing(self._root):
            try:
                self._begin() if self.rows_done == 0 else self._continue()
            except BaseException as error:
                self._keep = getattr(error, "errno", None) not in (ENOSPC, EDQUOT)
                self.close()
                raise

    def write(self, start: int, values: np.ndarray) -> None:
        """Write rows.

        Args:
            start: index of the first row; must be ``rows_done``.
            values: ``(rows, ...)``, in the shape and dtype of the entry.

        Raises:
            ValueError: they are not the next rows, or have another shape or dtype.
            Unwritable: the disk is full, in which case the written rows are removed; or it cannot be written.
        """
        values = np.asarray(values)
        stop = start + len(values)
        if self._file is None or start != self.rows_done or stop > self._shape[0]:
            raise ValueError(
                f"cannot {self._doing}: expected rows from {self.rows_done} of {self._shape[0]}, got {start} to {stop}"
            )
        if values.shape[1:] != self._shape[1:] or values.dtype != self._dtype:
            raise ValueError(
                f"cannot {self._doing}: expected rows of shape {self._shape[1:]} and {self._dtype}, "
                f"got {values.shape[1:]} and {values.dtype}"
            )
        if stop == start:
            return
        content = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
        with writing(self._root):
            try:
                _write_at(self._file, content.data, len(self._header) + start * self._row_bytes)
                self._running.update(content.data)
                self._write_note(stop)
                self._unsynced += content.nbytes
                if self._unsynced >= _SYNC_EVERY:
                    os.fsync(self._file)
                    self._unsynced = 0
            except OSError as error:
                self._keep = error.errno not in (ENOSPC, EDQUOT)
                raise
        self.rows_done = stop

    def commit(self) -> None:
        """Flush all rows to disk, move the entry to its place, and evict old entries if necessary.

        Raises:
            ValueError: rows are missing.
            Unwritable: the disk is full, or cannot be written.
        """
        if self._file is None or self.rows_done != self._shape[0]:
            raise ValueError(f"cannot {self._doing}: {self.rows_done} of {self._shape[0]} rows are there")
        with writing(self._root):
            os.fsync(self._file)
            os.close(self._file)
            self._file = None
            self._note["created"] = datetime.now(UTC).isoformat()
            self._write_note(self.rows_done, sync=True)
            remember(self._folder / VALUES, {"sha256": self._running.hexdigest()})
            self._target.parent.mkdir(exist_ok=True)
            os.replace(self._folder, self._target)
            self._committed()

    def finish(self) -> np.ndarray:
        """Commit, and return the values, memory-mapped and read-only."""
        self.commit()
        return mapped(self._target)

    def close(self) -> None:
        """Stop writing. Written rows are kept for the next process, unless the disk is full."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if not self._keep or self.rows_done == 0:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _left(self) -> tuple[int, Any] | None:
        """The number of rows of an earlier process and the digest up to there, if they are as it noted them."""
        try:
            note = read_note(self._folder)
            if (note["shape"], note["dtype"]) != (self._shape, self._dtype) or not unchanged(note["opened"]):
                return None
            running, left = hashlib.sha256(), len(self._header) + note["rows_done"] * self._row_bytes
            with open(self._folder / VALUES, "rb") as file:
                while block := file.read(min(left, _BLOCK)):
                    running.update(block)
                    left -= len(block)
        except (OSError, ValueError, Damaged):
            return None
        if running.hexdigest() != note["sha256"]:
            return None
        self._note["opened"] = note["opened"]
        return note["rows_done"], running

    def _begin(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True)
        self._file = os.open(self._folder / VALUES, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        _reserve(self._file, file_size(self._shape, self._dtype))
        _write_at(self._file, memoryview(self._header), 0)
        self._write_note(0)

    def _continue(self) -> None:
        self._file = os.open(self._folder / VALUES, os.O_RDWR)
        _reserve(self._file, file_size(self._shape, self._dtype))

    def _write_note(self, rows_done: int, sync: bool = False) -> None:
        """Record the rows, and the files that have been read for them."""
        self._note |= {"opened": self._note["opened"] | self._opened()}
        known = {"shape": self._shape, "dtype": self._dtype.str, "rows_done": rows_done}
        content = {**self._note, **known, "sha256": self._running.hexdigest()}
        write_atomically(self._folder / NOTE, json.dumps(content, indent=1).encode(), sync)


def _write_at(file: int, content: memoryview, offset: int) -> None:
    while content:
        written = os.pwrite(file, content[: 1 << 30], offset)
        content, offset = content[written:], offset + written


def _reserve(file: int, size: int) -> None:
    """Reserve space for the whole file, so that a full disk is detected at the start."""
    if hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as error:
            if error.errno not in (EINVAL, EOPNOTSUPP, ENOSYS):
                raise
    os.truncate(file, size)
