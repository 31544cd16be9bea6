"""Writing of assemblies to netCDF-4 files, in Brain-Score's format."""

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bsjax.core.digests.files import check_unchanged, remember, sha1_hash
from bsjax.core.files import written_aside
from bsjax.data.files.netcdf.values import UNNAMED, aliases, name_problems, stored_array, stored_attributes
from bsjax.data.types.plain import without_levels

# Block size of a compressed array: large enough to compress well, small enough to read only a few at a time.
_CHUNK_BYTES = 4 << 20
# Block checksums protect reads by other software, and reads long after the file was opened.
_COMPRESSION = {"compression": "gzip", "compression_opts": 4, "shuffle": True, "fletcher32": True}


def write_netcdf(
    assembly: xr.DataArray, path: str | Path, *, append: bool = False, group: str | None = None, compress: bool = True
) -> str:
    """Write an assembly to a netCDF-4 file that Brain-Score can read.

    The bytes depend on the assembly only: not on time, machine or process, nor on version numbers of libraries. (A
    release of HDF5 or zlib that compresses differently would change them.) The file is written atomically. A lazily
    read assembly is written block by block. The digest of the file is noted next to it, and compared if the file has
    changed when it is read.

    Supported values are text (missing text is read back as NaN), bool, integers, float32 and float64, and times (in
    nanoseconds). Attributes may be text, numbers, lists, and everything that JSON can represent (None, bool, dict),
    which other software sees as JSON; tuples are read back as lists or arrays. Of ``stimulus_set`` only the identifier
    is kept. ``MetadataAssembly`` attributes of a ``SpikeTimesAssembly`` become groups. A MultiIndex is stored as its
    levels. Brain-Score's own reader loses the name of a dimension's only coordinate: give each dimension at least two.

    Args:
        assembly: the array.
        path: the file.
        append: whether to add the assembly to an existing file, as the group ``group``.
        group: name of the group to write; by default the root of the file.
        compress: whether to compress the values, without loss.

    Returns:
        SHA-1 of the file, in hexadecimal digits.

    Raises:
        ValueError: a file cannot hold some names, values or attributes; one message lists all of them. Or ``append``
            is used on a file that was changed after bsjax wrote it.
        FileNotFoundError: ``append`` is used, and the file is missing.
        OSError: the file cannot be written; an existing one is unchanged.

    Example:
        >>> import tempfile
        >>> from bsjax.data import DataAssembly, read_assembly
        >>> assembly = DataAssembly([[1., 2.]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["001"]), "neuroid_id": ("neuroid", [7, 8])})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sha1 = write_netcdf(assembly, f"{folder}/assy_A.nc")
        ...     read_assembly(f"{folder}/assy_A.nc").sel(stimulus_id="001").values.tolist()
        [[1.0, 2.0]]
    """
    path = Path(path)
    if append and group is None:
        raise ValueError(f"append=True adds a group to {path}: say which, with group=")
    if append and not path.is_file():
        raise FileNotFoundError(f"append=True adds a group to a file, and there is none at {path}")
    if append:
        check_unchanged(path)
    with written_aside(path) as aside:
        if append:
            shutil.copyfile(path, aside)
        write_into(aside, assembly, group, compress)
        digest = sha1_hash(aside)
    remember(path, {"sha1": digest})
    return digest


def write_into(path: Path, assembly: xr.DataArray, group: str | None = None, compress: bool = True) -> None:
    """Write an assembly into a new file, or a group into the file that is there; errors as for ``write_netcdf``."""
    import h5py

    arrays = _arrays_to_write(assembly, group)
    # Use the oldest layout that can hold the content, so that all releases of HDF5 write the same.
    with h5py.File(path, "a", libver=("earliest", "v110"), track_order=True) as file:
        for name, array in arrays.items():
            if name is not None and name in file:
                raise ValueError(f"the file has a group or variable {name!r} already")
            _write_group(file, name, array, compress)


def _arrays_to_write(assembly: xr.DataArray, group: str | None) -> dict[str | None, xr.DataArray]:
    """Group -> array to write, without the attributes that are not stored.

    Raises:
        ValueError: a file cannot hold something; one message lists all problems.
    """
    attrs = dict(assembly.attrs)
    identifier = getattr(attrs.get("stimulus_set"), "identifier", None)
    if identifier is not None:
        attrs.setdefault("stimulus_set_identifier", identifier)
    problems = name_problems([] if group is None else [group], "group")
    parts: dict[Any, xr.DataArray] = {}
    if getattr(assembly, "reads_groups", False) and group is None:
        parts = {name: attrs.pop(name) for name, value in assembly.attrs.items() if isinstance(value, xr.DataArray)}
        problems += name_problems(parts, "attribute")
        names = {*assembly.coords, *assembly.dims, _variable_name(assembly, compress=True), assembly.name, UNNAMED}
        problems += [f"attribute {name!r}: the file has a variable of that name" for name in parts if name in names]
    arrays = {group: _bare(assembly, attrs)} | {name: _bare(part, part.attrs) for name, part in parts.items()}
    for name, array in arrays.items():
        problems += [problem if name is None else f"group {name!r}: {problem}" for problem in _problems(array)]
    if problems:
        raise ValueError(f"cannot write this {type(assembly).__name__} to a file: " + "; ".join(problems))
    return arrays


