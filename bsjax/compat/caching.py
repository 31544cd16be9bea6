"""The decorators of ``result_caching``, which keep nothing here.

Their keys are the values of some arguments as text, whatever the code, the data and the other arguments: a model that
keeps ``look_at`` by its stimuli's name answers for one region with what it recorded from another. bsjax keeps
activations by the content of all that decides them, for plugins as well, so that what is computed again is little.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


class NotCachedError(Exception):
    """What plugins expect where a result must be kept already."""


def store(*args: Any, **kwargs: Any) -> Any:
    """A decorator that leaves a function as it is; arguments are those that it has in ``result_caching``, or none.

    Example:
        >>> @store(identifier_ignore=["stimuli"])
        ... def double(number, stimuli=None):
        ...     return 2 * number
        >>> double(3)
        6
    """
    if len(args) == 1 and not kwargs and callable(args[0]):  # ``@store`` without brackets
        return args[0]
    return _as_it_is


def _as_it_is(function: Function) -> Function:
    return function


def is_enabled(function_identifier: str) -> bool:
    """Whether results of a function are kept: never."""
    return False


def cached_only(function_identifier: str) -> bool:
    """Whether a function must not be called: never."""
    return False
