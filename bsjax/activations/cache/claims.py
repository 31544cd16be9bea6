"""Locks on cache entries: one writer at a time across processes and threads."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
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

    claim = FileLock(_lock(root, key))
    with writing(root):
        _lock(root, key).parent.mkdir(parents=True, exist_ok=True)
        with suppress(Timeout):
            claim.acquire(timeout=0)
    try:
        yield claim.is_locked
    finally:
        claim.release()


def wait(root: Path, key: str) -> None:
    """Wait until nobody holds the lock of an entry."""
    from filelock import FileLock

    if _lock(root, key).exists():
        with FileLock(_lock(root, key)):
            pass


def _lock(root: Path, key: str) -> Path:
    return root / _LOCKS / f"{key}.lock"
