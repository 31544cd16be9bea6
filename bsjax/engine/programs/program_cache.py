"""JAX's cache of compiled programs on disk, shared between processes."""

import os
import warnings
from pathlib import Path

from filelock import FileLock

from bsjax.core.files import cache_dir, explaining, warn_once, write_atomically

_MOST_BYTES = 1 << 30  # about two thousand programs
_LEAST_ROOM = 1 << 20  # two programs
_FOLDER, _MOST, _LEAST_TIME = (
    "jax_compilation_cache_dir",
    "jax_compilation_cache_max_size",
    "jax_persistent_cache_min_compile_time_secs",
)


def programs_dir() -> Path:
    """Default folder of compiled programs: ``jax`` in the folder of all files that bsjax stores."""
    return cache_dir() / "jax"


def enable_compilation_cache(path: str | Path | None = None) -> Path | None:
    """Stores compiled programs on disk, so that later processes need not compile them again.

    The command line does this by default; in a script or notebook, call it at the start. A program is valid for one
    version of JAX, one kind of device and one shape. The cache takes at most 1 GB; least recently used programs are
    evicted. An unreadable file causes a warning, and its program is compiled again. Programs that call Python, as RDMs
    on a CPU do, are not stored, because JAX does not support it. If the folder is not writable or the disk is full, a
    single warning is issued, and programs are compiled as without this call.

    A folder that was set in JAX before, for example by ``JAX_COMPILATION_CACHE_DIR``, is used unless ``path`` is given.
    Limits that were set, for example by ``JAX_COMPILATION_CACHE_MAX_SIZE`` (bytes, -1 for none) and
    ``JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS``, are kept. The rest of JAX's configuration is not changed.

    Args:
        path: the folder; by default ``$BSJAX_HOME/jax``, or ``~/.bsjax/jax``. Anyone with write access to it can make
            this process run their code.

    Returns:
        The folder in use; None if there is none.

    Example:
        >>> import jax
        >>> before = jax.config.jax_compilation_cache_dir
        >>> str(enable_compilation_cache()) == before  # the tests of bsjax have one of their own
        True
    """
    import jax
    from jax.experimental.compilation_cache import compilation_cache

    in_use = jax.config.values[_FOLDER]
    if path is None and in_use is not None:
        return Path(in_use)
    folder = programs_dir() if path is None else Path(path).expanduser()
    try:
        settings = keep_programs_in(folder, "BSJAX_HOME" if path is None else "path")
    except OSError as error:
        warn_once(str(error))
        return None if in_use is None else Path(in_use)
    if in_use is not None:
        compilation_cache.reset_cache()  # otherwise JAX would keep using the folder it has opened
    for name, value in settings.items():
        if name == _FOLDER or (name.upper() not in os.environ and jax.config.values[name] == _JAX_DEFAULTS[name]):
            jax.config.update(name, value)
    return folder


_JAX_DEFAULTS = {_MOST: -1, _LEAST_TIME: 1.0}


def keep_programs_in(folder: Path, variable: str = "BSJAX_HOME") -> dict[str, str | int | float]:
    """Prepares a folder for compiled programs, and returns the settings of JAX to use it.

    JAX stores the time of last use of each program in a separate file. If such a file is missing, because a process was
    killed before writing it, JAX fails to store any other program. Programs without this file are therefore removed.

    Args:
        folder: the folder.
        variable: name of the setting that determines the folder, for messages.

    Raises:
        OSError: the folder is not writable, or the disk is full.
    """
    with explaining("keep compiled programs, which are now compiled anew each time,", folder, variable):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lockfile"):  # JAX's own
            for program in folder.glob("*-cache"):
                note = program.with_name(program.name.removesuffix("-cache") + "-atime")
                if not note.exists() or note.stat().st_size == 0:
                    program.unlink()
            # Checked once here, because JAX would warn for each program. The filter below silences these warnings.
            write_atomically(folder / ".room", bytes(_LEAST_ROOM), sync=False).unlink()
    warnings.filterwarnings("ignore", "Error writing persistent compilation cache entry")
    # Even small programs are faster to read than to compile.
    return {_FOLDER: str(folder), _MOST: _MOST_BYTES, _LEAST_TIME: 0}
