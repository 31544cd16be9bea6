"""Whether a netCDF-4 file can be read without danger: HDF5 can hang or crash on a damaged one, or read other values.

A file whose digest was found right is read as it is: one that was fetched, and one with a digest at its end, which is
how bsjax writes them. Of any other, a process that can be ended reads everything first.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

from bsjax.data import hdf5_walk
from bsjax.data.sealed import is_as_sealed
from bsjax.data.verified import has_verified_digest

# Seconds of work that a file without a digest may take to be read: so many, and another for each MiB of it.
_SECONDS = 2
_BYTES_A_SECOND = 1 << 20
# A process that waits, for a disk or for other processes, may take longer than it works.
_PATIENCE = 30


def check_before_reading(path: Path, with_values: bool = True) -> None:
    """Find out whether reading a netCDF-4 file ends well.

    Args:
        path: the file.
        with_values: whether all values are going to be read, or coordinates only.

    Raises:
        ValueError: bsjax wrote the file, and it was changed; or HDF5 hangs or crashes on it.
    """
    as_sealed = is_as_sealed(path)
    if as_sealed is False:
        raise ValueError(_changed(path, "its content has not the digest that stands at its end"))
    if as_sealed or has_verified_digest(path):
        return
    seconds = _SECONDS + path.stat().st_size // _BYTES_A_SECOND
    try:
        walked = subprocess.run(
            [sys.executable, "-P", hdf5_walk.__file__, os.fspath(path), str(seconds), str(with_values)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE * seconds,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(_damaged(path, "does not come to an end")) from None
    if walked.returncode < 0:
        name = signal.Signals(-walked.returncode).name
        what = f"takes more than {seconds} s" if name in ("SIGXCPU", "SIGKILL") else f"crashes with {name}"
        raise ValueError(_damaged(path, what))
    if walked.returncode:
        raise OSError(f"cannot check {path} in a process of its own: {walked.stderr.decode(errors='replace').strip()}")
    if walked.stdout.strip() == b"sealed":
        raise ValueError(_changed(path, "the digest is gone that bsjax wrote at its end"))


def _changed(path: Path, how: str) -> str:
    return (
        f"{path} was changed after bsjax wrote it: {how}. Fetch or write it again. (If it was changed on purpose, "
        f"remove the attribute {hdf5_walk.SEALED!r} of its root group.)"
    )


def _damaged(path: Path, what: str) -> str:
    return f"cannot read {path} as a netCDF-4 file: HDF5 {what} when it reads it, the file is damaged. Fetch it again"
