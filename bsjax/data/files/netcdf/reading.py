"""Reading of assemblies from netCDF-4 files written by Brain-Score, its predecessors or bsjax."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import xarray as xr

from bsjax.core.digests.files import check_unchanged
from bsjax.core.file_reading import reading_as, refuse_pipe
from bsjax.data.files.netcdf.values import UNNAMED, aliases, read_attributes
from bsjax.data.types.assemblies import DataAssembly, MetadataAssembly, resolve_assembly_class

Assembly = TypeVar("Assembly", bound=DataAssembly)

_HDF5 = b"\x89HDF\r\n\x1a\n"


def read_assembly(
    path: str | Path, cls: type[Assembly] | str = DataAssembly, *, group: str | None = None, chunks: Any = None
) -> Assembly:
    """Read an assembly from a netCDF-4 file written by Brain-Score, its predecessors or bsjax.

    The values are those of the file's only data variable, whatever its name. A dimension's only coordinate, which older
    xarray versions wrote as ``<dim>_`` or ``<dim>_level_0``, is named ``<dim>`` as in Brain-Score. Presentations with
    only an ``image_id`` get it as ``stimulus_id``, too. For ``SpikeTimesAssembly`` the groups of the file become
    attributes, each a ``MetadataAssembly``. Numbers with a time unit stay numbers.

    The digests of files that bsjax wrote or downloaded are noted next to them; a file that has changed since is
    refused.

    Args:
        path: the file.
        cls: the class of the assembly, or its name.
        group: name of the group to read; by default the root of the file.
        chunks: read lazily, in blocks of this size, as in xarray: ``{"presentation": 1000}``, ``"auto"``, or ``{}``
            for the blocks of the file. Needs ``pip install 'bsjax[dask]'``. The file must stay in place while the
            assembly is used. By default all values are read immediately.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: the file is not a netCDF-4 file, is damaged, was changed after bsjax wrote or fetched it, or does
            not have the group or exactly one data variable; the message names the file.
        ImportError: ``chunks`` is given, and dask is not installed.

    Example:
        >>> read_assembly("no/such/assy_A.nc")
        Traceback (most recent call last):
        ...
        FileNotFoundError: no assembly at no/such/assy_A.nc: no such file
    """
    path = Path(path)
    if isinstance(cls, str):
        cls = cast(type[Assembly], resolve_assembly_class(cls))
    if chunks is not None and importlib.util.find_spec("dask") is None:
        raise ImportError("dask is not installed; run: pip install 'bsjax[dask]'", name="dask")
    _check_kind(path)
    check_unchanged(path)
    assembly = _read(path, cls, group, chunks)
    if cls.reads_groups and group is None:
        for name in _groups(path):
            assembly.attrs[name] = _read(path, MetadataAssembly, name, chunks)
    return assembly


def _read(path: Path, cls: type[Assembly], group: str | None, chunks: Any) -> Assembly:
    with reading_as("a netCDF-4 file", path):
        array, close = _read_array(path, group, chunks)
        assembly = cls(array)
        assembly.set_close(close)
    return assembly


def _check_kind(path: Path) -> None:
    if not path.exists():
        raise FileNotFoundError(f"no assembly at {path}: no such file")
    if path.is_dir():
        raise ValueError(f"{path} is a folder, not a netCDF-4 file")
    refuse_pipe(path)
    with open(path, "rb") as file:
        start = file.read(len(_HDF5))
    if start != _HDF5:
        kind = "a netCDF file of version 3" if start[:3] == b"CDF" else f"not a netCDF-4 file: it begins with {start!r}"
        raise ValueError(f"{path} is {kind}" if start else f"{path} is empty, not a netCDF-4 file")


def _groups(path: Path) -> list[str]:
    import h5py

    with reading_as("a netCDF-4 file", path), h5py.File(path, "r") as file:
        return [name for name, member in file.items() if isinstance(member, h5py.Group)]


def _read_array(path: Path, group: str | None, chunks: Any) -> tuple[xr.DataArray, Callable[[], None] | None]:
    """The array of a group, and a function that closes its file if it must stay open."""
    names = _groups(path)
    if group is not None and group not in names:
        raise ValueError(f"{path} has no group {group!r}; its groups: {', '.join(names) or 'none'}")
    # HDF5 files other than netCDF have unnamed dimensions; "sort" names them.
    raw = xr.open_dataset(path, engine="h5netcdf", group=group, decode_cf=False, cache=False, phony_dims="sort")
    try:
        stored = _only_variable(path, raw)
        array = _plain_coordinates(stored)
        if chunks is not None:
            return _as_objects(_chunked(path, array, chunks, stored.encoding.get("preferred_chunks", {}))), raw.close
        array = _as_objects(array.load())
    except BaseException:
        raw.close()
        raise
    raw.close()
    return array, None


def _only_variable(path: Path, raw: xr.Dataset) -> xr.DataArray:
    if any(str(dim).startswith("phony_dim_") for dim in raw.dims):
        raise ValueError(f"{path} is a file of HDF5, but not of netCDF-4: its dimensions have no names")
    for variable in raw.variables.values():
        fill = variable.attrs.get("_FillValue")
        if isinstance(fill, np.floating) and np.isnan(fill):
            del variable.attrs["_FillValue"]  # avoids a copy of the whole array that replaces NaN by NaN
    dataset = xr.decode_cf(raw, decode_timedelta=False)  # numbers whose unit is "ms" stay numbers
    if len(dataset.data_vars) != 1:
        found = ", ".join(map(str, dataset.data_vars)) or "none"
        raise ValueError(f"{path} has to hold one data variable, but holds {len(dataset.data_vars)}: {found}")
    array = next(iter(dataset.data_vars.values()))
    of_file = {name: value for name, value in dataset.attrs.items() if not str(name).startswith("bsjax_")}
    return array.assign_attrs({**of_file, **array.attrs})


def _plain_coordinates(array: xr.DataArray) -> xr.DataArray:
    """The array with its coordinates in memory, under their names in bsjax."""
    coords: dict[Any, xr.Variable] = {}
    for name, coord in array.coords.items():
        plain = [dim for dim in coord.dims if coord.ndim == 1 and name in aliases(dim) and dim not in array.coords]
        coords[plain[0] if plain else name] = _decoded(coord.variable)
    legacy = coords.get("image_id")
    if legacy is not None and legacy.dims == ("presentation",) and "stimulus_id" not in coords:
        coords["stimulus_id"] = legacy.copy()
    attrs = read_attributes(array.attrs)
    bare = array.drop_vars(list(array.coords)).drop_encoding()
    bare.attrs = attrs
    bare.name = None if array.name == UNNAMED else array.name
    return bare.assign_coords(coords)


def _decoded(variable: xr.Variable) -> xr.Variable:
    return xr.Variable(variable.dims, _as_objects(variable.load()).values, read_attributes(variable.attrs))


def _as_objects(values: Any) -> Any:
    """Texts as objects, because a fixed width of the longest text could take much memory.

    Byte characters, which other software pads with blanks, become text as well.
    """
    if values.dtype.kind == "S":
        return values.copy(data=np.array([_text(each) for each in values.values.ravel()], object).reshape(values.shape))
    return values.astype(object) if values.dtype.kind in "UT" else values


def _text(characters: bytes) -> str:
    try:
        return characters.decode().rstrip(" ")
    except UnicodeDecodeError:
        return characters.decode("latin-1").rstrip(" ")


def _chunked(path: Path, array: xr.DataArray, chunks: Any, stored: dict[Any, int]) -> xr.DataArray:
    unknown = [dim for dim in chunks if dim not in array.dims] if isinstance(chunks, dict) else []
    if unknown:
        raise ValueError(f"{path} has no dimension {', '.join(map(repr, unknown))} to cut; it has {list(array.dims)}")
    if chunks == "auto":
        from dask.array.core import normalize_chunks

        # Whole blocks of the file, because reading part of a block costs as much as reading all of it.
        lengths = tuple(stored.get(dim, size) for dim, size in array.sizes.items())
        automatic = normalize_chunks("auto", array.shape, dtype=array.dtype, previous_chunks=lengths)
        chunks = dict(zip(array.dims, automatic, strict=True))
    # Only the values are lazy; coordinates stay in memory.
    return array.copy(deep=False, data=array.variable.chunk(stored if chunks == {} else chunks).data)
