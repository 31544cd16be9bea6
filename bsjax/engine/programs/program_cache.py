"""The cache of compiled programs on disk, JAX's own: no process need compile what an earlier one has."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

from filelock import FileLock

from bsjax.core.disk_errors import explaining, warn_once
from bsjax.core.files import cache_dir, write_atomically

_MOST_BYTES = 1 << 30  # some two thousand programs
_LEAST_ROOM = 1 << 20  # two
_FOLDER, _MOST, _LEAST_TIME = (
    "jax_compilation_cache_dir",
    "jax_compilation_cache_max_size",
    "jax_persistent_cache_min_compile_time_secs",
)


def programs_dir() -> Path:
    """The folder of compiled programs by default: ``jax`` in the folder of everything that bsjax stores."""
    return cache_dir() / "jax"


def enable_compilation_cache(path: str | Path | None = None) -> Path | None:
    """Keep compiled programs on disk, so that the first calls of later processes need not compile them.

    The command line does so by itself; call this at the start of a script or notebook. A program serves one version of
    JAX, one kind of device and one shape. They take at most 1 GB, of which those go first that were used least
    recently; a file that cannot be read is a warning, and its program is compiled anew. Programs that call back into
    Python, as RDMs on a CPU do, are not kept: JAX cannot store them. Where nothing can be kept, because the folder
    cannot be written or the disk is full, that is one warning, and programs are compiled as without this call.

    A folder that JAX was given otherwise, as by ``JAX_COMPILATION_CACHE_DIR``, stays in use as it is, unless ``path``
    says another. Limits that were set, as by ``JAX_COMPILATION_CACHE_MAX_SIZE`` (bytes, -1 for none) and
    ``JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS``, stay too; all else of JAX's configuration is left alone.

    Args:
        path: the folder; by default ``$BSJAX_HOME/jax``, or ``~/.bsjax/jax``. Whoever may write there can make this
            process run their code.

    Returns:
        The folder that is used; None if there is none.

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
        compilation_cache.reset_cache()  # or it would stay at the folder that it has opened
    for name, value in settings.items():
        if name == _FOLDER or (name.upper() not in os.environ and jax.config.values[name] == _JAX_DEFAULTS[name]):
            jax.config.update(name, value)
    return folder


_JAX_DEFAULTS = {_MOST: -1, _LEAST_TIME: 1.0}


def keep_programs_in(folder: Path, variable: str = "BSJAX_HOME") -> dict[str, str | int | float]:
    """The settings of JAX with which it keeps programs in a folder, which is made fit for them.

    JAX notes beside each program when it was used, and fails to store any other if a note is missing, as where a
    process was killed between the two. Programs without one are removed.

    Args:
        folder: where.
        variable: what names the folder, for messages.

    Raises:
        OSError: the folder cannot be written, or there is no room.
    """
    with explaining("keep compiled programs, which are now compiled anew each time,", folder, variable):
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lockfile"):  # JAX's own
            for program in folder.glob("*-cache"):
                note = program.with_name(program.name.removesuffix("-cache") + "-atime")
                if not note.exists() or note.stat().st_size == 0:
                    program.unlink()
            # JAX finds out with each program, and warns each time: below, what it says if the disk fills up later.
            write_atomically(folder / ".room", bytes(_LEAST_ROOM), sync=False).unlink()
    warnings.filterwarnings("ignore", "Error writing persistent compilation cache entry")
    # Even small programs take longer to compile than to read.
    return {_FOLDER: str(folder), _MOST: _MOST_BYTES, _LEAST_TIME: 0}
