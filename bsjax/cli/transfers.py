"""Progress of transfers on stderr: bars on a terminal, otherwise a line per finished file."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer

# Seconds between progress lines of a long extraction without a terminal.
_EVERY = 30.0

Report = Callable[[str, int, int], None]


@contextmanager
def transfers(verb: str, unit: str = "bytes") -> Iterator[Report]:
    """Make a thread-safe function that reports progress: its arguments are a file name, the amount done, and the total.

    Args:
        verb: past participle of the operation, such as "fetched".
        unit: the unit of the amounts.
    """
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    lock = threading.Lock()
    if not console.is_terminal:
        finished: set[str] = set()

        def log(name: str, here: int, size: int) -> None:
            with lock:
                if here >= size and name not in finished:
                    finished.add(name)
                    typer.echo(f"{verb} {name}: {size:,} {unit}", err=True)

        yield log
        return
    amount = DownloadColumn() if unit == "bytes" else MofNCompleteColumn()
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), amount, TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        tasks = {}

        def show(name: str, here: int, size: int) -> None:
            with lock:
                if name not in tasks:
                    tasks[name] = bars.add_task(name, total=size)
                bars.update(tasks[name], completed=here, total=size)

        yield show
