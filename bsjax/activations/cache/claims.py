"""Claims on entries: one writer at a time, over all processes and threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bsjax.activations.cache.files import writing

_LOCKS = ".locks"


@contextmanager
def claimed(root: Path, key: str) -> Iterator[bool]:
    """Whether, for the time of a ``with`` block, this is the only one to write an entry; told at once.

    The lock is the operating system's, and goes with the process. Its file stays: whoever removed it could not know
    that nobody has just opened it.

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
    """Return when nobody has claimed an entry."""
    from filelock import FileLock

    if _lock(root, key).exists():
        with FileLock(_lock(root, key)):
            pass


def _lock(root: Path, key: str) -> Path:
    return root / _LOCKS / f"{key}.lock"
