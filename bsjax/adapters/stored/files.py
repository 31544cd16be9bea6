"""Files of stored activations, read row by row on demand."""

from __future__ import annotations

import importlib.util
import math
import warnings
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from bsjax.core.extras import import_extra
from bsjax.core.file_reading import reading_as
from bsjax.core.left_behind import files_in, is_left_behind
from bsjax.data import NeuroidAssembly, read_assembly

IDS = "stimulus_ids"
"""Name of the array, or attribute of a zarr group, with the id of each row."""

_AT_ONCE = 1 << 22  # bytes of a compressed array that are decompressed at a time
_READ = 1 << 24  # bytes of an array that are read at a time; the C library keeps memory of this size for the next read
_ROWS_AT_ONCE = 64
_HEADERS: dict[tuple[int, int], Callable[[IO[bytes]], tuple[tuple[int, ...], bool, np.dtype]]] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class Rows(Protocol):
    """An array in memory or on disk, read by rows."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

    def __getitem__(self, rows: np.ndarray, /) -> Any:
        """The rows with these indices, which are in ascending order."""
        ...


def rows_at_a_time(array: Rows) -> int:
    """The number of rows to read at a time: whole chunks of a zarr array, all rows of what is read from its start."""
    rows = max(_READ // max(array.dtype.itemsize * math.prod(array.shape[1:]), 1), 1)
    if isinstance(array, _ZarrRows):
        return -(-rows // array.chunk) * array.chunk
    return rows if isinstance(array, np.ndarray) else max(array.shape[0], 1)


def read_stored(path: Path) -> NeuroidAssembly | dict[str, Rows]:
    """The content of a file or folder of activations, read only as far as needed for the shapes.

    Args:
        path: ``.npz``; ``.nc``, an assembly; a zarr group; or a folder of ``.npy`` files.

    Returns:
        An assembly, or arrays by name, including :data:`IDS` if present.

    Raises:
        FileNotFoundError: the path does not exist.
        ValueError: it is none of these, cannot be read, or holds pickled objects.
        ImportError: zarr is not installed.
    """
    if not path.exists():
        raise FileNotFoundError(f"no stored activations at {path}")
    if path.is_dir():
        is_zarr = path.suffix == ".zarr" or any((path / name).exists() for name in ("zarr.json", ".zgroup"))
        return _zarr(path) if is_zarr else _folder(path)
    if path.suffix == ".npz":
        return _npz(path)
    if path.suffix == ".nc":
        # Lazily with dask, otherwise all at once.
        by_need = importlib.util.find_spec("dask") is not None
        return read_assembly(path, NeuroidAssembly, chunks={"presentation": _ROWS_AT_ONCE} if by_need else None)
    raise ValueError(f"stored activations are .npz, .nc, a zarr group, or a folder of .npy files, got {path}")


@dataclass(frozen=True)
class _Npy:
    """Header of an array in a file."""

    shape: tuple[int, ...]
    in_fortran_order: bool
    dtype: np.dtype

    @classmethod
    def of(cls, file: IO[bytes], where: str) -> _Npy:
        """Read the header, and leave the file at the first value.

        Raises:
            ValueError: it is not such a file, or its values are pickled.
        """
        with reading_as("an array", where, ""):
            version = np.lib.format.read_magic(file)
            header = cls(*_HEADERS[version](file))
        if header.dtype.hasobject:
            raise ValueError(
                f"{where} holds pickled Python objects, which could run any code and are not read: save numbers as "
                "numbers, and names as np.array(names, dtype=str)"
            )
        return header

    def mapped(self, path: Path, offset: int) -> np.ndarray:
        """The values, memory-mapped from the file."""
        if 0 in self.shape:
            return np.empty(self.shape, self.dtype)
        order = "F" if self.in_fortran_order else "C"
        if path.stat().st_size < offset + self.dtype.itemsize * int(np.prod(self.shape)):
            raise ValueError(f"{path} is cut short: it has fewer values than its shape {self.shape} needs")
        return np.memmap(path, self.dtype, "r", offset, self.shape, order)


def _folder(path: Path) -> dict[str, Rows]:
    arrays: dict[str, Rows] = {}
    for file_path in files_in(path, "*.npy"):
        with open(file_path, "rb") as file:
            arrays[file_path.stem] = _Npy.of(file, str(file_path)).mapped(file_path, file.tell())
    if not arrays:
        raise ValueError(f"{path} is neither a zarr group nor a folder with .npy files")
    return arrays


def _npz(path: Path) -> dict[str, Rows]:
    arrays: dict[str, Rows] = {}
    with reading_as("an .npz file", path, ""), zipfile.ZipFile(path) as archive, open(path, "rb") as file:
        for member in archive.infolist():
            if is_left_behind(member.filename):
                continue
            where = f"{member.filename.removesuffix('.npy')!r} of {path}"
            with archive.open(member) as packed:  # also seeks to the member
                header = _Npy.of(packed, where)
                before = packed.tell()
            if member.compress_type == zipfile.ZIP_STORED:
                array = header.mapped(path, _start(file, member) + before)
            else:
                array = _Packed(path, member.filename, header)
            arrays[member.filename.removesuffix(".npy")] = array
    return arrays


def _start(file: IO[bytes], member: zipfile.ZipInfo) -> int:
    """Offset of the content of an uncompressed member: after a header of 30 bytes, its name, and extra fields."""
    file.seek(member.header_offset + 26)
    lengths = file.read(4)
    return member.header_offset + 30 + int.from_bytes(lengths[:2], "little") + int.from_bytes(lengths[2:], "little")


class _Packed:
    """A compressed array, decompressed from the start for every read, of which only the requested rows are kept."""

    def __init__(self, path: Path, member: str, header: _Npy) -> None:
        self._path, self._member, self._header = path, member, header
        self.shape, self.dtype = header.shape, header.dtype

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        with (
            reading_as("an .npz file", self._path, ""),
            zipfile.ZipFile(self._path) as archive,
            archive.open(self._member) as file,
        ):
            header = _Npy.of(file, f"{self._member!r} of {self._path}")
            if header.in_fortran_order or not self.shape:  # a row is spread over the whole array
                values = np.frombuffer(file.read(), self.dtype)
                return values.reshape(self.shape, order="F" if header.in_fortran_order else "C")[rows]
            n_bytes = self.dtype.itemsize * int(np.prod(self.shape[1:]))
            step = max(_AT_ONCE // max(n_bytes, 1), 1)
            found = np.empty((len(rows), *self.shape[1:]), self.dtype)
            for start in range(0, int(rows[-1]) + 1 if len(rows) else 0, step):
                n = min(step, self.shape[0] - start)
                block = np.frombuffer(file.read(n * n_bytes), self.dtype).reshape(n, *self.shape[1:])
                here = slice(*np.searchsorted(rows, (start, start + n)))
                found[here] = block[rows[here] - start]
        return found


def _zarr(path: Path) -> dict[str, Rows]:
    zarr = import_extra("zarr", "zarr")
    with reading_as("a zarr group", path, ""), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Object at .* is not recognized as a component of a Zarr hierarchy")
        group = zarr.open_group(path, mode="r")
        arrays: dict[str, Rows] = {
            name: _ZarrRows(path, array)
            for name, array in sorted(group.members(max_depth=None))
            if isinstance(array, zarr.Array) and not is_left_behind(name)
        }
        ids = _ids_in(group.attrs)
    return arrays if ids is None else {**arrays, IDS: ids}


def _ids_in(attributes: Mapping[str, Any]) -> np.ndarray | None:
    return np.array(attributes[IDS]) if IDS in attributes else None


class _ZarrRows:
    """A zarr array, of which only the chunks with the requested rows are read."""

    def __init__(self, path: Path, array: Any) -> None:
        self._path, self._array = path, array
        self.shape, self.dtype = array.shape, array.dtype
        self.chunk = max([*array.chunks[:1], 1])  # rows

    def __getitem__(self, rows: np.ndarray) -> np.ndarray:
        with reading_as("a zarr group", self._path, ""):
            return self._array.get_orthogonal_selection((rows,))
