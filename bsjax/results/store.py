"""The store of results: scores, failures and runs, in SQLite or PostgreSQL."""

from __future__ import annotations

import os
import platform
import re
import traceback
import uuid
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from sqlalchemy import Connection, Row, Table, delete, exists, func, insert, literal, select, update

from bsjax.benchmarks import benchmark_registry, benchmark_row
from bsjax.core.digests.plain import digest_of_json
from bsjax.core.discovery import one_line
from bsjax.core.identity.opened import Notes
from bsjax.core.registry import UnknownIdentifier
from bsjax.labelled import Score
from bsjax.labelled.plain_values import to_plain
from bsjax.results import tables
from bsjax.results.database import askable, explaining, for_reading, insert_new, opened, url_of
from bsjax.results.documents import document_of
from bsjax.results.reading import read_scores

if TYPE_CHECKING:
    import pandas as pd

_MOST_LOG = 100_000
# Every score stores the name of its run, so names are as short as uniqueness allows.
_DIGITS_OF_RUNS = 16
_HEXADECIMAL = re.compile("[0-9a-f]{1,32}")
_stores: weakref.WeakSet[ResultStore] = weakref.WeakSet()
# Connections inherited by a fork; closing them here would break them in the parent.
_inherited: list[Any] = []


@dataclass(frozen=True)
class Task:
    """Identifies the run, pair and cell of a score or failure.

    Attributes:
        run: name of the run, from :meth:`ResultStore.begin_run`.
        name: of the pair, unique within the run. The run's lease on it ends when a result is stored.
        cell: the digest of everything that determines the score.
    """

    run: str | None = None
    name: str | None = None
    cell: str | None = None

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns of the tables."""
        return {"run_id": self.run, "task": self.name, "cell": self.cell}


_OF_NO_RUN = Task()


class ResultStore:
    """A persistent store of scores. Scores are never changed: scoring again adds another.

    Several processes may write at the same time, and each sees what the others have written.

    Args:
        place: a URL (``postgresql://...``, ``sqlite:///...``), or the path of a SQLite file, which is created if it
            does not exist; by default ``$BSJAX_RESULTS``, else ``results.db`` in ``$BSJAX_HOME``.
        read_only: whether nothing will be written.

    Raises:
        FileNotFoundError: there is no store to read.
        ValueError: it is not a store of results, or an earlier or later bsjax has written it.
        OSError, PermissionError, ConnectionError, TimeoutError: it cannot be read or written.

    Example:
        >>> import tempfile
        >>> score = Score(0.5, error=0.1, provenance={"model": "pixels", "benchmark": "Doe2026-pls"})
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(Path(folder) / "results.db") as store:
        ...     key = store.add(score)
        ...     store.score(key) == score, store.frame()["score"].tolist()
        (True, [0.5])
    """

    def __init__(self, place: str | Path | None = None, *, read_only: bool = False) -> None:
        self.url = url_of(place)
        self._read_only = read_only
        self._engine = opened(self.url, read_only)
        weakref.finalize(self, self._engine.dispose)
        _stores.add(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ResultStore({self.url.render_as_string()!r})"

    @property
    def place(self) -> str:
        """Its path or full URL, including a password, with which another process can open it."""
        if self.url.get_backend_name() == "sqlite":
            return str(self.url.database)
        return self.url.render_as_string(hide_password=False)

    def close(self) -> None:
        """Close the connections; a later call opens them again."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees a consistent snapshot of the store."""
        with explaining(self.url, self._read_only), for_reading(self._engine).connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection whose changes are committed together at the end, or not at all."""
        engine = self._engine.execution_options(writes=True)
        with explaining(self.url, self._read_only), engine.begin() as connection:
            yield connection

    def add(
        self,
        score: Score,
        *,
        model: str | None = None,
        benchmark: str | None = None,
        task: Task = _OF_NO_RUN,
        facts: Mapping[str, Any] | None = None,
        memory: int | None = None,
        opened: Notes | None = None,
        raw_values: bool = True,
    ) -> str:
        """Store a score.

        Args:
            score: the score.
            model, benchmark: names under which it is stored; by default those of its provenance, to which they are
                added if it lacks them.
            task: its run, pair and cell; a run stores only the first score of a task.
            facts: properties of the model in addition to name and digest; merged with those already stored.
            memory: peak memory of the process during scoring, in bytes.
            opened: files that were read for it, see :mod:`bsjax.core.identity.opened`.
            raw_values: whether to store unaggregated values and values in draws; the interval is stored in any case.
                Values that other scores share, such as those of a ceiling, are stored once. Values that were left out
                are added if the same score is added again with them.

        Returns:
            Its key, the digest of its content, so that a score is not stored twice. If the run already has a score of
            the task, the key of that score.

        Raises:
            ValueError: the score does not name its model or benchmark, it cannot be written, or there is no such run.
            OSError, PermissionError, ConnectionError, TimeoutError: the store cannot be written.
        """
        score, of_model, of_benchmark = _of_what(score, model, benchmark)
        made, known = document_of(score), to_plain(dict(facts or {}), "the facts of the model")
        row = {"key": made.key, **task.columns, "memory": memory, "opened": opened}
        row |= {**columns_of(score), "document": made.content}
        # Sorted, so that concurrent writers cannot deadlock.
        raw = {digest: made.raw[digest] for digest in sorted(made.raw)} if raw_values else {}
        with self.writing() as connection:
            row["model_id"] = _id_of(connection, tables.models, of_model, lambda: {"facts": known})
            row["benchmark_id"] = _id_of(connection, tables.benchmarks, of_benchmark, lambda: _about_benchmark(score))
            if known:
                _add_facts(connection, row["model_id"], known)
            of = tables.raw_values.c.digest
            there = set(connection.execute(select(of).where(of.in_(raw))).scalars()) if raw else ()
            new = [{"digest": each, "content": raw[each]} for each in raw if each not in there]
            insert_new(connection, tables.raw_values, new)
            return _kept(connection, tables.scores, row)

    def confirm(self, keys: Iterable[str]) -> None:
        """Make stored scores that are valid now the latest of their pairs; a store that cannot be written stays.

        A score that is followed by a failure, or by a score of the same task with other data, is added once more, with
        the present as its start. Later versions of the benchmark still count before it, as do scores with other draws.
        """
        model, benchmark, failure = tables.models.c, tables.benchmarks.c, tables.failures.c
        other, its_model, its_benchmark = (table.alias() for table in (tables.scores, tables.models, tables.benchmarks))
        started = func.coalesce(tables.scores.c.started, "")
        of_pair = (
            (other.c.model_id == its_model.c.id)
            & (other.c.benchmark_id == its_benchmark.c.id)
            & (its_model.c.identifier == model.identifier)
            & (its_benchmark.c.identifier == benchmark.identifier)
        )
        names = (failure.model == model.identifier) & (failure.benchmark == benchmark.identifier)
        same_task = other.c.task.is_not_distinct_from(tables.scores.c.task)
        of_version = of_pair & (its_benchmark.c.version == benchmark.version) & same_task
        followed = exists().where(names, failure.started > started) | exists().where(
            of_version, other.c.started > started
        )
        replaced = exists().where(of_pair, its_benchmark.c.version > benchmark.version)
        asked = select(tables.scores).join(tables.models).join(tables.benchmarks).where(followed, ~replaced)
        with self.reading() as connection:
            rows = [
                row
                for part in askable(keys)
                for row in connection.execute(asked.where(tables.scores.c.key.in_(part))).mappings()
            ]
        for row in rows:
            score = self.score(row["key"])
            now = replace(score, provenance=replace(score.provenance, start=_now()))
            with suppress(PermissionError):
                self.add(now, task=Task(name=row["task"], cell=row["cell"]), memory=row["memory"], opened=row["opened"])

    def add_failure(
        self,
        model: str,
        benchmark: str,
        error: BaseException | str,
        *,
        log: str = "",
        task: Task = _OF_NO_RUN,
        started: str | None = None,
        seconds: float | None = None,
    ) -> str:
        """Store that scoring a pair failed, and why.

        Args:
            model, benchmark: identifiers.
            error: the exception, or a message.
            log: further text; by default the traceback of an exception.
            task: its run, pair and cell.
            started: ISO 8601, in UTC; by default now.
            seconds: time until it failed.

        Returns:
            The key of the failure; if the run already has a failure of the task, the key of that one.
        """
        kind, line = ("", error) if isinstance(error, str) else (type(error).__name__, one_line(error))
        if not log and isinstance(error, BaseException):
            log = "".join(traceback.format_exception(error))
        row = {"model": model, "benchmark": benchmark, **task.columns, "kind": kind}
        row |= {"error": " ".join(line.split()), "log": log[-_MOST_LOG:], "seconds": _number(seconds)}
        row["started"] = _in_utc(started) or _now()
        row["key"] = digest_of_json(row)
        with self.writing() as connection:
            return _kept(connection, tables.failures, row)

    def remove(self, *keys: str) -> None:
        """Remove scores and failures, all or none of them; the previous score becomes the latest again.

        Unaggregated values stay, because other scores may share them.

        Args:
            *keys: for each its key, or a unique beginning of it.

        Raises:
            KeyError: no key, or more than one, begins like this.
            OSError, ConnectionError, TimeoutError: the store cannot be written.

        Example:
            >>> import tempfile
            >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
            ...     store.remove(store.add_failure("pixels", "Doe2026-pls", "no data"))
            ...     len(store.frame())
            0
        """
        whole = [self.found(key, tables.scores, tables.failures)["key"] for key in keys]
        with self.writing() as connection:
            delete_results(connection, whole)

    def begin_run(self, n_cells: int, **facts: Any) -> str:
        """Record the start of a run; returns its name.

        Args:
            n_cells: number of cells.
            **facts: properties of the run that JSON can hold.
        """
        run = uuid.uuid4().hex[:_DIGITS_OF_RUNS]
        known = {"machine": platform.node(), "python": platform.python_version(), **facts}
        row = {"id": run, "started": _now(), "n_cells": n_cells, "facts": to_plain(known, "the facts of the run")}
        with self.writing() as connection:
            connection.execute(insert(tables.runs).values(row))
        return run

    def end_run(self, run: str) -> None:
        """Record the end of a run; its workers finish their current cells and start no others."""
        with self.writing() as connection:
            connection.execute(update(tables.runs).where(tables.runs.c.id == run).values(ended=_now()))

    def has_ended(self, run: str) -> bool:
        """Whether :meth:`end_run` was called."""
        of = tables.runs.c
        with self.reading() as connection:
            return connection.execute(select(of.ended).where(of.id == run)).scalar() is not None

    def tasks_done(self, run: str, tasks: Iterable[str]) -> dict[str, Row[Any]]:
        """The tasks that the run has finished, each with ``key``, ``error`` ("" for a score) and ``seconds``."""
        found: dict[str, Row[Any]] = {}
        scores, failures = tables.scores.c, tables.failures.c
        with self.reading() as connection:
            for part in askable(tasks):
                for of, error in ((failures, failures.error), (scores, literal("").label("error"))):
                    asked = select(of.task, of.key, error, of.seconds).where(of.run_id == run, of.task.in_(part))
                    found |= {row.task: row for row in connection.execute(asked)}
        return found

    def scored(self, cells: Iterable[str]) -> dict[str, list[tuple[str, Notes | None]]]:
        """The cells that have scores, each with the key and the files read of every score, latest first."""
        found: dict[str, list[tuple[str, Notes | None]]] = {}
        of = tables.scores.c
        with self.reading() as connection:
            for part in askable(cells):
                asked = select(of.cell, of.key, of.opened).where(of.cell.in_(part)).order_by(of.id.desc())
                for cell, key, opened in connection.execute(asked):
                    found.setdefault(cell, []).append((key, opened))
        return found

    def score(self, key: str, raw_values: bool | Literal["draws"] = True) -> Score:
        """Read a score.

        Args:
            key: its key, or a unique beginning of it.
            raw_values: whether to read unaggregated values and values in draws, if they were stored. Without draws,
                the interval is based on the standard error.

        Raises:
            KeyError: no key, or more than one, begins like this.
            ValueError: it is damaged.
            OSError, ConnectionError, TimeoutError: the store cannot be read.
        """
        [(_, score)] = read_scores(self, [self.found(key, tables.scores)["key"]], raw_values)
        return score

    def found(self, beginning: str, *of: Table) -> dict[str, Any]:
        """The table row whose key, or name of a run, begins like this.

        Raises:
            KeyError: there is none, or more than one.
        """
        rows: list[dict[str, Any]] = []
        with self.reading() as connection:
            for table in of:
                name = table.c["key" if "key" in table.c else "id"]
                # "g" sorts after every hexadecimal digit.
                is_digits = _HEXADECIMAL.fullmatch(beginning)
                asked = (name >= beginning) & (name < f"{beginning}g") if is_digits else literal(False)
                rows += map(dict, connection.execute(select(table).where(asked).limit(2)).mappings())
        if len(rows) != 1:
            what = " or ".join(table.name.removesuffix("s") for table in of)
            how_many, where = "more than one" if rows else "no", self.url.render_as_string()
            command = "submissions" if tables.submissions in of else "results"
            raise UnknownIdentifier(
                f"{how_many} {what} has a key that begins with {beginning!r} in {where}; see `bsjax {command} ls`"
            )
        return rows[0]

    def frame(self, *args: Any, **kwargs: Any) -> pd.DataFrame:
        """A table of scores, see :func:`bsjax.results.queries.frame`."""
        from bsjax.results.queries import frame

        return frame(self, *args, **kwargs)


def store_at(place: ResultStore | str | Path | Literal[True] | None) -> ResultStore:
    """Convert a ``store`` argument to a store: a store, its location, or True for the default.

    Raises:
        ValueError: no store is given, or something else.
    """
    if place is None or place is False:
        raise ValueError("scores are kept in a store here: give its place, or use bsjax.score(..., store=None)")
    if place is not True and not isinstance(place, ResultStore | str | Path):
        raise ValueError(f"store must be a ResultStore, or the path or URL of one, got {place!r}")
    return place if isinstance(place, ResultStore) else ResultStore(None if place is True else place)


def delete_results(connection: Connection, keys: Iterable[str]) -> None:
    """Delete the scores and failures of these keys."""
    for part in askable(keys):
        for table in (tables.scores, tables.failures):
            connection.execute(delete(table).where(table.c.key.in_(part)))


def _id_of(
    connection: Connection, table: Table, unique: Mapping[str, Any], more: Callable[[], Mapping[str, Any]]
) -> int:
    """The id of a model or benchmark, which is inserted if it is new."""
    asked = select(table.c.id).where(*(table.c[name] == value for name, value in unique.items()))
    if (found := connection.execute(asked).scalar()) is None:
        insert_new(connection, table, [{**unique, **more()}])
        found = connection.execute(asked).scalar_one()
    return found


def _add_facts(connection: Connection, model: int, facts: Mapping[str, Any]) -> None:
    of = tables.models.c
    known = connection.execute(select(of.facts).where(of.id == model)).scalar_one()
    if known | facts != known:
        connection.execute(update(tables.models).where(of.id == model).values(facts=known | facts))


def _kept(connection: Connection, table: Table, row: Mapping[str, Any]) -> str:
    """Insert a score or failure; returns its key, or that of the existing row."""
    run, task, key = row["run_id"], row["task"], row["key"]
    if run is not None and task is not None:
        of = tables.leases.c
        connection.execute(delete(tables.leases).where(of.key == task, of.owner == run))
    if insert_new(connection, table, [row]):
        return key
    of = table.c
    if row["cell"] is not None:  # let grids find a score that was stored outside of one, or from other files
        known = {name: row[name] for name in ("cell", "opened") if name in row}
        connection.execute(update(table).where(of.key == key).values(known))
    if connection.execute(select(of.id).where(of.key == key)).scalar() is not None:
        return key
    return connection.execute(select(of.key).where(of.run_id == run, of.task == task)).scalar_one()


def _leave_inherited() -> None:
    """In a forked process, drop inherited connections."""
    for store in _stores:
        _inherited.append(store._engine.pool)
        store._engine.dispose(close=False)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_inherited)


def _of_what(score: Score, model: str | None, benchmark: str | None) -> tuple[Score, dict[str, Any], dict[str, Any]]:
    """The score with its names filled in, and the identifying columns of its model and benchmark."""
    origin, given = score.provenance, {"model": model, "benchmark": benchmark}
    lacking = {name: value for name, value in given.items() if not getattr(origin, name)}
    for name, value in lacking.items():
        if not value:
            raise ValueError(f"the score does not say of which {name} it is: give {name}=...")
    if lacking:
        score = replace(score, provenance=origin.with_entries(**lacking))
    of_model = {"identifier": model or origin.model, "digest": origin.model_digest or ""}
    return score, of_model, {"identifier": benchmark or origin.benchmark, "version": origin.benchmark_version or 0}


def columns_of(score: Score) -> dict[str, Any]:
    """The columns of the scores table; the interval is left out if its ends are unknown."""
    origin = score.provenance
    state = "resolved" if score.sizes else "undefined" if np.isnan(float(score)) else "scored"
    parts = (
        ("score", "error", score),
        ("raw", "raw_error", score.unceiled),
        ("ceiling", "ceiling_error", score.ceiling),
    )
    row: dict[str, Any] = {"state": state, "low": None, "high": None, "interval": None}
    for value, error, part in parts:
        row[value], row[error] = (None, None) if part is None else (_number(part.value), _number(part.error))
    ends = None if score.sampling_uncertainty is None else score.interval()
    if ends is not None and not np.isnan(ends.low).all():
        # Without the level, which is always 95 %.
        row |= {"low": _number(ends.low), "high": _number(ends.high), "interval": ends.words.partition(" % ")[2]}
    return row | {
        "n_units": score.n_units,
        "started": _in_utc(origin.start),
        "seconds": _number(origin.seconds),
        "reason": origin.reason if state == "undefined" else None,
    }


def _about_benchmark(score: Score) -> dict[str, Any]:
    made = score.provenance
    facts: dict[str, Any] = {}
    if made.benchmark in benchmark_registry:
        row = benchmark_row(str(made.benchmark))
        facts = {name: to_plain(value, name) for name, value in vars(row).items() if value not in ("", None, (), {})}
    return {"parent": made.parent or facts.get("parent") or "", "facts": facts}


def _number(value: Any) -> float | None:
    """A single number that is not NaN; None otherwise, also for a score resolved in time."""
    return float(value) if value is not None and np.ndim(value) == 0 and not np.isnan(float(value)) else None


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _in_utc(said: str | None) -> str | None:
    """A time in the format of the tables; None for invalid text."""
    try:
        return tables.moment(said or "").isoformat()
    except ValueError:
        return None
