"""``score_grid``: many models on many benchmarks, every score kept as soon as it is there."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bsjax.core.version import __version__
from bsjax.results import ResultStore
from bsjax.scoring.cell_run import CellRunner, Done
from bsjax.scoring.planning import Cell, Plan, plan
from bsjax.scoring.serial import Outcome

if TYPE_CHECKING:
    import pandas as pd

    from bsjax.labelled import Score
    from bsjax.labelled.resampling.draws import Factor, Resampling
    from bsjax.labelled.resampling.permutations import Permutations
    from bsjax.scoring.job import Job
    from bsjax.scoring.resolution import BenchmarkLike, ModelLike


@dataclass(frozen=True)
class Grid:
    """What came of a grid; the store has the scores.

    Attributes:
        plan: what was to be done.
        store: where the scores are.
        run: name of the run in the store; None where nothing was to be computed.
        done: what came of the cells that were run, in the order in which they ended.
        interrupted: whether it was stopped before all were run.
    """

    plan: Plan
    store: ResultStore
    run: str | None
    done: tuple[Done, ...]
    interrupted: bool = False

    def frame(self) -> pd.DataFrame:
        """A row for each cell of the plan.

        Returns:
            Columns ``model``, ``benchmark``, ``state`` ("scored", "undefined", "resolved", "failed", "blocked", or
            "missing" of what was not run any more), ``score``, ``error``, ``low``, ``high``, ``interval`` (the ends of
            its interval of 95 %, and what it is: "t over stimuli"), ``ceiling``, ``reason`` (why there is no score),
            ``seconds``, ``key`` (of the score or the failure in the store).
        """
        import pandas as pd

        names = {cell.job.model_identifier for cell in self.plan}, {cell.job.benchmark_identifier for cell in self.plan}
        numbers = ["score", "error", "low", "high", "ceiling", "seconds"]
        kept = self.store.frame(
            *names, latest=False, failures=False, columns=["key", "state", *numbers, "interval", "reason"]
        ).set_index("key")
        places = dict(zip(kept.index, kept.to_dict("records"), strict=True))
        came = {(done.model, done.benchmark): done for done in self.done}
        rows = []
        for cell in self.plan:
            pair = cell.job.model_identifier, cell.job.benchmark_identifier
            done = came.get(pair)
            key = cell.score if done is None else done.key
            row: dict[str, Any] = {"model": pair[0], "benchmark": pair[1], "reason": cell.reason, "key": key}
            if key in places:
                row |= places[key]
            elif done is not None:
                row |= {"state": "failed", "reason": done.error, "seconds": done.seconds}
            else:
                row["state"] = "blocked" if cell.state == "blocked" else "missing"
            rows.append(row)
        of_scores = ["score", "error", "low", "high", "interval", "ceiling"]
        columns = ["model", "benchmark", "state", *of_scores, "reason", "seconds", "key"]
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))

    def _repr_html_(self) -> str:
        from bsjax.scoring.tables.heat_map import heat_map

        return heat_map(self.frame())

    def score(self, model: str, benchmark: str) -> Score:
        """The score of a pair, with all that it was made from.

        Raises:
            KeyError: it has none.
        """
        key = self._of_pair().get((model, benchmark))
        if key is None:
            raise KeyError(f"{model} on {benchmark} has no score; see frame()")
        return self.store.score(key)

    def _of_pair(self) -> dict[tuple[str, str], str]:
        planned = {
            (cell.job.model_identifier, cell.job.benchmark_identifier): cell.score for cell in self.plan if cell.score
        }
        return planned | {(done.model, done.benchmark): done.key for done in self.done if done.state != "failed"}

    def outcomes(self) -> list[Outcome]:
        """What came of the cells of the plan that have a score, failed, or cannot have one, with the whole scores."""
        came = {(done.model, done.benchmark): done for done in self.done}
        found = []
        for cell in self.plan:
            pair = cell.job.model_identifier, cell.job.benchmark_identifier
            done = came.get(pair)
            error = cell.reason if done is None else done.error
            key = cell.score if done is None else done.key
            if error:
                found.append(Outcome(*pair, None, RuntimeError(error), 0.0 if done is None else done.seconds))
            elif key is not None:
                score = self.store.score(key)
                seconds = score.provenance.seconds if done is None else done.seconds
                found.append(Outcome(*pair, score, None, seconds or 0.0))
        return found

    def __repr__(self) -> str:
        failed = sum(done.state == "failed" for done in self.done)
        return (
            f"Grid({len(self.plan)} cells: {len(self._of_pair())} with a score, {failed} failed, "
            f"{len(self.plan.of('blocked'))} that cannot be scored here; {self.store})"
        )


def score_grid(
    models: ModelLike | Iterable[ModelLike],
    benchmarks: BenchmarkLike | Iterable[BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    *,
    store: ResultStore | str | Path | None = None,
    again: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    isolated: bool = False,
    raw_values: bool = True,
    resampling: Resampling | Factor | Sequence[Factor] | None = None,
    null: Permutations | int | None = None,
    baselines: bool | str | Iterable[str] = False,
    progress: Callable[[Done], None] | None = None,
    **benchmark_arguments: object,
) -> Grid:
    """Score many models on many benchmarks, and keep every score as soon as it is there.

    What the store has already is not computed again, so that a run which was broken off goes on where it stopped. A
    pair that fails is kept with its error, and the others go on. Ctrl-C once lets the cells that are running finish.

    A network sees the same stimuli once for all benchmarks, and all layers, that need them; benchmarks on the same data
    follow each other and share them. With ``workers`` or a ``scheduler`` this is done by Dask distributed.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, e.g. ``{"memory": "2GB"}``.
        store: where scores are kept; that of ``$BSJAX_RESULTS`` or ``$BSJAX_HOME`` if not given.
        again: whether to compute what is there already, too.
        workers: how many processes of this machine; none but this one if not given.
        scheduler: address of a Dask scheduler that runs, whose workers are used. They must reach the store.
        isolated: whether each pair runs in a process of its own, with what its plugins require.
        raw_values: whether to keep what scores are aggregates of, and their values in draws.
        resampling, null, baselines: in which draws, after which permutations, and beside which models scores are
            computed as well, as for :func:`bsjax.score`.
        progress: called with what came of each cell.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an unknown identifier.
        ValueError: an object that is neither a model nor a benchmark, or an argument that no benchmark takes.
        ImportError: ``workers`` or ``scheduler`` without Dask distributed.
        ConnectionError: the scheduler cannot be reached.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     place = f"{folder}/results.db"
        ...     for _ in range(2):
        ...         grid = score_grid(["pixels", "gabor-v1"], ["Simulated.V1-cka", "Simulated.V1-rdm"], store=place)
        ...         print(len(grid.done), len(grid.frame()))
        4 4
        0 4
    """
    kept = store if isinstance(store, ResultStore) else ResultStore(store)
    planned = plan(
        models,
        benchmarks,
        extraction,
        store=kept,
        again=again,
        isolated=isolated,
        resampling=resampling,
        null=null,
        baselines=baselines,
        **benchmark_arguments,
    )
    return run_plan(
        planned,
        kept,
        again=again,
        workers=workers,
        scheduler=scheduler,
        isolated=isolated,
        raw_values=raw_values,
        progress=progress,
    )


def run_plan(
    planned: Plan,
    store: ResultStore,
    *,
    again: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    isolated: bool = False,
    raw_values: bool = True,
    progress: Callable[[Done], None] | None = None,
    before: Callable[[Job], None] | None = None,
    images: Callable[..., None] | None = None,
) -> Grid:
    """Run the cells of a plan that are to be computed; other arguments are those of :func:`score_grid`.

    Args:
        before: called with each job when it is begun, here or by a worker.
        images: called with the progress of each extraction in this process.
    """
    cells = planned.of("compute")
    if not cells:
        return Grid(planned, store, None, ())
    run = store.begin_run(len(cells), bsjax=__version__, workers=workers, scheduler=scheduler)
    runner = CellRunner(store.place, run, again, isolated, raw_values, images)
    done: list[Done] = []
    with _stopping() as stop:
        for one in _results(runner, cells, workers, scheduler, stop, before):
            done.append(one)
            if progress is not None:
                progress(one)
        store.end_run(run)
    return Grid(planned, store, run, tuple(done), stop.is_set())


def _results(
    runner: CellRunner,
    cells: list[Cell],
    workers: int | None,
    scheduler: str | None,
    stop: threading.Event,
    before: Callable[[Job], None] | None,
) -> Iterator[Done]:
    if workers is not None or scheduler is not None:
        from bsjax.scoring.cluster import run_on_cluster

        yield from run_on_cluster(runner, cells, workers, scheduler, stop, before)
        return
    for group in runner.groups(cells):
        if stop.is_set():
            return
        if before is not None:
            for cell in group:
                before(cell.job)
        yield from runner(group)


@contextmanager
def _interrupts(stop: threading.Event) -> Iterator[None]:
    def first(number: int, frame: Any) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)  # the second one ends it

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def _stopping() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets, where this is the thread that gets it."""
    stop = threading.Event()
    with _interrupts(stop) if threading.current_thread() is threading.main_thread() else nullcontext():
        yield stop
