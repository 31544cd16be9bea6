"""The folder of bsjax, atomic writing of files, and locks."""

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
    """Get the folder of everything that bsjax stores: ``$BSJAX_HOME``, or ``~/.bsjax``. It may not exist yet.

    Example:
        >>> cache_dir() == Path(os.environ.get("BSJAX_HOME", "~/.bsjax")).expanduser()
        True
    """
    return Path(os.environ.get("BSJAX_HOME") or "~/.bsjax").expanduser()


def as_json(content: Any, indent: int | None = None) -> bytes:
    """Encode a value as strict JSON in UTF-8. Only characters that UTF-8 cannot encode are escaped.

    Args:
        content: lists, dicts, strings, numbers, booleans and None.
        indent: number of spaces per level; None gives one line.

    Raises:
        ValueError: a number is NaN or infinite.
        TypeError: a value has another type.

    Example:
        >>> as_json({"formula": "r²/c"}).decode()
        '{"formula": "r²/c"}'
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, indent=indent)
    # A file name can contain lone surrogates, which are escaped as in JSON.
    return text.encode("utf-8", "backslashreplace")


def write_atomically(path: str | Path, content: bytes, sync: bool = True) -> Path:
    """Write a file atomically: other processes see either the old state or the complete new file.

    Links, devices and pipes are kept, see :func:`~bsjax.core.files.written_aside`.

    Args:
        path: the file; missing parent folders are created.
        content: its bytes.
        sync: wait until the bytes are on the disk, so that a power cut cannot leave an empty file. Switch it
            off for many small files that are verified when they are read.

    Returns:
        ``path``.

    Raises:
        OSError: the file cannot be written; nothing is left behind, and an existing file is not changed.

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
    """Give a temporary path for a file, which is moved to ``path`` at the end, or removed after an error.

    Other processes see either the old state or the complete new file. A symbolic link is kept, and its target is
    replaced. Devices, pipes, and the targets of stdout and stderr of this process must not be replaced, so the complete
    content is written into them at the end.

    Args:
        path: the file; missing parent folders are created.
        sync: wait until the bytes are on the disk, so that a power cut cannot leave an empty file under the final name.

    Raises:
        OSError: the file cannot be written; an existing file is not changed.

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
    except BaseException:  # also after an interrupt, no unfinished file is left
        aside.unlink(missing_ok=True)
        raise


def check_writable(path: str | Path) -> None:
    """Check that :func:`written_aside` can write a file, before the work begins.

    An empty file is created in the folder and removed again; an existing file at ``path`` is not touched.

    Raises:
        IsADirectoryError: the path is a folder.
        OSError: the file cannot be written; the message contains the path and the reason.

    Example:
        >>> check_writable(Path.cwd() / "no" / "such" / "folder" / "a.json")
        >>> check_writable("/")
        Traceback (most recent call last):
        ...
        IsADirectoryError: / is a folder
    """
    path = Path(path)
    if os.path.isdir(path):  # Path.is_dir raises if a name is too long
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
    """Whether a path is free, or a regular file that is not the target of stdout or stderr."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return True
    return stat.S_ISREG(found.st_mode) and _stream_to(path) is None


def _stream_to(path: Path) -> int | None:
    """The descriptor of stdout or stderr, if the path is its target."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # it is closed, or not a stream of the system
            if os.path.samestat(os.stat(path), os.fstat(stream.fileno())):
                stream.flush()
                return stream.fileno()
    return None


def _opened(path: Path) -> BinaryIO:
    """Open a path for writing; a stream continues at its position, since opening it again would start at 0."""
    stream = _stream_to(path)
    return os.fdopen(os.open(path, os.O_WRONLY) if stream is None else os.dup(stream), "wb")


def _try_folder(path: Path) -> None:
    """Create and remove a file in the nearest existing parent of a path."""
    folder = next(parent for parent in path.parents if os.path.lexists(parent))
    for name in path.relative_to(folder).parts:
        with suppress(FileNotFoundError):
            os.stat(folder / name)  # the system refuses names that are too long
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", suffix=".part"):
        pass


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold an exclusive lock for ``path`` against other processes and threads within a block.

    It is a lock of the operating system on the file ``.<name>.lock`` next to ``path``, so it is released when the
    process ends, even if it is killed.

    Raises:
        OSError: the folder of ``path`` cannot be created or written.

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
