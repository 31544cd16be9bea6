"""Compiles the programs that are asked for, each in a process of its own, and keeps what was counted in them."""

import argparse

from rich.console import Console

from .. import page
from . import results
from .client import compiled
from .devices import DEVICES
from .programs import LAYERS, programs


def main() -> None:
    """Reads the options, and compiles one program after the other."""
    known = programs()
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf.ahead", description=__doc__)
    parser.add_argument("--programs", help="comma-separated; by default all")
    parser.add_argument("--platform", choices=DEVICES, help="by default both")
    parser.add_argument("--layers", type=int, choices=(1, LAYERS), help=f"at once; by default 1, then {LAYERS}")
    parser.add_argument("--missing", action="store_true", help="only what no result is kept of")
    parser.add_argument("--seconds", type=float, default=300, help="after which a program is given up (300)")
    parser.add_argument("--text", metavar="FOLDER", help="keep the compiled programs' text there")
    parser.add_argument("--list", action="store_true", help="name the programs, and compile none")
    chosen = parser.parse_args()
    names = chosen.programs.split(",") if chosen.programs else list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"unknown program {', '.join(unknown)}; there are {', '.join(known)}")
    console, messages = Console(), Console(stderr=True, style="dim", highlight=False, soft_wrap=True)
    if chosen.list:
        console.print("\n".join(names))
        return
    for plugin in [chosen.platform] if chosen.platform else DEVICES:
        for layers in [chosen.layers] if chosen.layers else (1, LAYERS):
            for name in names if layers == 1 else [name for name in names if known[name].of_source]:
                if chosen.missing and results.kept(plugin, name, layers):
                    continue
                found = compiled(name, plugin, layers, chosen.seconds, chosen.text, messages.print)
                results.keep(plugin, name, layers, found)
                messages.print(f"{plugin} {name}, {layers} at once: {results.in_words(found)}")
    page.render()


if __name__ == "__main__":
    main()
