"""Disk errors with advice on how to fix them."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path


def explained(error: OSError, doing: str, folder: Path, detail: str = "", variable: str = "BRAINIO_HOME") -> OSError:
    """Make an error with advice from a disk error.

    Args:
        error: the error of the system.
        doing: the failed operation, e.g. "write a.nc".
        folder: folder of the operation.
        detail: further information.
        variable: the environment variable that sets the folder.

    Returns:
        An error of the same kind (PermissionError, or OSError) with the same ``errno`` and with advice.

    Example:
        >>> error = OSError(ENOSPC, "No space left on device")
        >>> print(explained(error, "write a.nc", Path("cache")))
        cannot write a.nc in cache (No space left on device): free some room, or set BRAINIO_HOME to a folder on
        another disk
    """
    if error.errno in (ENOSPC, EDQUOT, EFBIG):
        advice = f"free some room, or set {variable} to a folder on another disk"
    else:
        advice = f"make the folder writable, or set {variable} to another one"
    reason = "; ".join(filter(None, (error.strerror or str(error), detail)))
    told = (PermissionError if isinstance(error, PermissionError) else OSError)(
        f"cannot {doing} in {folder} ({reason}): {advice}"
    )
    told.errno = error.errno
    return told


@contextmanager
def explaining(doing: str, folder: Path, variable: str = "BSJAX_HOME") -> Iterator[None]:
    """Add advice to disk errors of a block that writes in a folder of bsjax.

    Args:
        doing, folder, variable: see :func:`explained`.

    Raises:
        PermissionError, OSError: see :func:`explained`. Errors of files elsewhere are not changed.

    Example:
        >>> with explaining("write a.png", Path("/dev/null/home")):
        ...     Path("/dev/null/home").mkdir()
        Traceback (most recent call last):
        ...
        OSError: cannot write a.png in /dev/null/home (Not a directory): make the folder writable, or set BSJAX_HOME to
            another one
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or not _is_of(error, folder):
            raise
        raise explained(error, doing, folder, variable=variable) from error


@contextmanager
def optional(doing: str, folder: Path) -> Iterator[None]:
    """Turn disk errors of a block that caches something in ``$BSJAX_HOME`` into a single warning.

    Example:
        >>> with warnings.catch_warnings(record=True) as said, optional("keep notes", Path("/dev/null/home")):
        ...     warnings.simplefilter("always")
        ...     Path("/dev/null/home").mkdir()
        >>> print(said[0].message)
        cannot keep notes in /dev/null/home (Not a directory): make the folder writable, or set BSJAX_HOME to another
        one; the work goes on without
    """
    try:
        yield
    except OSError as error:
        warn_once(f"{explained(error, doing, folder, variable='BSJAX_HOME')}; the work goes on without")


def warn_once(message: str) -> None:
    """Give a warning only once per process; Python's own count restarts when warning filters change.

    Example:
        >>> with warnings.catch_warnings(record=True) as said:
        ...     for _ in range(2):
        ...         warnings.simplefilter("always")
        ...         warn_once("the disk is full")
        >>> len(said)
        1
    """
    if message not in _said:
        _said.add(message)
        warnings.warn(message, RuntimeWarning, stacklevel=3)


_said: set[str] = set()


def _is_of(error: OSError, folder: Path) -> bool:
    """Whether an error concerns a folder, its content, or a parent that could not be created."""
    if not isinstance(error.filename, str | os.PathLike):  # errors of open files have no name
        return True
    path = Path(error.filename)
    return path.is_relative_to(folder) or folder.is_relative_to(path)
