"""The decorators of ``result_caching``, implemented by :func:`bsjax.cached`.

In ``result_caching``, the key consists of the text of some arguments and ignores the code, the data and the other
arguments. A model that caches ``look_at`` by the name of the stimuli then returns recordings of another region. Here
the key is the identity of the function and of all its arguments, including ``self`` and those that a plugin asks to
ignore.
"""

from typing import Any

from bsjax.activations.cache.cache import is_switched_off
from bsjax.results.cached import cached


def store(*args: Any, **kwargs: Any) -> Any:
    """Decorator that caches a function's results; it accepts, and ignores, the arguments of ``result_caching``.

    Example:
        >>> @store(identifier_ignore=["stimuli"])
        ... def double(number, stimuli=None):
        ...     return 2 * number
        >>> double(3), double(3)
        (6, 6)
    """
    if len(args) == 1 and not kwargs and callable(args[0]):  # ``@store`` without parentheses
        return cached(args[0])
    return cached


def is_enabled(function_identifier: str) -> bool:
    """Whether results of a function are cached."""
    return not is_switched_off(function_identifier)
