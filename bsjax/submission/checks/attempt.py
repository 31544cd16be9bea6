"""Calls of plugin code, whose errors become items of the checklist."""

from collections.abc import Callable
from typing import Any

from bsjax.core.discovery import not_exiting, one_line
from bsjax.data.publishing.checklist import Check


def attempt(action: Callable[[], Any]) -> tuple[Any, str]:
    """Call a function; gives its result and "", or None and its error in one line.

    Example:
        >>> attempt(lambda: 1), attempt(lambda: [][0])
        ((1, ''), (None, 'IndexError: list index out of range'))
    """
    try:
        with not_exiting():
            return action(), ""
    except Exception as error:  # whatever the error, the rest of the list is still run
        message, kind = one_line(error), type(error).__name__
        return None, message if kind in message or isinstance(error, ImportError) else f"{kind}: {message}"


def check(name: str, asks: str, *problems: str) -> Check:
    """Make an item of the checklist; empty problems are dropped.

    Example:
        >>> check("version", "version is a whole number from 1", "").passed
        True
    """
    return Check(name, asks, tuple(problem for problem in problems if problem))
