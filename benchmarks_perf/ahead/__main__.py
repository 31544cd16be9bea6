"""Compiles the programs that are asked for, each in a process of its own, and keeps what was counted in them."""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console

from .. import page
from . import results
from .devices import DEVICES
from .environments import SETTINGS, interpreter
from .programs import LAYERS, programs

_ROOT = Path(__file__).parents[2]
_NICENESS = 10


def main() -> None:
    """Reads the options, and compiles one program after the other."""
    known = programs()
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf.ahead", description=__doc__)
    parser.add_argument("--programs", help="comma-separated; by default all")
    parser.add_argument("--platform", choices=DEVICES, help="by default both")
    parser.add_argument(
        "--layers", type=int, choices=(1, LAYERS), help=f"how many at once; by default 1, then {LAYERS}"
    )
    parser.add_argument("--missing", action="store_true", help="only what no result is kept of")
    parser.add_argument("--seconds", type=float, default=300, help="after which a program is given up (300)")
    parser.add_argument("--text", metavar="FOLDER", help="keep the compiled programs' text there")
    parser.add_argument("--list", action="store_true", help="name the programs, and compile none")
    chosen = parser.parse_args()
    names = chosen.programs.split(",") if chosen.programs else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown program {', '.join(unknown)}; there are {', '.join(known)}")
    if chosen.list:
        print("\n".join(names))
        return
    messages = Console(stderr=True, style="dim", highlight=False)
    for plugin in [chosen.platform] if chosen.platform else DEVICES:
        for layers in [chosen.layers] if chosen.layers else (1, LAYERS):
            for name in names:
                if layers > 1 and not known[name].of_source:
                    continue
                if chosen.missing and results.kept(plugin, name, layers):
                    continue
                found = compiled(name, plugin, layers, chosen.seconds, chosen.text, messages.print)
                results.keep(plugin, name, layers, found)
                messages.print(f"{plugin} {name}, layers {layers}: {results.in_words(found)}")
    page.render()


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
        return {"failed": done.stderr.strip().splitlines()[-1][:300]}
    return json.loads(done.stdout.splitlines()[-1])


def _gently() -> None:
    os.nice(_NICENESS)


if __name__ == "__main__":
    sys.exit(main())
