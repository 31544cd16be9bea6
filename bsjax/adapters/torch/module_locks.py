"""Locks for threads that share torch modules."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

_changed = threading.Condition()
_thread_of: dict[int, int] = {}  # id of an object -> the thread that holds its lock


@contextmanager
def turn(objects: Iterable[object]) -> Iterator[None]:
    """Lock objects against other threads for the duration of a block, waiting until all are free.

    All locks are acquired at once, so that threads with overlapping objects cannot deadlock. A thread may acquire a
    lock again.

    Args:
        objects: must live as long as the block.

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
