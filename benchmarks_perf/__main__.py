"""Measures the rows that are asked for, shows a table of each, keeps it as JSON, and renders the page of all."""

import argparse
from functools import partial

from rich.console import Console
from rich.markdown import Markdown

from . import floors, page, rates, report
from .rows import TABLE, measured_in_full


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {number}")
    return number


def _rows(text: str) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in TABLE]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown row {', '.join(unknown)}; there are {', '.join(TABLE)}")
    return names


def main() -> None:
    """Reads the options and measures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf", description=__doc__)
    parser.add_argument("--rows", type=_rows, default=list(TABLE), help="comma-separated; all by default")
    parser.add_argument("--rounds", type=_count, default=12, help="measured calls of bsjax at most (12)")
    parser.add_argument("--peer-rounds", type=_count, default=6, help="measured calls of each peer at most (6)")
    parser.add_argument("--fast", action="store_true", help="small sizes, to see that all works; keeps no result")
    parser.add_argument("--without-peer", action="store_true", help="measure bsjax alone; keeps no result")
    chosen = parser.parse_args()
    console, messages = Console(width=160), Console(stderr=True, style="dim", highlight=False)
    kept = not chosen.fast and not chosen.without_peer
    how = {"rounds": chosen.rounds, "peer_rounds": chosen.peer_rounds, "with_peer": not chosen.without_peer}
    machine = rates.apart()
    for name in chosen.rows:
        say = partial(messages.print, f"{name}:")
        result = measured_in_full(TABLE[name], name, fast=chosen.fast, progress=say, **how)
        result |= {"rates": machine}
        result |= {"floor": floors.of(result)}
        console.print(Markdown(page.table({name: result})))
        if kept:
            path = report.write(name, result)
            say(f"kept in {path.parent.name}/{path.name}")
    if kept:
        page.render()


if __name__ == "__main__":
    main()
