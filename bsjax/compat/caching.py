"""The decorators of ``result_caching``: each is :func:`bsjax.cached`.

There, the key is the values of some arguments as text, whatever the code, the data and the other arguments: a model
that keeps ``look_at`` by its stimuli's name answers for one region with what it recorded from another. Here it is the
identity of the function and of all its arguments, its object among them, so that what is to be ignored is not.
"""

from __future__ import annotations

from typing import Any

from bsjax.activations.cache.default import is_switched_off
from bsjax.results.cached import cached


class NotCachedError(Exception):
    """What plugins expect where a result must be kept already."""


def store(*args: Any, **kwargs: Any) -> Any:
    """A decorator that keeps what a function returns; arguments are those that it has in ``result_caching``, or none.

    Example:
        >>> @store(identifier_ignore=["stimuli"])
        ... def double(number, stimuli=None):
        ...     return 2 * number
        >>> double(3), double(3)
        (6, 6)
    """
    if len(args) == 1 and not kwargs and callable(args[0]):  # ``@store`` without brackets
        return cached(args[0])
    return cached


def is_enabled(function_identifier: str) -> bool:
    """Whether results of a function are kept."""
    return not is_switched_off(function_identifier)


def cached_only(function_identifier: str) -> bool:
    """Whether a function must not be called: never."""
    return False
