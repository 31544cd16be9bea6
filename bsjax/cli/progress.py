"""Progress on stderr: bars on a terminal, a line for what is finished elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from bsjax.activations import Progress
    from bsjax.scoring import Job, Plan
    from bsjax.scoring.cell_run import Done

# Where there is no terminal, a long extraction says so often how far it is, in seconds.
_EVERY = 30.0

Report = Callable[[str, int, int], None]


@contextmanager
def transfers(verb: str, unit: str = "bytes") -> Iterator[Report]:
    """What to call with the name of a file, how much of it is there, and how much there is; from any thread.

    Args:
        verb: what is done to the files, in the past tense: "fetched".
        unit: "bytes", or what else is counted.
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


@contextmanager
def scoring() -> Iterator[_Lines | _Bars]:
    """What to tell of a run of scores: bars on a terminal, a line a job elsewhere; errors at once."""
    from rich import progress as rich
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TimeElapsedColumn(),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[rate]}", markup=False),
    )
    with rich.Progress(*columns, console=console, transient=True) as bars:
        yield _Bars(console, bars)


class _Lines:
    def __init__(self, console: Console) -> None:
        self._console, self._total, self._done, self._said = console, 0, 0, time.monotonic()

    def begin(self, plan: Plan) -> None:
        """This will be run."""
        self._total = len(plan.of("compute"))
        _begin(self._console, plan)

    def before(self, job: Job) -> None:
        """This job is begun."""

    def images(self, progress: Progress) -> None:
        """Its model has seen so many images."""
        if progress.done < progress.total and time.monotonic() - self._said > _EVERY:
            self._said = time.monotonic()
            typer.echo(
                f"{progress.identifier}: {progress.done} of {progress.total} images, {_rate(progress)}", err=True
            )

    def after(self, done: Done) -> None:
        """This came of a job."""
        self._done += 1
        if not done.error:
            what = f"{done.model} on {done.benchmark}: {done.seconds:.1f} s"
            typer.echo(f"[{self._done}/{self._total}] {what}", err=True)
        _report(self._console, done.model, done.benchmark, done.error)


class _Bars:
    def __init__(self, console: Console, bars: Any) -> None:
        self._console, self._bars = console, bars
        self._jobs = bars.add_task("starting", total=None, visible=False, rate="")
        self._failed = 0
        self._running: dict[tuple[str, str], None] = {}
        self._images = bars.add_task("images", total=None, visible=False, rate="")

    def begin(self, plan: Plan) -> None:
        self._bars.update(self._jobs, total=len(plan.of("compute")), visible=True)
        _begin(self._console, plan)

    def before(self, job: Job) -> None:
        self._running[job.model_identifier, job.benchmark_identifier] = None
        self._show()

    def images(self, progress: Progress) -> None:
        self._bars.update(
            self._images,
            description=f"{progress.identifier}: images",
            completed=progress.done,
            total=progress.total,
            visible=progress.done < progress.total,
            rate=_rate(progress),
        )

    def after(self, done: Done) -> None:
        _report(self._console, done.model, done.benchmark, done.error)
        self._failed += bool(done.error)
        self._running.pop((done.model, done.benchmark), None)
        self._bars.advance(self._jobs)
        self._show()

    def _show(self) -> None:
        """What runs: one by its name, of several how many there are; and how many have failed."""
        names = [f"{model} on {benchmark}" for model, benchmark in self._running]
        description = f"{len(names)} running" if len(names) > 1 else "".join(names)
        self._bars.update(self._jobs, description=description, rate=f"{self._failed} failed" if self._failed else "")


def _begin(console: Console, plan: Plan) -> None:
    for cell in plan.of("blocked"):
        _report(console, cell.job.model_identifier, cell.job.benchmark_identifier, cell.reason)
    scored = len(plan.of("scored"))
    if scored:
        typer.echo(f"{scored} of {len(plan)} are in the store of results: --again computes them anew", err=True)


def _report(console: Console, model: str, benchmark: str, error: str) -> None:
    if error:
        console.print(f"bsjax: {model} on {benchmark}: {error}", markup=False, highlight=False, soft_wrap=True)


def _rate(progress: Progress) -> str:
    minutes, seconds = divmod(round(progress.remaining), 60)
    left = f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
    return f"{progress.rate:.3g} a second, {left} left"
