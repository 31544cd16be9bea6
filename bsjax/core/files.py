"""The folder of bsjax, atomic writing of files, locks, and disk errors with advice on how to fix them."""

import json
import os
import secrets
import shutil
import stat
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, ENOSPC
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


def explained(error: OSError, doing: str, folder: Path, detail: str = "", variable: str = "BRAINIO_HOME") -> OSError:
    """Make an error with advice from a disk error.

    Args:
        error: the error of the system.
        doing: the failed operation, e.g. "write a.nc".
        folder: folder of the operation.
        detail: further information.
        variable: the environment variable that sets the folder.

    Returns:
        An error of the same kind (PermissionError, or OSError) with the same ``errno`` and with advice.

    Example:
        >>> error = OSError(ENOSPC, "No space left on device")
        >>> print(explained(error, "write a.nc", Path("cache")))
        cannot write a.nc in cache (No space left on device): free some room, or set BRAINIO_HOME to a folder on
        another disk
    """
    if error.errno in (ENOSPC, EDQUOT, EFBIG):
        advice = f"free some room, or set {variable} to a folder on another disk"
    else:
        advice = f"make the folder writable, or set {variable} to another one"
    reason = "; ".join(filter(None, (error.strerror or str(error), detail)))
    told = (PermissionError if isinstance(error, PermissionError) else OSError)(
        f"cannot {doing} in {folder} ({reason}): {advice}"
    )
    told.errno = error.errno
    return told


@contextmanager
def explaining(doing: str, folder: Path, variable: str = "BSJAX_HOME") -> Iterator[None]:
    """Add advice to disk errors of a block that writes in a folder of bsjax.

    Args:
        doing, folder, variable: see :func:`explained`.

    Raises:
        PermissionError, OSError: see :func:`explained`. Errors of files elsewhere are not changed.

    Example:
        >>> with explaining("write a.png", Path("/dev/null/home")):
        ...     Path("/dev/null/home").mkdir()
        Traceback (most recent call last):
        ...
        OSError: cannot write a.png in /dev/null/home (Not a directory): make the folder writable, or set BSJAX_HOME to
            another one
    """
    try:
        yield
    except OSError as error:
        if error.errno is None or not _is_of(error, folder):
            raise
        raise explained(error, doing, folder, variable=variable) from error


@contextmanager
def optional(doing: str, folder: Path) -> Iterator[None]:
    """Turn disk errors of a block that caches something in ``$BSJAX_HOME`` into a single warning.

    Example:
        >>> with warnings.catch_warnings(record=True) as said, optional("keep notes", Path("/dev/null/home")):
        ...     warnings.simplefilter("always")
        ...     Path("/dev/null/home").mkdir()
        >>> print(said[0].message)
        cannot keep notes in /dev/null/home (Not a directory): make the folder writable, or set BSJAX_HOME to another
        one; the work goes on without
    """
    try:
        yield
    except OSError as error:
        warn_once(f"{explained(error, doing, folder, variable='BSJAX_HOME')}; the work goes on without")


def warn_once(message: str) -> None:
    """Give a warning only once per process; Python's own count restarts when warning filters change.

    Example:
        >>> with warnings.catch_warnings(record=True) as said:
        ...     for _ in range(2):
        ...         warnings.simplefilter("always")
        ...         warn_once("the disk is full")
        >>> len(said)
        1
    """
    if message not in _said:
        _said.add(message)
        warnings.warn(message, RuntimeWarning, stacklevel=3)


_said: set[str] = set()


def _is_of(error: OSError, folder: Path) -> bool:
    """Whether an error concerns a folder, its content, or a parent that could not be created."""
    if not isinstance(error.filename, str | os.PathLike):  # errors of open files have no name
        return True
    path = Path(error.filename)
    return path.is_relative_to(folder) or folder.is_relative_to(path)
