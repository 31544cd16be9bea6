"""Commands of bsjax, and code, in processes of their own, forked from one that has imported what takes seconds.

What a command does before anything is imported (its imports, the settings of JAX) needs ``subprocess`` still.
"""

import atexit
import multiprocessing
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.support.preloaded"])
_HANGS = 550  # seconds after which something does not just take its time


def run_command(
    *arguments: object, cwd: Path | None = None, env: dict[str, str] | None = None, errors: bool = False
) -> subprocess.CompletedProcess[str]:
    """What ``bsjax`` with these arguments gives: its exit code, and what it wrote where.

    Args:
        *arguments: of the command.
        cwd: where it runs.
        env: its environment; that of now by default.
        errors: make warnings errors.
    """
    words = list(map(str, arguments))
    return _done(["bsjax", *words], _command, cwd, env, errors)


def run_python(
    code: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """What code gives; the folders of ``$PYTHONPATH`` are searched first, as when Python starts."""
    return _done(["-c", code], _python, cwd, env)


def _done(
    words: list[str], does: Callable[[list[str]], object], cwd: Path | None, env: dict[str, str] | None, errors=False
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("stdout", "stderr")]
        environment = dict(os.environ) if env is None else env
        process = CONTEXT.Process(target=_run, args=(does, words, cwd or Path.cwd(), environment, streams, errors))
        process.start()
        process.join(_HANGS)
        if process.is_alive():
            process.kill()
            process.join()
            raise TimeoutError(f"{' '.join(words)} has not ended")
        code = process.exitcode
        process.close()
        assert code is not None
        return subprocess.CompletedProcess(words, code, *(path.read_text("utf-8") for path in streams))


def _run(does, words: list[str], cwd: Path, env: dict[str, str], streams: list[Path], errors: bool) -> None:
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = words
    if errors:
        warnings.simplefilter("error")
    try:
        does(words)
    finally:
        sys.stdout.flush()
        atexit._run_exitfuncs()


def _command(words: list[str]) -> None:
    from bsjax.cli import main

    main()


def _python(words: list[str]) -> None:
    sys.path[:0] = ["", *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
