"""Clear errors for the reading of damaged files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TOLD = (ValueError, KeyError, FileNotFoundError, PermissionError)


@contextmanager
def reading_as(kind: str, path: str | Path, advice: str = "fetch it again") -> Iterator[None]:
    """Convert any error of a block that reads a file into one that names the file.

    Errors of bsjax and common errors that already name the file are not changed. Pipes and devices are refused, since
    opening them can block.

    Args:
        kind: expected kind of file, for the message.
        path: the file.
        advice: what to do if it cannot be read; "" for no advice.

    Raises:
        ValueError: the block failed, or the path is a pipe or a device.

    Example:
        >>> with reading_as("a table", "a.csv"):
        ...     raise RuntimeError("an error of a library")
        Traceback (most recent call last):
        ...
        ValueError: cannot read a.csv as a table (an error of a library): fetch it again
    """
    refuse_pipe(path)
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        own = type(error) in _TOLD or type(error).__module__.partition(".")[0] == "bsjax"
        if own and str(path) in str(error):
            raise
        why = " ".join(str(error).split())[:300] or type(error).__name__
        raise ValueError(f"cannot read {path} as {kind} ({why}){advice and f': {advice}'}") from error


def refuse_pipe(path: str | Path) -> None:
    """Refuse a path that exists and is neither a file nor a folder.

    Raises:
        ValueError: the path is a pipe or a device, from which reading can block for ever.

    Example:
        >>> refuse_pipe("/dev/null")
        Traceback (most recent call last):
        ...
        ValueError: /dev/null is a pipe or a device, where a file was expected
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path} is a pipe or a device, where a file was expected")
