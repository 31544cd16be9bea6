"""Reading of assemblies from netCDF-4 files written by Brain-Score, its predecessors or bsjax."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import xarray as xr

from bsjax.core.digests.files import has_verified_digest
from bsjax.core.file_reading import reading_as, refuse_pipe
from bsjax.core.sealed_files import is_as_sealed
from bsjax.data.files.netcdf import hdf5_walk
from bsjax.data.files.netcdf.values import UNNAMED, aliases, read_attributes
from bsjax.data.files.trial_process import try_reading
from bsjax.data.types.assemblies import DataAssembly, MetadataAssembly, resolve_assembly_class


def check_before_reading(path: Path, with_values: bool = True) -> None:
    """Check that reading a netCDF-4 file neither hangs nor crashes.

    Args:
        path: the file.
        with_values: whether all values will be read, or coordinates only.

    Raises:
        ValueError: the file was changed after bsjax wrote it, or HDF5 hangs or crashes on it.
        OSError: the separate process cannot be started.
    """
    as_sealed = is_as_sealed(path)
    if as_sealed is False:
        raise ValueError(_changed(path, "its content has not the digest that stands at its end"))
    if as_sealed or has_verified_digest(path):
        return
    if try_reading(path, "a netCDF-4 file", hdf5_walk.__file__, str(with_values)).strip() == b"sealed":
        raise ValueError(_changed(path, "the digest is gone that bsjax wrote at its end"))


def _changed(path: Path, how: str) -> str:
    return (
        f"{path} was changed after bsjax wrote it: {how}. Fetch or write it again. (If it was changed on purpose, "
        f"remove the attribute {hdf5_walk.SEALED!r} of its root group.)"
    )


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

    Files written by bsjax carry a digest of their content, which is verified. A file that was neither written by bsjax
    nor downloaded by it with a digest is first read in a separate process, which is ended if HDF5 hangs.

    Args:
        path: the file.
        cls: the class of the assembly, or its name.
        group: name of the group to read; by default the root of the file.
        chunks: read lazily, in blocks of this size, as in xarray: ``{"presentation": 1000}``, ``"auto"``, or ``{}``
            for the blocks of the file. Needs ``pip install 'bsjax[dask]'``. The file must stay in place while the
            assembly is used. By default all values are read immediately.

    Raises:
        FileNotFoundError: the file is missing.
        ValueError: the file is not a netCDF-4 file, is damaged, was changed after bsjax wrote it, or does not have the
            group or exactly one data variable; the message names the file.
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
    check_before_reading(path, with_values=chunks is None)
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
