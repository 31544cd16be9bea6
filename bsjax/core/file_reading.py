"""Reading of files that may be damaged: whatever their reader raises becomes one clear error."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TOLD = (ValueError, KeyError, FileNotFoundError, PermissionError)


@contextmanager
def reading_as(kind: str, path: str | Path, advice: str = "fetch it again") -> Iterator[None]:
    """A block that reads a file. Libraries raise anything on a damaged one, and few of them name the file.

    An error that names the file already passes as it is. A pipe or a device is refused before: to open one is to wait
    for its other end.

    Args:
        kind: what the file should be, for the message.
        path: the file.
        advice: what to do when it cannot be read; "" if there is nothing to say.

    Raises:
        ValueError: the block failed, or the path is that of neither a file nor a folder.

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
    """Refuses what is neither a file nor a folder; what is not there passes.

    Raises:
        ValueError: it is a pipe or a device, of which nothing may ever come.

    Example:
        >>> refuse_pipe("/dev/null")
        Traceback (most recent call last):
        ...
        ValueError: /dev/null is a pipe or a device, where a file was expected
    """
    path = Path(path)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path} is a pipe or a device, where a file was expected")
