"""Errors of the disk, with what to do about them."""

import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from errno import EDQUOT, EFBIG, ENOSPC
from pathlib import Path


def explained(error: OSError, doing: str, folder: Path, detail: str = "", variable: str = "BRAINIO_HOME") -> OSError:
    """The error to raise for one of the disk.

    Args:
        error: what the system raised.
        doing: what was tried, e.g. "write a.nc".
        folder: where.
        detail: what else there is to say.
        variable: the environment variable that names the folder.

    Returns:
        An error of the same kind (PermissionError, or OSError) with the same ``errno``, and what to do.

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
    """A block that writes in a folder of bsjax, and says what to do where that fails.

    Args:
        doing, folder, variable: as for ``explained``.

    Raises:
        PermissionError, OSError: as ``explained``. An error of a file that lies elsewhere stays as it is.

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
    """A block that keeps something below ``$BSJAX_HOME`` which can be made again: where that fails, it is one warning.

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
    """A warning that one process gives only once; Python's own count starts anew with each change of its filters.

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
    """Whether an error is of this folder, of what is in it, or of a folder above, which could not be made."""
    if not isinstance(error.filename, str | os.PathLike):  # a file that is open has no name
        return True
    path = Path(error.filename)
    return path.is_relative_to(folder) or folder.is_relative_to(path)
