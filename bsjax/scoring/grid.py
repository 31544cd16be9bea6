"""``score_grid``: many models on many benchmarks, with every score stored as soon as it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bsjax.core.version import __version__
from bsjax.core.watching import stopping, watcher
from bsjax.scoring.display.bars import shown
from bsjax.scoring.display.scores import Scores
from bsjax.scoring.job import Outcome
from bsjax.scoring.planning import Cell, Plan, plan

if TYPE_CHECKING:
    import pandas as pd

    from bsjax.labelled import Score
    from bsjax.results import ResultStore
    from bsjax.scoring.job import Beside
    from bsjax.scoring.resolution import BenchmarkLike, ModelLike


@dataclass(frozen=True)
class Grid:
    """The result of a grid. The scores are in the store.

    Attributes:
        plan: the planned cells.
        store: where the scores are.
        run: name of the run in the store; None if nothing had to be computed.
        done: outcomes of the cells that were run, in the order in which they finished.
        interrupted: whether the run was stopped before all cells were run.

    Example:
        >>> import tempfile
        >>> import bsjax
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     grid = bsjax.score_grid("pixels", "Simulated.V1-cka", store=f"{folder}/results.db")
        ...     grid.frame()["state"].tolist(), grid.interrupted
        (['scored'], False)
    """

    plan: Plan
    store: ResultStore
    run: str | None
    done: tuple[Outcome, ...]
    interrupted: bool = False

    def frame(self) -> pd.DataFrame:
        """A table with one row for each cell of the plan.

        Returns:
            Columns ``model``, ``benchmark``, ``version`` (of the benchmark), ``state`` ("scored", "undefined",
            "resolved", "failed", "blocked", or "missing" for cells that were not run), ``score``, ``error``, ``low``,
            ``high``, ``interval`` (ends and kind of the 95 % interval: "t over stimuli"), ``ceiling``, ``reason`` (why
            there is no score), ``seconds``, ``key`` (of the score or failure in the store).
        """
        import pandas as pd

        names = {cell.names[0] for cell in self.plan}, {cell.names[1] for cell in self.plan}
        numbers = ["version", "score", "error", "low", "high", "ceiling", "seconds"]
        columns = ["key", "state", *numbers, "interval", "reason"]
        kept = self.store.frame(*names, latest=False, failures=False, columns=columns).set_index("key")
        places = dict(zip(kept.index, kept.to_dict("records"), strict=True))
        rows = []
        for cell, done in self._came():
            if done is not None and done.error is not None:
                told = {"state": "failed", "reason": done.error_line, "seconds": done.seconds}
            else:
                told = {"state": "blocked" if cell.state == "blocked" else "missing", "reason": cell.reason}
            key = cell.score if done is None else done.key
            row = {"model": cell.names[0], "benchmark": cell.names[1], "key": key}
            rows.append(row | places.get(key, told))
        of_scores = ["score", "error", "low", "high", "interval", "ceiling"]
        columns = ["model", "benchmark", "version", "state", *of_scores, "reason", "seconds", "key"]
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))

    def _repr_html_(self) -> str:
        from bsjax.scoring.display.heat_map import heat_map

        return heat_map(self.frame())

    def scores(self, raw_values: bool | Literal["draws"] = True) -> Scores:
        """All scores of the grid.

        Args:
            raw_values: whether with their unaggregated values, see :meth:`bsjax.results.ResultStore.score`.
        """
        from bsjax.results.reading import read_scores

        keys = self._keys()
        scores = dict(read_scores(self.store, keys.values(), raw_values))
        return Scores({pair: scores[key] for pair, key in keys.items()})

    def score(self, model: str, benchmark: str) -> Score:
        """The score of a pair, with its unaggregated values.

        Raises:
            KeyError: the pair has no score.
        """
        key = self._keys().get((model, benchmark))
        if key is None:
            raise KeyError(f"{model} on {benchmark} has no score; see frame()")
        return self.store.score(key)

    def _came(self) -> Iterator[tuple[Cell, Outcome | None]]:
        """The cells, each with its outcome if it was run."""
        came = {(done.model, done.benchmark): done for done in self.done}
        return ((cell, came.get(cell.names)) for cell in self.plan)

    def _keys(self) -> dict[tuple[str, str], str]:
        """The key of the score of each pair that has one."""
        found = {cell.names: cell.score for cell in self.plan}
        found |= {(done.model, done.benchmark): done.key for done in self.done if done.error is None}
        return {pair: key for pair, key in found.items() if key is not None}

    def outcomes(self, raw_values: bool | Literal["draws"] = True) -> list[Outcome]:
        """Outcomes of the planned cells that are scored, failed or blocked, with their scores.

        Args:
            raw_values: what is read of the scores, see :meth:`bsjax.results.ResultStore.score`.
        """
        found, scores, keys = [], self.scores(raw_values), self._keys()
        for cell, done in self._came():
            if cell.names in keys:
                score = scores[cell.names]
                known = done or Outcome(*cell.names, seconds=score.provenance.seconds or 0.0, state="found")
                found.append(replace(known, score=score, key=keys[cell.names]))
            elif done is not None:
                found.append(done)
            elif cell.reason:
                found.append(Outcome(*cell.names, error=RuntimeError(cell.reason), state="failed"))
        return found

    def __repr__(self) -> str:
        failed = sum(done.error is not None for done in self.done)
        return (
            f"Grid({len(self.plan)} cells: {len(self._keys())} with a score, {failed} failed, "
            f"{len(self.plan.of('blocked'))} that cannot be scored here; {self.store})"
        )


def score_grid(
    models: ModelLike | Iterable[ModelLike],
    benchmarks: BenchmarkLike | Iterable[BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    *,
    store: ResultStore | str | Path | Literal[True] = True,
    again: bool = False,
    workers: int | str | None = None,
    isolated: bool = False,
    beside: Beside | None = None,
    progress: bool | None = None,
    **benchmark_arguments: object,
) -> Grid:
    """Score many models on many benchmarks, and store every score as soon as it is computed.

    Scores that the store already has are not recomputed, so an interrupted run continues where it stopped. Cells that
    another run on the same store is computing are left to it. If a pair fails, its error is stored and the others
    continue. Pressing Ctrl-C once lets the running cells finish.

    A network processes the same stimuli once for all benchmarks and layers that need them. Benchmarks on the same data
    follow each other and share them. With ``workers``, Dask distributed runs the cells. Within a
    :func:`bsjax.scoring.watched` block, a watcher is notified of the progress.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, e.g. ``{"memory": "2GB"}``.
        store: where scores are stored; by default the store named by ``$BSJAX_RESULTS``, else that in ``$BSJAX_HOME``.
        again: whether to recompute scores that the store has.
        workers: number of processes on this machine; or the address of a running Dask scheduler, whose workers must
            reach the store. By default cells run in this process.
        isolated: whether each pair runs in a separate process, with the packages that its plugins require.
        beside: analyses in addition to each score, such as ``bsjax.Beside.of("stimuli", null=99)``.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an identifier is unknown.
        ValueError: an object is neither a model nor a benchmark, or no benchmark takes an argument.
        ImportError: ``workers`` is given without Dask distributed.
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
    from bsjax.results.store import store_at

    kept = store_at(store)
    asked: Any = {"again": again, "isolated": isolated, "beside": beside, **benchmark_arguments}
    planned = plan(models, benchmarks, extraction, store=kept, predict=False, **asked)
    return run_plan(planned, kept, again=again, workers=workers, progress=progress)


