"""Where bsjax keeps files, and how it writes them whole."""

import json
import os
from pathlib import Path
from typing import Any

from bsjax.data.aside import written_aside


def cache_dir() -> Path:
    """The folder of everything that bsjax stores: ``$BSJAX_HOME``, or ``~/.bsjax``. It may not exist yet.

    Example:
        >>> cache_dir() == Path(os.environ.get("BSJAX_HOME", "~/.bsjax")).expanduser()
        True
    """
    home = os.environ.get("BSJAX_HOME")
    return Path(home).expanduser() if home else Path.home() / ".bsjax"


def as_json(content: Any, indent: int | None = None) -> bytes:
    """Strict JSON in UTF-8: characters stand for themselves, save those that UTF-8 has no bytes for.

    Args:
        content: lists, dicts, text, numbers, truth values and None.
        indent: by how much each depth is indented; one line if None.

    Raises:
        ValueError: NaN or an infinity is among them, which JSON does not have.
        TypeError: something else is among them.

    Example:
        >>> as_json({"formula": "r²/c"}).decode()
        '{"formula": "r²/c"}'
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent)
    # A file's name can hold half a pair of surrogates: it is written as JSON escapes it.
    return text.encode("utf-8", "backslashreplace")


def write_atomically(path: str | Path, content: bytes, sync: bool = True) -> Path:
    """Write a file so that other processes see the old one, or none, or the whole new one, and never a part.

    Links, devices and pipes stay: see :func:`~bsjax.data.aside.written_aside`.

    Args:
        path: the file; folders above it are made.
        content: its bytes.
        sync: wait until the bytes are on the disk, so that a power cut cannot leave an empty file. Switch it
            off for many small files that are checked when they are read.

    Returns:
        ``path``.

    Raises:
        OSError: the file cannot be written; nothing is left behind, and a file that was there is as it was.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_atomically(Path(folder) / "new" / "a.bin", b"abc").read_bytes()
        b'abc'
    """
    with written_aside(path, sync) as aside:
        aside.write_bytes(content)
    return Path(path)
