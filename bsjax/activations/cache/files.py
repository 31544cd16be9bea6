"""Files of a cache entry: their layout, validation and mapping."""

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from bsjax.core.digests.files import is_verified, mismatch, remember
from bsjax.core.files import explained

VALUES, NOTE = "values.npy", "entry.json"


class Problem(NamedTuple):
    """A damaged entry: its key, its folder, and what is wrong."""

    key: str
    folder: Path
    what: str


class Damaged(Exception):
    """An entry does not match its description."""


class Unwritable(OSError):
    """The cache cannot be written: the disk is full, or permission is missing."""


def npy_header(shape: tuple[int, ...], dtype: np.dtype) -> bytes:
    """The header of an ``.npy`` file, up to the values.

    Raises:
        ValueError: the dtype is not a numeric NumPy dtype.

    Example:
        >>> len(npy_header((2, 3), np.dtype(np.float32)))
        128
    """
    if dtype.kind not in "biufc":
        raise ValueError(f"the cache keeps numbers of NumPy's own dtypes, got {dtype}; convert to float32")
    header = io.BytesIO()
    described = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, described)
    return header.getvalue()


def file_size(shape: tuple[int, ...], dtype: np.dtype) -> int:
    """Bytes of the whole file."""
    return len(npy_header(shape, dtype)) + int(np.prod(shape, dtype=object)) * dtype.itemsize


def read_note(folder: Path) -> dict[str, Any]:
    """The description of an entry.

    Raises:
        FileNotFoundError: there is no such entry.
        Damaged: the description is not readable.
    """
    try:
        note = json.loads((folder / NOTE).read_bytes())
        note["shape"], note["dtype"] = tuple(map(int, note["shape"])), np.dtype(note["dtype"])
        note["rows_done"] = int(note.get("rows_done", note["shape"][0]))
        if not all(isinstance(note[name], str) for name in ("key", "identifier", "layer", "created", "sha256")):
            raise TypeError("a name that is none")
        note["opened"] = {str(name): [str(part) for part in parts] for name, parts in note["opened"].items()}
        if any(len(parts) != 2 for parts in note["opened"].values()):
            raise ValueError("a file that was read without a digest")
    except FileNotFoundError:
        _damaged_without(folder / NOTE)
        raise
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError, ArithmeticError, RecursionError) as error:
        raise Damaged(f"its {NOTE} is not readable ({error})") from None
    return note


def _damaged_without(file: Path) -> None:
    """Raise if an existing entry lacks a file, unless the file has appeared in the meantime."""
    if file.parent.is_dir() and not file.exists():
        raise Damaged(f"it has no {file.name}") from None


def checked_note(folder: Path, reread: bool = False) -> dict[str, Any]:
    """The description of a complete entry, after checking its values.

    The digest of the values is compared if the file's modification time differs from that of the last check, or if
    ``reread`` is set.

    Raises:
        FileNotFoundError: there is no such entry.
        Damaged: the values do not match the description.
    """
    note, values = read_note(folder), folder / VALUES
    try:
        if note["key"] != folder.name:
            raise Damaged(f"it is that of {note['key']}")
        size, expected = values.stat().st_size, file_size(note["shape"], note["dtype"])
        if size != expected:
            raise Damaged(f"its {VALUES} has {size:,} bytes, expected {expected:,}")
        header = npy_header(note["shape"], note["dtype"])
        with open(values, "rb") as file:
            if file.read(len(header)) != header:
                raise Damaged(f"its {VALUES} does not begin as its shape and dtype say")
        digests = {"sha256": note["sha256"]}
        if reread or not is_verified(values, digests):
            wrong = mismatch(values, digests)
            if wrong:
                raise Damaged(f"its {VALUES} was changed: {wrong}")
            remember(values, digests)
    except FileNotFoundError:
        _damaged_without(values)
        raise
    except ValueError as error:
        raise Damaged(f"its {NOTE} makes no sense ({error})") from None
    return note


def mapped(folder: Path) -> np.ndarray:
    """The values of an entry, memory-mapped and read-only."""
    return np.load(folder / VALUES, mmap_mode="r")


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Turn write errors in a block into errors with advice.

    Raises:
        Unwritable: writing failed; has the ``errno`` of the original error.
    """
    try:
        yield
    except OSError as error:
        told = Unwritable(str(explained(error, "cache activations", root, variable="BSJAX_HOME")))
        told.errno = error.errno
        raise told from error
