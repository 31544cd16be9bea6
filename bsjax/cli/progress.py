"""Progress of scoring on stderr: bars on a terminal, a line for each finished pair elsewhere, and errors at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from bsjax.core.watching import Watcher
from bsjax.scoring.display.bars import Bars, bars_on

if TYPE_CHECKING:
    from rich.console import Console

    from bsjax.activations import Progress
    from bsjax.scoring import Job, Outcome, Plan

# Where there is no terminal, what takes long says so often how far it is, in seconds.
_EVERY = 30.0


@contextmanager
def scoring() -> Iterator[_Lines | _Bars]:
    """What to tell of a run of scores: bars on a terminal, a line a job elsewhere; errors at once."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
        return
    with bars_on(console) as bars:
        yield _Bars(console, bars)


class _Running(Watcher):
    """What runs, and what has failed."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._running: dict[tuple[str, str], None] = {}
        self._told: set[tuple[str, str]] = set()

    def begin(self, plan: Plan) -> None:
        """This will be run."""
        blocked: dict[tuple[str, str], list[str]] = {}
        for cell in plan.of("blocked"):
            blocked.setdefault((cell.names[0], cell.reason), []).append(cell.names[1])
        for (model, reason), on in blocked.items():
            self._report((model, on[0] if len(on) == 1 else f"{len(on)} benchmarks"), reason)
        for cell in plan.of("compute"):
            if cell.ended:
                self._report(cell.names, f"the process that was at it ended without a word ({cell.ended}): it is last")
        scored = len(plan.of("scored"))
        if scored:
            typer.echo(f"{scored} of {len(plan)} are in the store of results: --again computes them anew", err=True)

    def begun(self, job: Job) -> None:
        super().begun(job)
        self._running[job.model_identifier, job.benchmark_identifier] = None

    def came(self, outcome: Outcome) -> None:
        super().came(outcome)
        self._running.pop((outcome.model, outcome.benchmark), None)
        self._report((outcome.model, outcome.benchmark), outcome.error_line)

    def stopping(self) -> None:
        running = ", ".join(" on ".join(names) for names in self._running)
        if running:
            self._say(f"waiting for {running}; Ctrl-C again ends it")

    def _report(self, names: tuple[str, str], error: str) -> None:
        """An error, which is told once where all benchmarks of a model have it."""
        if error and (names[0], error) not in self._told:
            self._told.add((names[0], error))
            self._say(f"{' on '.join(names)}: {error}")

    def _say(self, line: str) -> None:
        self._console.print(f"bsjax: {line}", markup=False, highlight=False, soft_wrap=True)


class _Lines(_Running):
    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._total, self._done, self._said = 0, 0, time.monotonic()

    def begin(self, plan: Plan) -> None:
        self._total = len(plan.of("compute"))
        super().begin(plan)

    def images(self, progress: Progress) -> None:
        if progress.done < progress.total and self._is_time():
            typer.echo(
                f"{progress.identifier}: {progress.done} of {progress.total} images, {_rate(progress)}", err=True
            )

    def step(self, what: str, done: int, total: int) -> None:
        if 0 < done < total and self._is_time():
            typer.echo(f"{what}: {done} of {total}", err=True)

    def _is_time(self) -> bool:
        """Whether nothing was said for so long; it is now."""
        if time.monotonic() - self._said < _EVERY:
            return False
        self._said = time.monotonic()
        return True

    def came(self, outcome: Outcome) -> None:
        self._done += 1
        if outcome.error is None:
            what = f"{outcome.model} on {outcome.benchmark}: {outcome.seconds:.1f} s"
            typer.echo(f"[{self._done}/{self._total}] {what}", err=True)
        super().came(outcome)


class _Bars(_Running, Bars):
    def __init__(self, console: Console, bars: Any) -> None:
        _Running.__init__(self, console)
        Bars.__init__(self, bars)

    def begin(self, plan: Plan) -> None:
        self.expect(len(plan.of("compute")))
        super().begin(plan)


def _rate(progress: Progress) -> str:
    minutes, seconds = divmod(round(progress.remaining), 60)
    left = f"{minutes} min {seconds:02d} s" if minutes else f"{seconds} s"
    return f"{progress.rate:.3g} a second, {left} left"
