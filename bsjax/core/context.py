"""Temporary values of context variables."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def set_within(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable within a block, and restore its previous value afterwards.

    Example:
        >>> limit: ContextVar[int] = ContextVar("limit", default=1)
        >>> with set_within(limit, 2):
        ...     print(limit.get())
        2
        >>> limit.get()
        1
    """
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)
