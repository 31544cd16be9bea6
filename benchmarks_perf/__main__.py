"""Measures the rows that are asked for, shows a table of each and keeps it as JSON."""

import argparse

from rich.console import Console

from . import report
from .rows import ROWS


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {number}")
    return number


def _rows(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown row {', '.join(unknown)}; there are {', '.join(ROWS)}")
    return names


def main() -> None:
    """Reads the options and measures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks_perf", description=__doc__)
    parser.add_argument("--rows", type=_rows, default=list(ROWS), help="comma-separated; all by default")
    parser.add_argument("--rounds", type=_count, default=12, help="measured calls of bsjax (12)")
    parser.add_argument("--peer-rounds", type=_count, default=2, help="measured calls of the peer (2)")
    parser.add_argument("--fast", action="store_true", help="small sizes, to see that all works; keeps no result")
    parser.add_argument("--without-peer", action="store_true", help="measure bsjax alone; keeps no result")
    chosen = parser.parse_args()

    console, messages = Console(width=100), Console(stderr=True, style="dim", highlight=False)
    for name in chosen.rows:
        result = ROWS[name](
            name,
            fast=chosen.fast,
            rounds=chosen.rounds,
            peer_rounds=chosen.peer_rounds,
            with_peer=not chosen.without_peer,
            progress=lambda line, name=name: messages.print(f"{name}: {line}"),
        )
        console.print(report.table(result))
        if not chosen.fast and not chosen.without_peer:
            path = report.write(name, result)
            messages.print(f"{name}: kept in {path.parent.name}/{path.name}")


if __name__ == "__main__":
    main()