def run_plan(
    planned: Plan,
    store: ResultStore,
    *,
    again: bool = False,
    workers: int | str | None = None,
    timeout: float | None = None,
    progress: bool | None = None,
) -> Grid:
    """Run the cells of a plan that are to be computed.

    Args:
        planned, store, again, workers, progress: as for :func:`score_grid`.
        timeout: seconds after which a cell fails and its process is killed; requires ``workers`` on this machine.

    Raises:
        ValueError: a timeout is given without such workers.

    Example:
        >>> import tempfile
        >>> import bsjax
        >>> with tempfile.TemporaryDirectory() as folder, bsjax.results.open(f"{folder}/results.db") as store:
        ...     planned = bsjax.plan("pixels", "Simulated.V1-cka", store=store)
        ...     [outcome.state for outcome in run_plan(planned, store).done]
        ['scored']
    """
    cells = planned.of("compute")
    if timeout is not None and not isinstance(workers, int):
        raise ValueError(
            "timeout needs worker processes, since it stops a score by ending its process: give workers=1 or more"
        )
    store.confirm(cell.score for cell in planned if cell.score is not None)
    if not cells:
        return Grid(planned, store, None, ())
    from bsjax.scoring.runner import Runner
    from bsjax.scoring.sinks import IntoStore

    done: list[Outcome] = []
    with shown(len(cells), progress), run_in(store, len(cells), workers) as run, stopping() as stop:
        sink = IntoStore(store.place, run, again)
        for one in Runner(sink)(cells, stop) if workers is None else _on_cluster(sink, cells, workers, stop, timeout):
            done.append(one)
            watcher().came(one)
    return Grid(planned, store, run, tuple(done), stop.asked)


@contextmanager
def run_in(store: ResultStore, n_cells: int, workers: int | str | None = None) -> Iterator[str]:
    """Begin a run in a store, and end it with the block; yields its name."""
    run = store.begin_run(n_cells, bsjax=__version__, workers=workers)
    try:
        yield run
    finally:
        store.end_run(run)


def _on_cluster(*how: Any) -> Iterator[Outcome]:
    from bsjax.scoring.cluster import run_on_cluster

    return run_on_cluster(*how)
