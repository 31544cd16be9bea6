"""Locks for threads that would disturb each other in a module."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_changed = threading.Condition()
_thread_of: dict[int, int] = {}  # id of an object -> the thread whose turn it is


@contextmanager
def turn(objects: Iterable[object]) -> Iterator[None]:
    """Waits until no other thread has a turn with any of these objects, and keeps others away in a ``with`` block.

    All are taken at once, so that two threads that want some of the same objects never wait for each other. A thread
    may take what it has already.

    Args:
        objects: which live for as long as the block.

    Example:
        >>> with turn([first := object(), second := object()]), turn([first]):
        ...     print("alone")
        alone
    """
    here, wanted = threading.get_ident(), {id(each) for each in objects}
    with _changed:
        _changed.wait_for(lambda: all(_thread_of.get(each, here) == here for each in wanted))
        taken = wanted - _thread_of.keys()
        _thread_of.update(dict.fromkeys(taken, here))
    try:
        yield
    finally:
        with _changed:
            for each in taken:
                del _thread_of[each]
            _changed.notify_all()
