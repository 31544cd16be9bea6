"""Commands of bsjax, and code, in processes of their own, forked from one that has imported what takes seconds.

What a command does before anything is imported (its imports, the settings of JAX) needs ``subprocess`` still.
"""

import atexit
import multiprocessing
import os
import pty
import select
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.support.preloaded"])
_PROGRAMS = jax.config.jax_compilation_cache_dir  # all of them take what another of the session has compiled
_HANGS = 550  # seconds after which something does not just take its time


@pytest.fixture
def start() -> Iterator[Callable[..., Any]]:
    """Starts processes that have loaded the package already, and ends them."""
    started = []

    def start(target: Callable[..., object], *arguments: object) -> Any:
        process = CONTEXT.Process(target=target, args=arguments)
        process.start()
        started.append(process)
        return process

    yield start
    for process in started:
        if process.is_alive():
            process.kill()
        process.join()
        process.close()


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


def run_on_terminal(
    *arguments: object, columns: int, cwd: Path | None = None, env: dict[str, str] | None = None
) -> str:
    """What ``bsjax`` with these arguments shows on a terminal, when it ends well."""
    parent, child = pty.openpty()
    environment = {**(os.environ if env is None else env), "COLUMNS": str(columns), "TERM": "xterm"}
    words, shown = ["bsjax", *map(str, arguments)], b""
    streams = [Path(os.ttyname(child))] * 2
    asked = (_command, words, cwd or Path.cwd(), environment, streams, False, _PROGRAMS)
    process = CONTEXT.Process(target=_run, args=asked)
    process.start()
    while process.is_alive() or select.select([parent], [], [], 0)[0]:
        if select.select([parent], [], [], 0.1)[0]:
            shown += os.read(parent, 65536)
    os.close(parent)
    os.close(child)
    assert process.exitcode == 0, shown
    process.close()
    return shown.decode()


def _done(
    words: list[str], does: Callable[[list[str]], object], cwd: Path | None, env: dict[str, str] | None, errors=False
) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        streams = [Path(folder, name) for name in ("stdout", "stderr")]
        environment = dict(os.environ) if env is None else env
        asked = (does, words, cwd or Path.cwd(), environment, streams, errors, _PROGRAMS)
        process = CONTEXT.Process(target=_run, args=asked)
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


def _run(
    does: Callable[[list[str]], object],
    words: list[str],
    cwd: Path,
    env: dict[str, str],
    streams: list[Path],
    errors: bool,
    programs: str,
) -> None:
    for number, path in enumerate(streams, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = words
    jax.config.update("jax_compilation_cache_dir", programs)
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