def _bare(array: xr.DataArray, attrs: Mapping[Any, Any]) -> xr.DataArray:
    """The array with its levels as coordinates, and without its stimulus set."""
    bare = without_levels(array).copy(deep=False)
    bare.attrs = {name: value for name, value in attrs.items() if name != "stimulus_set"}
    return bare


def _problems(array: xr.DataArray) -> list[str]:
    problems = name_problems(array.dims, "dimension") + name_problems(array.coords, "coordinate")
    problems += [f"dimension {dim} is empty" for dim, size in array.sizes.items() if not size]
    for name, coord in array.coords.items():
        alias = [dim for dim in coord.dims if coord.ndim == 1 and name in aliases(dim)]
        if alias:
            problems.append(f"coordinate {name!r}: read from a file, that is the coordinate {alias[0]!r}; rename it")
        problems += _value_problems(coord.variable, f"coordinate {name!r}")
        problems += stored_attributes(coord.attrs, f"coordinate {name!r}")[1]
    problems += _value_problems(array.variable, "the values")
    return problems + stored_attributes(array.attrs, "the assembly")[1]


def _value_problems(variable: xr.Variable, what: str) -> list[str]:
    # Numbers are checked by type only, because they may be many, and not in memory.
    known = variable.dtype.kind not in "OUTM"
    try:
        stored_array(np.empty(1, variable.dtype) if known else variable.values)
    except ValueError as error:
        return [f"{what}: {error}"]
    return []


def _variable_name(array: xr.DataArray, compress: bool) -> str:
    """Name of the data variable, as in Brain-Score: "data", or the name of the array if it is not compressed."""
    name = "data" if compress else array.name
    free = isinstance(name, str) and name not in {*array.coords, *array.dims} and not name_problems([name], "name")
    return name if free and isinstance(name, str) else UNNAMED


def _write_group(file: Any, name: str | None, array: xr.DataArray, compress: bool) -> None:
    import h5netcdf

    with h5netcdf.File(file, "r+") as root:  # with an open file, it does not write library versions
        target = root if name is None else root.create_group(name)
        target.dimensions = {str(dim): size for dim, size in array.sizes.items()}
        for key, coord in array.coords.items():
            _write_variable(target, str(key), coord.variable, {}, {})
        coordinates = [str(key) for key in array.coords if key not in array.dims]
        links = {"coordinates": " ".join(coordinates)} if coordinates else {}
        options = _storage(array) if compress else {}
        _write_variable(target, _variable_name(array, compress), array.variable, links, options)


def _write_variable(
    target: Any, name: str, variable: xr.Variable, links: dict[str, str], options: dict[str, Any]
) -> None:
    import h5py

    numbers = variable.dtype.kind in "biuf"
    values, attrs = stored_array(np.empty(0, variable.dtype) if numbers else variable.values)
    attrs = {**attrs, **stored_attributes(variable.attrs, name)[0], **links}
    dtype = h5py.string_dtype() if values.dtype.kind == "O" else values.dtype
    written = target.create_variable(
        name, tuple(map(str, variable.dims)), dtype, fillvalue=attrs.pop("_FillValue", None), **options
    )
    if numbers:
        for block in _blocks(variable):
            written[block] = stored_array(np.asarray(variable[block].values))[0]
    else:
        written[...] = values
    for key, value in attrs.items():
        written.attrs[key] = value


def _storage(array: xr.DataArray) -> dict[str, Any]:
    if array.dtype.kind not in "biuf" or not array.ndim:
        return {}
    chunks = list(array.shape)
    for axis in range(len(chunks)):  # as many whole rows as fit
        row = array.dtype.itemsize * int(np.prod(chunks[axis + 1 :]))
        chunks[axis] = max(1, min(chunks[axis], _CHUNK_BYTES // row))
        if row <= _CHUNK_BYTES:
            break
    return {"chunks": tuple(chunks), **_COMPRESSION}


def _blocks(variable: xr.Variable) -> Iterator[Any]:
    """Parts of a variable that fit into memory: the blocks of a lazy variable, otherwise groups of rows."""
    if not variable.ndim:
        yield ...
        return
    sizes = variable.chunks
    if sizes is None:
        row = variable.dtype.itemsize * int(np.prod(variable.shape[1:]))
        step = max(1, 8 * _CHUNK_BYTES // row)
        yield from (slice(start, start + step) for start in range(0, variable.shape[0], step))
        return
    stops = [np.cumsum(lengths) for lengths in sizes]
    for position in np.ndindex(*(len(lengths) for lengths in sizes)):
        yield tuple(
            slice(int(stop[index] - lengths[index]), int(stop[index]))
            for stop, lengths, index in zip(stops, sizes, position, strict=True)
        )
