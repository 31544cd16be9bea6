"""Trial runs of file readers in a separate process, which is killed if it does not end.

  python -P trial_process.py SECONDS SCRIPT ARGUMENTS    runs a script for at most SECONDS of CPU time

Libraries written in C can loop forever, or crash, on a damaged file, and Python cannot interrupt them.
"""

import math
import os
import runpy
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

# CPU seconds allowed for reading a file: this many, plus one for each MiB.
_SECONDS = 2
_BYTES_A_SECOND = 1 << 20
# Wall time allowed per CPU second, because a process may wait for a disk or for other processes.
_PATIENCE = 30


def try_reading(path: Path, kind: str, script: str, *arguments: str) -> bytes:
    """Run a script on a file, with the path as its first argument.

    Args:
        path: the file.
        kind: what the file should be, for the message.
        script: a Python file that reads it and does not import bsjax.
        arguments: further arguments of the script.

    Returns:
        The standard output of the script.

    Raises:
        ValueError: reading the file does not end, or crashes.
        OSError: the process cannot be started.
    """
    seconds = _SECONDS + path.stat().st_size // _BYTES_A_SECOND
    try:
        tried = subprocess.run(
            [sys.executable, "-P", __file__, str(seconds), script, os.fspath(path), *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PATIENCE * seconds,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(_damaged(path, kind, "reading it does not come to an end")) from None
    if tried.returncode < 0:
        name = signal.Signals(-tried.returncode).name
        over = name in ("SIGXCPU", "SIGKILL")
        raise ValueError(
            _damaged(
                path, kind, f"reading it takes more than {seconds} s" if over else f"its reader crashes with {name}"
            )
        )
    if tried.returncode:
        raise OSError(f"cannot try to read {path} in a process of its own: {tried.stderr.decode(errors='replace')}")
    return tried.stdout


def _damaged(path: Path, kind: str, what: str) -> str:
    return f"cannot read {path} as {kind}: {what}, the file is damaged. Fetch it again"


def _limit(seconds: int) -> None:
    """Limit the CPU time of this process, if the system supports it."""
    with suppress(ImportError):
        import resource

        spent = resource.getrusage(resource.RUSAGE_SELF)
        most = math.ceil(spent.ru_utime + spent.ru_stime) + seconds
        resource.setrlimit(resource.RLIMIT_CPU, (most, most + 1))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.argv = sys.argv[1:]
    _limit(int(sys.argv.pop(0)))
    runpy.run_path(sys.argv[0], run_name="__main__")
