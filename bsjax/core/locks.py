"""Locks between processes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Keep other processes and threads from this part of the program while they mean the same ``path``.

    The lock is that of the operating system on the file ``.<name>.lock`` beside ``path``, so that it goes with
    the process, however that ends.

    Raises:
        OSError: the folder of ``path`` cannot be made or written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, exclusive(Path(folder) / "a.zip"):
        ...     sorted(path.name for path in Path(folder).iterdir())
        ['.a.zip.lock']
    """
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_name(f".{path.name}.lock")):
        yield
