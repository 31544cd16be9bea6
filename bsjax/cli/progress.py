"""Progress of scoring on stderr: bars on a terminal, otherwise a line per finished pair; errors immediately."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from bsjax.core.watching import Watcher
from bsjax.scoring.display.bars import Bars, Lines, bars_on

if TYPE_CHECKING:
    from rich.console import Console

    from bsjax.scoring import Job, Outcome, Plan

# Seconds between progress lines of a long computation without a terminal.
_EVERY = 30.0


@contextmanager
def scoring() -> Iterator[_Lines | _Bars]:
    """Make the watcher that shows the progress of a run."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(console)
        return
    with bars_on(console) as bars:
        yield _Bars(console, bars)


class _Running(Watcher):
    """A watcher that tracks running jobs and prints errors."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._running: dict[tuple[str, str], None] = {}
        self._told: set[tuple[str, str]] = set()

    def begin(self, plan: Plan) -> None:
        """Report the blocked and stored cells of a plan before it is run."""
        blocked: dict[tuple[str, str], list[str]] = {}
        for cell in plan.of("blocked"):
            blocked.setdefault((cell.names[0], cell.reason), []).append(cell.names[1])
        for (model, reason), on in blocked.items():
            self._report((model, on[0] if len(on) == 1 else f"{len(on)} benchmarks"), reason)
        for cell in plan.of("compute"):
            if cell.ended:
                machine, _, process = cell.ended.rpartition(" ")
                said = (
                    f"an earlier run (process {process} on {machine}) ended while computing it, so it is computed last"
                )
                self._report(cell.names, said)
        scored = len(plan.of("scored"))
        if scored:
            typer.echo(
                f"{scored} of {len(plan)} are already in the store of results: --again recomputes them", err=True
            )

    def begun(self, job: Job) -> None:
        super().begun(job)
        self._running[job.names] = None

    def came(self, outcome: Outcome) -> None:
        super().came(outcome)
        self._running.pop((outcome.model, outcome.benchmark), None)
        self._report((outcome.model, outcome.benchmark), outcome.error_line)

    def stopping(self) -> None:
        running = ", ".join(" on ".join(names) for names in self._running)
        if running:
            self._note(f"waiting for {running}; Ctrl-C again ends it")

    def _report(self, names: tuple[str, str], error: str) -> None:
        """Print an error; an error that repeats for several benchmarks of a model is printed once."""
        if error and (names[0], error) not in self._told:
            self._told.add((names[0], error))
            self._note(f"{' on '.join(names)}: {error}")

    def _note(self, line: str) -> None:
        self._console.print(f"bsjax: {line}", markup=False, highlight=False, soft_wrap=True)


class _Lines(_Running, Lines):
    def __init__(self, console: Console) -> None:
        _Running.__init__(self, console)
        Lines.__init__(self, console, every=_EVERY)


class _Bars(_Running, Bars):
    def __init__(self, console: Console, bars: Any) -> None:
        _Running.__init__(self, console)
        Bars.__init__(self, bars)
