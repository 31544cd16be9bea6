"""Errors in the code of others: their place and wording, and exits that become errors."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bsjax.core.discovery.folders import find_plugins, search_path


@contextmanager
def not_exiting() -> Iterator[None]:
    """Code of others runs inside: where it calls ``sys.exit``, that is an error like any other.

    An interrupt from the keyboard goes through.

    Raises:
        RuntimeError: it called ``sys.exit``; the message has file and line.

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
        # exit() and quit() are functions of Python's that raise it
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "_sitebuiltins" not in frame.filename]
        raise RuntimeError(
            f"sys.exit({code}) is called in {frames[-1].filename} line {frames[-1].lineno}, which would end "
            "everything: raise an error there instead"
        ) from error


_TRACEBACK = "Traceback (most recent call last)"


def one_line(error: BaseException) -> str:
    """The message of an error without line breaks, or its type if it has none.

    Of an error in the code of a plugin, file, line and type stand before it, unless the message names the plugin.
    Errors of the system lose their numbers, and of an error that holds a traceback, as one of a callback within a
    compiled program does, the last line stays.

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
    if not message or type(error) is KeyError:  # which says no more than the key
        return f"{kind}: {message}".rstrip(": ")
    return message


def _words(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return ": ".join([str(name) for name in (error.filename, error.filename2) if name] + [error.strerror])
    return str(error).strip().rpartition("\n")[2] if _TRACEBACK in str(error) else str(error)


def last_line_in(folders: Iterable[Path], error: BaseException) -> str:
    """The last line in the files of some folders that was running when an error, or what caused it, was raised.

    Example:
        >>> last_line_in([Path("no/such/folder")], ValueError())
        ''
    """
    inside = [folder.resolve() for folder in folders]
    cause: BaseException | None = error
    seen: set[int] = set()  # an error may be its own cause
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        for frame in reversed(traceback.extract_tb(cause.__traceback__)):
            if any(Path(frame.filename).is_relative_to(folder) for folder in inside):
                return f"{frame.filename} line {frame.lineno}"
        cause = cause.__cause__
    return ""
