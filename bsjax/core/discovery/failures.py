"""Errors in plugin code: their location and message, and conversion of exits to errors."""

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bsjax.core.discovery.folders import find_plugins, search_path


@contextmanager
def not_exiting() -> Iterator[None]:
    """Convert ``sys.exit`` in a block of external code to an error.

    A KeyboardInterrupt passes unchanged.

    Raises:
        RuntimeError: the code called ``sys.exit``; the message contains the file and line.

    Example:
        >>> import sys
        >>> with not_exiting():  # doctest: +ELLIPSIS
        ...     sys.exit(3)
        Traceback (most recent call last):
        ...
        RuntimeError: sys.exit(3) is called in ... line 2, which would end everything: raise an error there instead
    """
    try:
        yield
    except SystemExit as error:
        code = "" if error.code is None else repr(error.code)
        # exit() and quit() are functions of _sitebuiltins that raise SystemExit
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "_sitebuiltins" not in frame.filename]
        raise RuntimeError(
            f"sys.exit({code}) is called in {frames[-1].filename} line {frames[-1].lineno}, which would end "
            "everything: raise an error there instead"
        ) from error


_TRACEBACK = "Traceback (most recent call last)"


def one_line(error: BaseException) -> str:
    """Format the message of an error in one line, or its type if it has no message.

    For an error in plugin code, the file, line and type are put in front, unless the message names the plugin. The
    numbers of system errors are omitted. If the message contains a traceback, as for a callback within a compiled
    program, only the last line is kept.

    Example:
        >>> one_line(RuntimeError("INTERNAL: Traceback (most recent call last):\\n  File ...\\nValueError: no room"))
        'ValueError: no room'
        >>> one_line(ValueError("the data are\\n  incomplete")), one_line(MemoryError()), one_line(KeyError("V1"))
        ('the data are incomplete', 'MemoryError', "KeyError: 'V1'")
        >>> one_line(NotADirectoryError(20, "Not a directory", "file/a.json"))
        'file/a.json: Not a directory'
    """
    message, kind = " ".join(_words(error).split()), type(error).__name__
    folders = {plugin.folder for plugin in find_plugins(search_path())}
    place = last_line_in(folders, error)
    if place and not any(str(folder) in message for folder in folders):
        return f"{place}: {kind}: {message}".rstrip(": ")
    if not message or type(error) is KeyError:  # its message is only the key
        return f"{kind}: {message}".rstrip(": ")
    return message


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return ": ".join([str(name) for name in (error.filename, error.filename2) if name] + [error.strerror])
    return str(error).strip().rpartition("\n")[2] if _TRACEBACK in str(error) else str(error)


def last_line_in(folders: Iterable[Path], error: BaseException) -> str:
    """Find the innermost line in files of some folders in the traceback of an error or of its causes.

    Example:
        >>> last_line_in([Path("no/such/folder")], ValueError())
        ''
    """
    inside = [folder.resolve() for folder in folders]
    cause: BaseException | None = error
    seen: set[int] = set()  # causes may be circular
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        for frame in reversed(traceback.extract_tb(cause.__traceback__)):
            if any(Path(frame.filename).is_relative_to(folder) for folder in inside):
                return f"{frame.filename} line {frame.lineno}"
        cause = cause.__cause__
    return ""
