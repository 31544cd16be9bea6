"""Locks on cache entries: one writer at a time across processes and threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bsjax.activations.cache.files import writing

_LOCKS = ".locks"


@contextmanager
def claimed(root: Path, key: str) -> Iterator[bool]:
    """Whether this is the only writer of an entry for the duration of the block; does not wait.

    The operating system releases the lock when the process ends. The lock file is never removed, because another
    process might just have opened it.

    Raises:
        Unwritable: the folder cannot be written.
    """
    from filelock import FileLock, Timeout

    with writing(root):
        lock = _lock(root, key)
        lock.parent.mkdir(parents=True, exist_ok=True)
        claim = FileLock(lock)
        try:
            claim.acquire(timeout=0)
            is_ours = True
        except Timeout:
            is_ours = False
    try:
        yield is_ours
    finally:
        if is_ours:
            claim.release()


def wait(root: Path, key: str) -> None:
    """Wait until nobody holds the lock of an entry."""
    from filelock import FileLock

    if _lock(root, key).exists():
        with FileLock(_lock(root, key)):
            pass


def _lock(root: Path, key: str) -> Path:
    return root / _LOCKS / f"{key}.lock"
