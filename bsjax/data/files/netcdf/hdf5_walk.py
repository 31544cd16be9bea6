"""Trial reading of a whole HDF5 file in a separate process.

  python -P hdf5_walk.py PATH True    with False, values are read for coordinates only

HDF5 can loop forever, or crash, on the structures of a damaged file. Ordinary errors are ignored here, because the
actual reader raises them with better messages. Prints "sealed" if bsjax wrote the file.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

SEALED = "bsjax_sha256"
"""Attribute of a file's root that marks files with a digest of bsjax at their end."""

_AT_ONCE = 1 << 24  # bytes of values


def main(path: str, with_values: str) -> None:
    import h5netcdf
    import h5py

    with suppress(Exception), h5py.File(path, "r") as file:
        if SEALED in file.attrs:
            sys.stdout.write("sealed\n")
            sys.stdout.flush()
        file.visititems(lambda _, member: _each_alone(lambda: member.id.get_num_chunks()))
    with suppress(Exception), h5netcdf.File(path, "r", phony_dims="sort") as file:
        _walk(file, with_values == "True")


def _each_alone(*steps: Callable[[], Any]) -> None:
    """Run all steps, even if some raise an error."""
    for step in steps:
        with suppress(Exception):
            step()


def _walk(group: Any, with_values: bool) -> None:
    _each_alone(
        lambda: dict(group.attrs),
        lambda: [(name, dim.size, dim.isunlimited()) for name, dim in group.dimensions.items()],
        lambda: _each_alone(*[partial(_look, group.variables, name, with_values) for name in group.variables]),
        lambda: _each_alone(*[lambda name=name: _walk(group.groups[name], with_values) for name in group.groups]),
    )


def _look(variables: Any, name: str, with_values: bool) -> None:
    variable = variables[name]
    _each_alone(
        lambda: dict(variable.attrs),
        lambda: (variable.dimensions, variable.shape, variable.dtype, variable.chunks),
        lambda: (variable.compression, variable.compression_opts, variable.shuffle, variable.fletcher32),
        lambda: _read(variable) if with_values or len(variable.shape) < 2 else None,
    )


def _read(variable: Any) -> None:
    """Read the values in blocks of rows."""
    if not variable.shape:
        variable[...]
        return
    row = variable.dtype.itemsize
    for size in variable.shape[1:]:
        row *= size
    step = max(1, _AT_ONCE // max(row, 1))
    for start in range(0, variable.shape[0], step):
        variable[start : start + step]


if __name__ == "__main__":
    main(*sys.argv[1:])
