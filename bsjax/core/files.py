"""Folders of bsjax's own, and files that are written whole: beside their place, and moved there at the end."""

import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO


def cache_dir() -> Path:
    """The folder of everything that bsjax stores: ``$BSJAX_HOME``, or ``~/.bsjax``. It may not exist yet.

    Example:
        >>> cache_dir() == Path(os.environ.get("BSJAX_HOME", "~/.bsjax")).expanduser()
        True
    """
    return Path(os.environ.get("BSJAX_HOME") or "~/.bsjax").expanduser()


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

    Links, devices and pipes stay: see :func:`~bsjax.core.files.written_aside`.

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


@contextmanager
def written_aside(path: str | Path, sync: bool = True) -> Iterator[Path]:
    """A path to write a file at, which is moved to ``path`` at the end, and removed when something fails.

    Other processes see the old file, or none, or the whole new one. A symbolic link stays: the file that it leads to is
    replaced. What is no regular file (a device, a pipe), and what stdout or stderr of this process goes to, cannot be
    replaced without harm to others: the whole content is written into it at the end.

    Args:
        path: the file; folders above it are made.
        sync: wait until the bytes are on the disk, so that a power cut cannot leave an empty file under the final name.

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
    if not _is_replaceable(path):
        with tempfile.TemporaryDirectory() as scratch:
            aside = Path(scratch, "content.part")
            yield aside
            with open(aside, "rb") as content, _opened(path) as there:
                shutil.copyfileobj(content, there)
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.parent / f".{secrets.token_hex(8)}.part"
    try:
        yield aside
        if sync:
            with open(aside, "rb+") as file:
                os.fsync(file.fileno())
        os.replace(aside, target)
    except BaseException:  # also an interrupt: the unfinished file goes
        aside.unlink(missing_ok=True)
        raise


def check_writable(path: str | Path) -> None:
    """Whether ``written_aside`` could write a file, asked before the work whose result it is to hold.

    The folder is tried with an empty file, which goes again; what is at ``path`` is not touched.

    Raises:
        IsADirectoryError: there is a folder at the path.
        OSError: the file cannot be written; the message has the path and the reason.

    Example:
        >>> check_writable(Path.cwd() / "no" / "such" / "folder" / "a.json")
        >>> check_writable("/")
        Traceback (most recent call last):
        ...
        IsADirectoryError: / is a folder
    """
    path = Path(path)
    if os.path.isdir(path):  # Path.is_dir raises where a name is too long
        raise IsADirectoryError(f"{path} is a folder")
    try:
        if _is_replaceable(path):
            _try_folder(Path(os.path.realpath(path)))
        elif _stream_to(path) is None and not os.access(path, os.W_OK):
            raise PermissionError("no permission")
        elif stat.S_ISSOCK(os.stat(path).st_mode):
            raise OSError("it is a socket")
    except OSError as error:
        raise type(error)(f"{path} cannot be written: {error.strerror or error}") from error


def _is_replaceable(path: Path) -> bool:
    """Whether a file may take this place: there is none, or a regular one that no stream of this process goes to."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return True
    return stat.S_ISREG(found.st_mode) and _stream_to(path) is None


def _stream_to(path: Path) -> int | None:
    """The descriptor of stdout or stderr, if that is what the path leads to."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # it is closed, or none of the system's
            if os.path.samestat(os.stat(path), os.fstat(stream.fileno())):
                stream.flush()
                return stream.fileno()
    return None


def _opened(path: Path) -> BinaryIO:
    """What is at the path, to be written to. A stream is written on where it stands: opening it anew begins at 0."""
    stream = _stream_to(path)
    return os.fdopen(os.open(path, os.O_WRONLY) if stream is None else os.dup(stream), "wb")


def _try_folder(path: Path) -> None:
    """Make and remove a file in the folder of a path, or in the nearest one above it that there is."""
    missing = [path.name]
    while not os.path.lexists(path.parent):
        path = path.parent
        missing.append(path.name)
    for name in missing:
        with suppress(FileNotFoundError):
            os.stat(path.parent / name)  # the system refuses names that are too long
    descriptor, tried = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    os.close(descriptor)
    os.unlink(tried)


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
