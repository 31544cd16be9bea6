"""What the disk says, in words that help."""

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
