"""Writing large files beside their place, and moving them there when they are whole."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written_aside(path: str | Path) -> Iterator[Path]:
    """A path to write a file at, which is moved to ``path`` at the end, and removed when something fails.

    As ``write_atomically``, for files that are not in memory as a whole: other processes see the old file, or none, or
    the whole new one.

    Args:
        path: the file; folders above it are made.

    Raises:
        OSError: the file cannot be written; one that was there is as it was.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with written_aside(f"{folder}/new/a.bin") as aside:
        ...         _ = aside.write_bytes(b"abc")
        ...     [path.name for path in Path(folder, "new").iterdir()]
        ['a.bin']
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.parent / f".{secrets.token_hex(8)}.part"
    try:
        yield aside
        with open(aside, "rb+") as file:  # a power cut must not leave an empty file under the final name
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:  # also an interrupt: the unfinished file goes
        aside.unlink(missing_ok=True)
        raise
