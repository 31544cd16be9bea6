"""Asks a process with the compiler of a platform to compile one program."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .environments import SETTINGS, interpreter

_ROOT = Path(__file__).parents[2]
_NICENESS = 10


def compiled(
    name: str,
    plugin: str,
    layers: int = 1,
    seconds: float = 300,
    text: str | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> dict[str, Any]:
    """What was found in one program; ``{"failed": why}`` where it did not compile in so many seconds.

    Args:
        name: of a program.
        plugin: a key of `devices.DEVICES`.
        layers: how many sources at once.
        seconds: after which it is given up.
        text: folder that gets the compiled program's text.
        progress: is told when an environment must be built first.
    """
    python = interpreter(plugin, progress)
    command = [str(python), "-m", f"{__package__}.worker", name, plugin, str(layers), *([text] if text else [])]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=seconds,
            cwd=_ROOT,
            env={**os.environ, "PYTHONPATH": str(_ROOT), **SETTINGS},
            preexec_fn=_gently,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not compiled after {seconds:.0f} s"}
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "Error" in line]
        return {"failed": said[-1][:300] if said else f"the compiler's process ended with status {done.returncode}"}
    return json.loads(done.stdout.splitlines()[-1])


def _gently() -> None:
    os.nice(_NICENESS)
