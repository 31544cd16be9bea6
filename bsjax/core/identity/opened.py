"""Tracking of the files, folders and environment variables that code reads at run time.

Files opened by Python are known from its audit events. HDF5, NetCDF, Parquet (by pandas) and safetensors files, which
are opened in C, are tracked by wrappers. Files that other C libraries open, such as SQLite, checks of whether a file
exists, network traffic, and reads by other processes are not tracked.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.util
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any

from bsjax.core.digests.arrays import file_state
from bsjax.core.files import cache_dir
from bsjax.core.identity.code import digest_without_remarks, is_own_file

Notes = dict[str, list[Any]]
"""Name of a file, folder or variable -> its state and digest when it was read, as plain values."""

_FILE, _FOLDER, _VARIABLE = "file ", "folder ", "variable "
_ABSENT = ""
_LIBRARIES = os.path.dirname(sysconfig.get_paths()["stdlib"]) + os.sep
_OF_SYSTEM = ("/proc/", "/sys/", "/dev/", "/etc/", "/usr/lib/", "/usr/share/", "/lib/", _LIBRARIES)
# Modules that read source to display it, and that find modules.
_SHOW_SOURCE = ("linecache.py", "tokenize.py")
_FIND_MODULES = "importlib"
_PATHS = ("pathlib.py", "pathlib/__init__.py", "pathlib/_local.py")
_IN_BETWEEN = (*(f"{name}{end}" for name in ("os", "posixpath", "_collections_abc") for end in (".py", ">")), *_PATHS)
_HERE = str(Path(__file__).parents[1]) + os.sep
_lock = threading.Lock()
_of_thread = threading.local()
# Active trackers, with the files and folders that each ignores.
_active: list[tuple[Followed, set[str], tuple[str, ...]]] = []


class Followed:
    """Everything that is read in blocks of :func:`following`."""

    def __init__(self) -> None:
        self._noted: Notes = {}
        self._new: dict[str, str] = {}

    def notes(self) -> Notes:
        """Get notes on everything that was read, with the states of the last reading.

        A file that has changed since it was read gets a digest that nothing has.
        """
        new, self._new = self._new, {}
        for name, state in sorted(new.items()):
            as_read = _state(name) == state
            self._noted[name] = [state, _digest(name) if as_read else _ABSENT if not state else "changed"]
        return dict(self._noted)

    def take(self, name: str) -> None:
        """Note that something is read now; a file that was not there before counts from its first reading on."""
        if not self._new.get(name):
            self._new[name] = _state(name)


@contextmanager
def following(
    followed: Followed | None = None, apart: Collection[str | Path] = (), below: Collection[str | Path] = ()
) -> Iterator[Followed]:
    """Track what is read in a block, by any thread.

    Files of Python, of installed packages, of the system and in ``$BSJAX_HOME`` are ignored.

    Args:
        followed: tracker of earlier blocks, to continue.
        apart: files to ignore, since their content is known otherwise; enclosing blocks also ignore them.
        below: folders to ignore, likewise.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "a.txt")
        ...     _ = path.write_text("1")
        ...     with following() as followed:
        ...         _ = path.read_text()
        ...     as_noted = unchanged(followed.notes())
        ...     _ = path.write_text("2")
        ...     as_noted, unchanged(followed.notes())
        (True, False)
    """
    _begin_to_listen()
    followed = Followed() if followed is None else followed
    block = followed, {os.path.abspath(path) for path in apart}, tuple(os.path.abspath(path) + os.sep for path in below)
    with _lock:
        _active.append(block)
    try:
        yield followed
    finally:
        with _lock:
            _active.remove(block)
        followed.notes()


@contextmanager
def not_following() -> Iterator[None]:
    """Ignore what this thread reads in a block, such as the folders that a watchdog measures."""
    before, _of_thread.ignored = getattr(_of_thread, "ignored", False), True
    try:
        yield
    finally:
        _of_thread.ignored = before


def unchanged(notes: Mapping[str, Any]) -> bool:
    """Check whether everything that was read is unchanged.

    Sizes and times are compared first, and contents only if these differ.
    """
    return all(_state(name) == state != "" or _digest(name) == digest for name, (state, digest) in notes.items())


def _state(name: str) -> str:
    """The size and times of a file; "" for folders and variables, which must be read."""
    with suppress(OSError, ValueError):
        if name.startswith(_FILE):
            return " ".join(map(str, file_state(os.stat(name.removeprefix(_FILE)))))
    return ""


def _digest(name: str) -> str:
    """The digest of the content; ``_ABSENT`` if it does not exist."""
    try:
        if name.startswith(_FILE):
            return digest_without_remarks(name.removeprefix(_FILE))
        if name.startswith(_FOLDER):
            content = "\n".join(sorted(os.listdir(name.removeprefix(_FOLDER))))
        else:
            content = os.environ[name.removeprefix(_VARIABLE)]
    except (OSError, ValueError, KeyError):
        return _ABSENT
    return hashlib.sha256(content.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _begin_to_listen() -> None:
    with _lock:
        if not _listening:
            _listening.append(True)
            sys.addaudithook(_hear)
            setattr(os._Environ, "__getitem__", _announced_variable(os._Environ.__getitem__))  # noqa: B010
        _announce_files()


_listening: list[bool] = []


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    if not _active or event not in ("open", "os.listdir", "os.scandir", "bsjax.read"):
        return
    if getattr(_of_thread, "ignored", False):
        return
    with suppress(Exception):  # an error in a hook would abort the program
        caller = sys._getframe(1).f_code.co_filename
        if event == "bsjax.read":
            _note(_FILE, arguments[0])
        elif event == "open":
            path, mode, flags = arguments
            reads = "r" in mode or "+" in mode if mode else flags & (os.O_WRONLY | os.O_RDWR) != os.O_WRONLY
            if reads and not caller.startswith(_HERE) and not caller.endswith(_SHOW_SOURCE):
                _note(_FILE, path)
        elif _FIND_MODULES not in caller and not caller.startswith(_HERE):
            _note(_FOLDER, arguments[0] or os.curdir)


def _note(kind: str, path: Any) -> None:
    if isinstance(path, int):
        return
    name = os.path.abspath(os.fsdecode(path))
    if os.path.basename(os.path.dirname(name)) == "__pycache__":
        name = source_from_cache(name)
    if (name + os.sep).startswith(_OF_SYSTEM) or not is_own_file(name) or os.path.isdir(name) != (kind == _FOLDER):
        return
    blocks, place = [*_active], name + os.sep
    known = any(name in apart or place.startswith(below) for _, apart, below in blocks)
    if not known and not place.startswith(os.path.abspath(cache_dir()) + os.sep):
        _take(kind + name)


def _take(name: str) -> None:
    for followed, _, _ in [*_active]:
        followed.take(name)


def _announced_variable(get: Callable[[Any, str], str]) -> Callable[[Any, str], str]:
    @functools.wraps(get)
    def announced(environ: Any, name: str) -> str:
        if _active and isinstance(name, str):
            frame: Any = sys._getframe(1)
            while frame is not None and frame.f_code.co_filename.endswith(_IN_BETWEEN):
                frame = frame.f_back
            if frame is not None and is_own_file(frame.f_code.co_filename):
                _take(_VARIABLE + name)
        return get(environ, name)

    return announced


# Methods that open files in C: module, class, method, and place of the path among the arguments.
_OPENING = (
    ("h5py", "File", "__init__", 1),
    ("xarray.backends.file_manager", "CachingFileManager", "__init__", 2),  # NetCDF
    ("pandas.io.parquet", "PyArrowImpl", "read", 1),
    ("pandas.io.parquet", "FastParquetImpl", "read", 1),
)


def _announce_files() -> None:
    """Wrap the functions of libraries that open files in C."""
    for module, class_name, method, place in _OPENING:
        if module in sys.modules or (module == "h5py" and importlib.util.find_spec(module)):
            holder = getattr(importlib.import_module(module), class_name)
            original = vars(holder)[method]
            if not hasattr(original, "__wrapped__"):
                setattr(holder, method, _announced_file(original, place))
    if "safetensors" in sys.modules or importlib.util.find_spec("safetensors"):
        import safetensors

        original = safetensors.safe_open
        if not hasattr(original, "__wrapped__"):
            for module in [*sys.modules.values()]:  # modules that have imported it by name
                if getattr(module, "__dict__", {}).get("safe_open") is original:
                    vars(module)["safe_open"] = _announced_file(original, 0)


def _announced_file(opens: Any, place: int) -> Any:
    @functools.wraps(opens)
    def announced(*args: Any, **kwargs: Any) -> Any:
        path = args[place] if len(args) > place else kwargs.get("filename", kwargs.get("name"))
        mode = args[2] if place == 1 and len(args) > 2 else kwargs.get("mode")
        if isinstance(path, (str, bytes, os.PathLike)) and mode not in ("w", "w-", "x"):
            sys.audit("bsjax.read", path)
        return opens(*args, **kwargs)

    return announced
