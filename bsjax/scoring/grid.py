"""``score_grid``: many models on many benchmarks, every score kept as soon as it is there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from bsjax.core.version import __version__
from bsjax.core.watching import stopping, watcher
from bsjax.results import ResultStore
from bsjax.results.store import store_at
from bsjax.scoring.display.bars import shown
from bsjax.scoring.display.scores import Scores
from bsjax.scoring.job import Outcome
from bsjax.scoring.planning import Cell, Plan, plan
from bsjax.scoring.runner import Runner
from bsjax.scoring.sinks import IntoStore

if TYPE_CHECKING:
    import pandas as pd

    from bsjax.labelled import Score
    from bsjax.scoring.beside import Beside
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
        """A row for each cell of the plan.

        Returns:
            Columns ``model``, ``benchmark``, ``version`` (of the benchmark), ``state`` ("scored", "undefined",
            "resolved", "failed", "blocked", or "missing" of what was not run any more), ``score``, ``error``, ``low``,
            ``high``, ``interval`` (the ends of its interval of 95 %, and what it is: "t over stimuli"), ``ceiling``,
            ``reason`` (why there is no score), ``seconds``, ``key`` (of the score or the failure in the store).
        """
        import pandas as pd

        names = {cell.names[0] for cell in self.plan}, {cell.names[1] for cell in self.plan}
        numbers = ["version", "score", "error", "low", "high", "ceiling", "seconds"]
        kept = self.store.frame(
            *names, latest=False, failures=False, columns=["key", "state", *numbers, "interval", "reason"]
        ).set_index("key")
        places = dict(zip(kept.index, kept.to_dict("records"), strict=True))
        rows = []
        for cell, done in self._came():
            key = cell.score if done is None else done.key
            row: dict[str, Any] = {
                "model": cell.names[0],
                "benchmark": cell.names[1],
                "reason": cell.reason,
                "key": key,
            }
            if key in places:
                row |= places[key]
            elif done is not None:
                row |= {"state": "failed", "reason": done.error_line, "seconds": done.seconds}
            else:
                row["state"] = "blocked" if cell.state == "blocked" else "missing"
            rows.append(row)
        of_scores = ["score", "error", "low", "high", "interval", "ceiling"]
        columns = ["model", "benchmark", "version", "state", *of_scores, "reason", "seconds", "key"]
        return pd.DataFrame(rows, columns=columns).astype(dict.fromkeys(numbers, float))

    def _repr_html_(self) -> str:
        from bsjax.scoring.display.heat_map import heat_map

        return heat_map(self.frame())

    def scores(self) -> Scores:
        """All scores of the grid, with all that they were made from."""
        return Scores({pair: self.store.score(key) for pair, key in self._keys().items()})

    def score(self, model: str, benchmark: str) -> Score:
        """The score of a pair, with all that it was made from.

        Raises:
            KeyError: it has none.
        """
        key = self._keys().get((model, benchmark))
        if key is None:
            raise KeyError(f"{model} on {benchmark} has no score; see frame()")
        return self.store.score(key)

    def _came(self) -> Iterator[tuple[Cell, Outcome | None]]:
        """The cells, with what came of those that were run."""
        came = {(done.model, done.benchmark): done for done in self.done}
        return ((cell, came.get(cell.names)) for cell in self.plan)

    def _keys(self) -> dict[tuple[str, str], str]:
        """Of the pairs that have a score its key."""
        found = {cell.names: cell.score for cell in self.plan}
        found |= {(done.model, done.benchmark): done.key for done in self.done if done.error is None}
        return {pair: key for pair, key in found.items() if key is not None}

    def outcomes(self) -> list[Outcome]:
        """What came of the cells of the plan that have a score, failed, or cannot have one, with the whole scores."""
        found = []
        for cell, done in self._came():
            if done is not None and done.error is not None:
                found.append(done)
            elif cell.reason:
                found.append(Outcome(*cell.names, error=RuntimeError(cell.reason), state="failed"))
            elif (key := cell.score if done is None else done.key) is not None:
                score = self.store.score(key)
                seconds = score.provenance.seconds if done is None else done.seconds
                found.append(
                    Outcome(*cell.names, score, None, seconds or 0.0, "found" if done is None else done.state, key)
                )
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
    """Score many models on many benchmarks, and keep every score as soon as it is there.

    What the store has already is not computed again, so that a run which was broken off goes on where it stopped; what
    another run on the same store is at is left to it. A pair that fails is kept with its error, and the others go on.
    Ctrl-C once lets the cells that are running finish.

    A network sees the same stimuli once for all benchmarks, and all layers, that need them; benchmarks on the same data
    follow each other and share them. With ``workers`` this is done by Dask distributed. In a block of
    :func:`bsjax.scoring.watched` somebody is told what goes on.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, e.g. ``{"memory": "2GB"}``.
        store: where scores are kept; that of ``$BSJAX_RESULTS`` or ``$BSJAX_HOME`` if not given.
        again: whether to compute what is there already, too.
        workers: how many processes of this machine; or the address of a Dask scheduler that runs, whose workers must
            reach the store. None but this process if not given.
        isolated: whether each pair runs in a process of its own, with what its plugins require.
        beside: what is computed beside each score, such as ``bsjax.Beside.of("stimuli", null=99)``.
        progress: True shows how far it is, False does not; by default it is shown on a terminal and in notebooks.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an unknown identifier.
        ValueError: an object that is neither a model nor a benchmark, or an argument that no benchmark takes.
        ImportError: ``workers`` without Dask distributed.
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
    kept = store_at(store)
    asked: Any = {"again": again, "isolated": isolated, "beside": beside, **benchmark_arguments}
    planned = plan(models, benchmarks, extraction, store=kept, **asked)
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
    """Run the cells of a plan that are to be computed; other arguments are those of :func:`score_grid`.

    Args:
        timeout: seconds after which a cell counts as failed, and its process is ended; for ``workers`` of this machine.

    Raises:
        ValueError: a timeout without such workers.

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
        raise ValueError("a cell that takes too long is ended with its process: give workers=1, or more, for a timeout")
    if not cells:
        return Grid(planned, store, None, ())
    done: list[Outcome] = []
    with shown(len(cells), progress), run_in(store, len(cells), workers) as run, stopping() as stop:
        runner = Runner(IntoStore(store.place, run, again))
        for one in runner(cells, stop) if workers is None else _on_cluster(runner, cells, workers, stop, timeout):
            done.append(replace(one, score=None))
            watcher().came(one)
    return Grid(planned, store, run, tuple(done), stop.asked)


@contextmanager
def run_in(store: ResultStore, n_cells: int, workers: int | str | None = None) -> Iterator[str]:
    """The name of a run in a store, which ends with the block."""
    run = store.begin_run(n_cells, bsjax=__version__, workers=workers)
    try:
        yield run
    finally:
        store.end_run(run)


def _on_cluster(runner: Runner[IntoStore], *how: Any) -> Iterator[Outcome]:
    from bsjax.scoring.cluster import run_on_cluster

    return run_on_cluster(runner, *how)
