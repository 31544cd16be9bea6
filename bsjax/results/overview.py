"""A store at a glance: the last score of each pair, at any time or of one run; its runs; one entry by its key."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Connection, Table, func, select

from bsjax.core.messages import some
from bsjax.results import tables
from bsjax.results.queries import are_last
from bsjax.results.store import ResultStore, UnknownKey

# What nobody reads of a row: it is there in other words.
_INSIDE = ("id", "document", "model_id", "benchmark_id")


def latest(
    store: ResultStore,
    models: str | Iterable[str] | None = None,
    benchmarks: str | Iterable[str] | None = None,
    *,
    run: str | None = None,
    until: str | datetime | None = None,
) -> pd.DataFrame:
    """What a store has, or had, last of each model and benchmark, as :meth:`ResultStore.frame` says it.

    Args:
        store: the store.
        models, benchmarks: identifiers or globs; all if not given.
        run: only what is of this run: its name, or as much of its beginning as no other has.
        until: only what was begun until then; a time without a zone is one in UTC. What does not say when it was begun
            has always been there.

    Returns:
        Rows of :func:`bsjax.results.queries.frame`, in the order in which they came into the store.

    Raises:
        KeyError: no such run.
        ValueError: ``until`` is no time.

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
        kept &= (found["run"] == run_named(store, run)).to_numpy(bool)
    # Text, of which the later is the greater.
    started = found["started"].fillna("")
    if until is not None:
        kept &= (started <= moment(until).isoformat()).to_numpy(bool)
    found = found.loc[kept]
    return found.loc[are_last(found)].reset_index(drop=True)


def runs(store: ResultStore) -> pd.DataFrame:
    """The runs of a store, and how far each is, in the order in which they were begun.

    Returns:
        Columns ``run``, ``started``, ``ended`` (missing where nobody has said so), ``n_cells``, ``done`` (cells with a
        score), ``failed`` (cells without one that were tried), ``in_flight`` (cells that a process is at, or was at
        when it was killed), ``facts``.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     run = store.begin_run(2)
        ...     key = store.add_failure("pixels", "Doe2026-pls", "no data", run=run, task="a")
        ...     runs(store)[["n_cells", "done", "failed", "in_flight"]].values.tolist()
        [[2, 0, 1, 0]]
    """
    scores, failures, flying = tables.scores.c, tables.failures.c, tables.in_flight.c
    scored = select(scores.task).where(scores.run_id == failures.run_id, scores.task == failures.task)
    counted = {
        "done": select(scores.run_id, func.count()).where(scores.run_id.is_not(None)).group_by(scores.run_id),
        "failed": select(failures.run_id, func.count())
        .where(failures.run_id.is_not(None), ~scored.exists())
        .group_by(failures.run_id),
        "in_flight": select(flying.run_id, func.count()).group_by(flying.run_id),
    }
    of = tables.runs.c
    with store.reading() as connection:
        rows = connection.execute(select(of.id, of.started, of.ended, of.n_cells, of.facts).order_by(of.started)).all()
        numbers = {name: {run: n for run, n in connection.execute(asked)} for name, asked in counted.items()}
    listed = [
        (run, started, ended, n_cells, *(of_runs.get(run, 0) for of_runs in numbers.values()), facts)
        for run, started, ended, n_cells, facts in rows
    ]
    return pd.DataFrame.from_records(listed, columns=["run", "started", "ended", "n_cells", *counted, "facts"])


def entry(store: ResultStore, key: str) -> dict[str, Any]:
    """A score or a failure as the tables have it, by its key.

    Args:
        store: the store.
        key: its key, or as many of its first digits as no other has.

    Returns:
        Of a score: ``key``, ``model``, ``benchmark``, ``state``, ``run_id``, ``task``, ``cell``, ``started``,
        ``seconds``, the numbers, ``interval``, ``model_digest`` and ``version``. Of a failure ``state`` is "failed",
        and beside names, run, cell and times there are ``kind``, ``error`` and ``log``.

    Raises:
        KeyError: there is none, or several begin so.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add_failure("pixels", "Doe2026-pls", FileNotFoundError("no data"))
        ...     found = entry(store, key[:8])
        >>> found["state"], found["kind"], found["error"]
        ('failed', 'FileNotFoundError', 'no data')
    """
    with store.reading() as connection:
        scores, failures = (_beginning(connection, table, "key", key) for table in (tables.scores, tables.failures))
        found = _only([*scores, *failures], "score or failure", "key", key, store)
        plain = {name: value for name, value in found.items() if name not in _INSIDE}
        if failures:
            return {"state": "failed", **plain}
        model, benchmark = (
            connection.execute(select(table).where(table.c.id == found[column])).mappings().one()
            for table, column in ((tables.models, "model_id"), (tables.benchmarks, "benchmark_id"))
        )
    names = {"model": model["identifier"], "benchmark": benchmark["identifier"]}
    names |= {"model_digest": model["digest"], "version": benchmark["version"]}
    return names | plain


def run_named(store: ResultStore, beginning: str) -> str:
    """The name of a run, of which only the beginning is given.

    Raises:
        KeyError: there is none, or several begin so.
    """
    with store.reading() as connection:
        found = _beginning(connection, tables.runs, "id", beginning)
    return _only(found, "run", "name", beginning, store)["id"]


def moment(time: str | datetime, local: bool = False) -> datetime:
    """A time, in UTC.

    Args:
        time: the time, also as text in ISO 8601.
        local: whether one without a zone is in that of this machine, and not in UTC.

    Raises:
        ValueError: it is none.

    Example:
        >>> moment("2026-02-14").isoformat(), moment("2026-02-14T12:00+02:00").isoformat()
        ('2026-02-14T00:00:00+00:00', '2026-02-14T10:00:00+00:00')
    """
    try:
        found = datetime.fromisoformat(time) if isinstance(time, str) else time
        return (found.replace(tzinfo=UTC) if found.tzinfo is None and not local else found).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"expected a time such as 2026-02-14 or 2026-02-14T12:30+01:00, got {time!r}") from error


def _beginning(connection: Connection, table: Table, column: str, text: str) -> list[dict[str, Any]]:
    """At most two rows that begin so."""
    asked = select(table).where(table.c[column].startswith(text, autoescape=True)).limit(2)
    rows = [dict(row) for row in connection.execute(asked).mappings()]
    # A name that is another's beginning can be given all the same.
    return [row for row in rows if row[column] == text] or rows


def _only(found: list[dict[str, Any]], what: str, named: str, text: str, store: ResultStore) -> dict[str, Any]:
    if len(found) == 1 and text:
        return found[0]
    if not found:
        raise UnknownKey(f"no {what} has the {named} {text!r} in {store.url.render_as_string()}")
    names = [row.get("key", row["id"]) for row in found]
    raise UnknownKey(
        f"more than one {what} has a {named} that begins with {text!r}, e.g. {some(names)}: give more of it"
    )
