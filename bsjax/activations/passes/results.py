"""Storage of results during a pass: in memory, in a temporary file, or on the accelerator."""

import shutil
import tempfile
from collections.abc import Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.core.files import cache_dir, explaining
from bsjax.core.messages import in_words


class Result(Protocol):
    """The activations of one layer, written in order."""

    rows_done: int
    """Number of rows already written."""

    def write(self, start: int, values: Any) -> None:
        """Write rows from ``start`` on, with all dimensions after the first."""
        ...

    def finish(self) -> Any:
        """Return all rows."""
        ...


class InMemory:
    """Rows in an array; several layers may be columns of one array, so that concatenation needs no copy."""

    rows_done = 0

    def __init__(self, columns: np.ndarray) -> None:
        self._columns = columns

    def write(self, start: int, values: Any) -> None:
        self._columns[start : start + len(values)] = values.reshape(len(values), -1)

    def finish(self) -> np.ndarray:
        return self._columns


class OnDisk:
    """Rows in an unnamed temporary file, which the system deletes when it is no longer mapped."""

    rows_done = 0

    def __init__(self, n_rows: int, shape: tuple[int, ...]) -> None:
        self._shape = (n_rows, int(np.prod(shape)))
        n_bytes, folder = 4 * int(np.prod(self._shape)), cache_dir()
        self._doing = f"write {in_words(n_bytes)} of activations that do not fit in memory", folder
        with explaining(*self._doing):
            folder.mkdir(parents=True, exist_ok=True)
            self._file = tempfile.TemporaryFile(dir=folder, prefix="activations-")
        if shutil.disk_usage(folder).free < n_bytes:
            raise OSError(
                f"activations do not fit in memory and take {in_words(n_bytes)} on disk, which {folder} has not: "
                "choose a reducer or fewer layers, or set BSJAX_HOME to a folder on another disk"
            )

    def write(self, start: int, values: Any) -> None:
        # Written through the file, since pages written through a map count as memory of this process.
        with explaining(*self._doing):
            self._file.seek(4 * start * self._shape[1])
            self._file.write(np.ascontiguousarray(values, np.float32).data.cast("B"))

    def finish(self) -> np.ndarray:
        with explaining(*self._doing):
            self._file.flush()
        mapped = np.memmap(self._file, np.float32, mode="r", shape=self._shape)
        self._file.close()
        return mapped


class OnDevice:
    """Rows that stay on the accelerator."""

    def __init__(self) -> None:
        self._parts: list[jax.Array] = []

    def write(self, start: int, values: Any) -> None:
        self._parts.append(jnp.reshape(values, (len(values), -1)))

    def finish(self) -> jax.Array:
        return jnp.concatenate(self._parts) if len(self._parts) > 1 else self._parts[0]


def in_memory(n_rows: int, shapes: Sequence[tuple[int, ...]]) -> list[InMemory]:
    """Results for layers of these shapes, as adjacent columns of one array."""
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
    joined = np.empty((n_rows, int(ends[-1])), np.float32)
    columns = np.split(joined, ends[:-1], axis=1)
    return [InMemory(part) for part in columns]


def side_by_side(parts: Sequence[Any]) -> Any:
    """Concatenate layers; without a copy if they are adjacent columns of one array.

    Example:
        >>> parts = [result.finish() for result in in_memory(2, [(3,), (1, 2)])]
        >>> joined = side_by_side(parts)
        >>> joined.shape, joined is parts[0].base
        ((2, 5), True)
    """
    joined = parts[0].base if isinstance(parts[0], np.ndarray) else None
    if joined is not None and joined.ndim == 2 and not isinstance(joined, np.memmap):
        ends = np.cumsum([part.shape[1] for part in parts])
        places = np.split(joined, ends[:-1], axis=1) if joined.shape[1] == ends[-1] else []
        if len(places) == len(parts) and all(
            part.base is joined and part.shape == place.shape and part.ctypes.data == place.ctypes.data
            for part, place in zip(parts, places, strict=True)
        ):
            return joined
    return concatenated(parts, axis=1)


def concatenated(parts: Sequence[Any], axis: int) -> Any:
    """Concatenate arrays, on the device if all of them are there, else on the host."""
    if all(isinstance(part, jax.Array) for part in parts):
        return jnp.concatenate(parts, axis=axis)
    return np.concatenate([np.asarray(part) for part in parts], axis=axis)
