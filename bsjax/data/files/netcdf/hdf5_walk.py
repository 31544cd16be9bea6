"""Trial reading of a whole HDF5 file in a separate process.

  python -P hdf5_walk.py PATH True    with False, values are read for coordinates only

HDF5 can loop forever, or crash, on the structures of a damaged file. Ordinary errors are ignored here, because the
actual reader raises them with better messages. Prints "sealed" if bsjax wrote the file.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

SEALED = "bsjax_sha256"
"""Attribute of a file's root that marks files with a digest of bsjax at their end."""

_AT_ONCE = 1 << 24  # bytes of values


def main(path: str, with_values: str) -> None:
    import h5netcdf
    import h5py

    def look(_: str, member: Any) -> None:
        steps: list[Callable[[], Any]] = [lambda: dict(member.attrs)]
        if isinstance(member, h5py.Dataset):
            steps += [member.id.get_num_chunks, lambda: (member.chunks, member.compression_opts, member.fletcher32)]
            if with_values == "True" or member.ndim < 2:
                steps.append(lambda: _read(member))
        for step in steps:
            with suppress(Exception):
                step()

    with suppress(Exception), h5py.File(path, "r") as file:
        if SEALED in file.attrs:
            sys.stdout.write("sealed\n")
            sys.stdout.flush()
        look("/", file)
        file.visititems(look)
    with suppress(Exception), h5netcdf.File(path, "r", phony_dims="sort") as file:
        for group in (file, *file.groups.values()):
            for variable in group.variables.values():
                with suppress(Exception):
                    _ = dict(variable.attrs), variable.dimensions, variable.shape, variable.dtype


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
