"""Checks of netCDF-4 files before they are read: HDF5 can hang or crash on a damaged one, or read other values.

A file whose digest was found right is read as it is: one that was fetched, and one with a digest at its end, which is
how bsjax writes them. Of any other, a process that can be ended reads everything first.
"""

from pathlib import Path

from bsjax.core.digests.files import has_verified_digest
from bsjax.core.sealed_files import is_as_sealed
from bsjax.data.files.netcdf import hdf5_walk
from bsjax.data.files.trial_process import try_reading


def check_before_reading(path: Path, with_values: bool = True) -> None:
    """Find out whether reading a netCDF-4 file ends well.

    Args:
        path: the file.
        with_values: whether all values are going to be read, or coordinates only.

    Raises:
        ValueError: bsjax wrote the file, and it was changed; or HDF5 hangs or crashes on it.
        OSError: it cannot be tried in a process of its own.
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
