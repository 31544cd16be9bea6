"""Overview of a store: the latest score of each pair, its runs, and single entries by key."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import func, select

from bsjax.results import tables
from bsjax.results.queries import are_last
from bsjax.results.store import ResultStore

# Internal columns, whose content other entries give in readable form.
_INSIDE = ("id", "document", "opened", "model_id", "benchmark_id")


def latest(
    store: ResultStore,
    models: str | Iterable[str] | None = None,
    benchmarks: str | Iterable[str] | None = None,
    *,
    run: str | None = None,
    until: str | datetime | None = None,
) -> pd.DataFrame:
    """The latest score or failure of each model and benchmark, at any time or of one run.

    Args:
        store: the store.
        models, benchmarks: identifiers or globs; by default all.
        run: only entries of this run: its name, or a unique beginning of it.
        until: only entries that had started by this time; a time without a zone is in UTC. Entries without a start
            time are always included.

    Returns:
        Rows of :func:`bsjax.results.queries.frame`, in order of insertion.

    Raises:
        KeyError: no such run.
        ValueError: ``until`` is not a time.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     for month in ("2026-01", "2026-02", "2026-03"):
        ...         key = store.add_failure("pixels", "Doe2026-pls", month, started=f"{month}-01T00:00:00Z")
        ...     latest(store, until="2026-02-14")["reason"].tolist()
        ['2026-02']
    """
    if run is None and until is None:
        return store.frame(models, benchmarks)
    found = store.frame(models, benchmarks, latest=False)
    kept = np.ones(len(found), bool)
    if run is not None:
        kept &= (found["run"] == store.found(run, tables.runs)["id"]).to_numpy(bool)
    # ISO 8601 text sorts by time.
    started = found["started"].fillna("")
    if until is not None:
        kept &= (started <= tables.moment(until).isoformat()).to_numpy(bool)
    found = found.loc[kept]
    return found.loc[are_last(found)].reset_index(drop=True)


def runs(store: ResultStore) -> pd.DataFrame:
    """The runs of a store and their progress, in the order in which they began.

    Returns:
        Columns ``run``, ``started``, ``ended`` (missing if no end was recorded), ``n_cells``, ``done`` (cells with a
        score), ``failed`` (cells that were tried and have no score), ``in_flight`` (cells that are leased, including
        those of killed processes until another run takes over), ``facts``.

    Example:
        >>> import tempfile
        >>> from bsjax.results.store import Task
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     run = store.begin_run(2)
        ...     key = store.add_failure("pixels", "Doe2026-pls", "no data", task=Task(run, "a"))
        ...     runs(store)[["n_cells", "done", "failed", "in_flight"]].values.tolist()
        [[2, 0, 1, 0]]
    """
    scores, failures, leases = tables.scores.c, tables.failures.c, tables.leases.c
    scored = select(scores.task).where(scores.run_id == failures.run_id, scores.task == failures.task)
    counted = {
        "done": select(scores.run_id, func.count()).where(scores.run_id.is_not(None)).group_by(scores.run_id),
        "failed": select(failures.run_id, func.count())
        .where(failures.run_id.is_not(None), ~scored.exists())
        .group_by(failures.run_id),
        "in_flight": select(leases.owner, func.count()).group_by(leases.owner),
    }
    of = tables.runs.c
    with store.reading() as connection:
        rows = connection.execute(select(of.id, of.started, of.ended, of.n_cells, of.facts).order_by(of.started)).all()
        numbers = {name: {run: n for run, n in connection.execute(asked)} for name, asked in counted.items()}
    found = pd.DataFrame(map(tuple, rows), columns=["run", "started", "ended", "n_cells", "facts"])
    for place, (name, of_runs) in enumerate(numbers.items(), 4):
        found.insert(place, name, [of_runs.get(run, 0) for run in found["run"]])
    return found


def entry(store: ResultStore, key: str) -> dict[str, Any]:
    """A score or a failure as stored in the tables, by its key.

    Args:
        store: the store.
        key: its key, or a unique beginning of it.

    Returns:
        For a score: ``key``, ``model``, ``benchmark``, ``state``, ``run_id``, ``task``, ``cell``, ``started``,
        ``seconds``, the numbers, ``interval``, ``model_digest`` and ``version``. For a failure, ``state`` is "failed",
        and there are ``kind``, ``error`` and ``log`` in addition to names, run, cell and times.

    Raises:
        KeyError: no key, or more than one, begins like this.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add_failure("pixels", "Doe2026-pls", FileNotFoundError("no data"))
        ...     found = entry(store, key[:8])
        >>> found["state"], found["kind"], found["error"]
        ('failed', 'FileNotFoundError', 'no data')
    """
    found = store.found(key, tables.scores, tables.failures)
    plain = {name: value for name, value in found.items() if name not in _INSIDE}
    if "kind" in found:
        return {"state": "failed", **plain}
    with store.reading() as connection:
        model, benchmark = (
            connection.execute(select(table).where(table.c.id == found[column])).mappings().one()
            for table, column in ((tables.models, "model_id"), (tables.benchmarks, "benchmark_id"))
        )
    names = {"model": model["identifier"], "benchmark": benchmark["identifier"]}
    return names | {"model_digest": model["digest"], "version": benchmark["version"]} | plain
