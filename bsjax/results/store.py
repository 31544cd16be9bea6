"""The store of results: scores, failures and runs, in SQLite or PostgreSQL."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import traceback
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sqlalchemy import Connection, Engine, Table, delete, insert, literal, select, union_all, update

from bsjax.benchmarks import benchmark_registry, benchmark_row
from bsjax.core.discovery import one_line
from bsjax.labelled import Score
from bsjax.labelled.plain_values import to_plain
from bsjax.results import tables
from bsjax.results.database import askable, explaining, for_reading, for_writing, inserting, opened, url_of
from bsjax.results.documents import document_of, packed
from bsjax.results.reading import Parts, read_score

if TYPE_CHECKING:
    import pandas as pd

_MOST_LOG = 100_000
# Each score has the name of its run, so that it is not longer than it takes to be the only one.
_DIGITS_OF_RUNS = 16
_KEY = re.compile("[0-9a-f]{1,32}")
# Connections of a process that this one was forked from: closing them here would be felt there.
_inherited: list[Any] = []


class ResultStore:
    """Scores that last. One is never changed: scoring again adds another.

    Several processes may write at the same time, and each sees what the others have written.

    Args:
        place: a URL (``postgresql://...``, ``sqlite:///...``), or the path of a SQLite file, which is made if it is not
            there; by default ``$BSJAX_RESULTS``, or ``results.db`` in ``$BSJAX_HOME``.
        read_only: whether nothing is to be written.

    Raises:
        FileNotFoundError: there is none to read.
        ValueError: it is no store of results, or one that a later bsjax has written.
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
        self._process = os.getpid()
        weakref.finalize(self, _let_go, self._engine, self._process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *of: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ResultStore({self.url.render_as_string()!r})"

    @property
    def place(self) -> str:
        """Its path, or its URL in full, by which another process opens it: with the password, where there is one."""
        if self.url.get_backend_name() == "sqlite":
            return str(self.url.database)
        return self.url.render_as_string(hide_password=False)

    def close(self) -> None:
        """Let go of the database; a further call opens it again."""
        self._engine.dispose()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees one state of the store."""
        with explaining(self.url, self._read_only), for_reading(self._connected()).connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A connection whose changes are there together at the end, or not at all."""
        with explaining(self.url, self._read_only), for_writing(self._connected()).begin() as connection:
            yield connection

    def add(
        self,
        score: Score,
        *,
        model: str | None = None,
        benchmark: str | None = None,
        run: str | None = None,
        task: str | None = None,
        cell: str | None = None,
        facts: Mapping[str, Any] | None = None,
        memory: int | None = None,
        raw_values: bool = True,
    ) -> str:
        """Keep a score.

        Args:
            score: the score.
            model, benchmark: the names that it is kept by; those of its provenance if not given, which get into it
                where it lacks them.
            run: of :meth:`begin_run`.
            task: name of the pair in the run; a run has a task once, and what comes second is not kept.
            cell: the digest of all that decides the score.
            facts: what is known of the model beside its name and digest; added to what was known of it before.
            memory: the most bytes that the process held while it was scored.
            raw_values: whether to keep what the score is an aggregate of, and its values in draws; its interval is kept
                without them, too. What another score has kept, the ceiling of which is the same for example, is kept
                once and is this score's, too; and what was left out is there as soon as the same score is added with
                it.

        Returns:
            Its key, which is the digest of all that it says: a score that is there already is not there twice. Where
            the run has the task already, the key of the score that it has.

        Raises:
            ValueError: it does not say its model or its benchmark, or something in it cannot be written; or there is no
                such run.
            OSError, PermissionError, ConnectionError, TimeoutError: the store cannot be written.
        """
        score, of_model, of_benchmark = _of_what(score, model, benchmark)
        made = document_of(score)
        known = to_plain(dict(facts or {}), "the facts of the model")
        row = {"key": made.key, "run_id": run, "task": task, "cell": cell, "memory": memory}
        row |= {**_columns(score), "document": made.content}
        # Compressed before others wait for this.
        raw = {digest: packed(content) for digest, content in made.raw.items()} if raw_values else {}
        with self.writing() as connection:
            row |= _numbers_of(connection, of_model, of_benchmark, known, score)
            _keep_parts(connection, made.shared, raw)
            is_new = _insert_new(connection, tables.scores, [row])
            key = made.key if is_new else _key_instead(connection, row)
            _land(connection, run, task)
        return key

    def add_failure(
        self,
        model: str,
        benchmark: str,
        error: BaseException | str,
        *,
        log: str = "",
        run: str | None = None,
        task: str | None = None,
        cell: str | None = None,
        started: str | None = None,
        seconds: float | None = None,
    ) -> str:
        """Keep that a pair has no score, and why.

        Args:
            model, benchmark: identifiers.
            error: the error, or what to say instead.
            log: more to read; of an error, where it was raised.
            run, task, cell: as for :meth:`add`.
            started: ISO 8601, in UTC; now if not given.
            seconds: until it failed.

        Returns:
            The key of the failure; where the run has a failure of the task already, of that one.
        """
        kind, line = ("", error) if isinstance(error, str) else (type(error).__name__, one_line(error))
        if not log and isinstance(error, BaseException):
            log = "".join(traceback.format_exception(error))
        row = {"model": model, "benchmark": benchmark, "run_id": run, "task": task, "cell": cell, "kind": kind}
        row |= {"error": " ".join(line.split()), "log": log[-_MOST_LOG:], "seconds": _number(seconds)}
        row["started"] = _in_utc(started) or _now()
        row["key"] = _digest(row)
        with self.writing() as connection:
            is_new = _insert_new(connection, tables.failures, [row])
            key = row["key"] if is_new else _key_instead(connection, row, tables.failures)
            _land(connection, run, task)
        return key

    def begin_run(self, n_cells: int, **facts: Any) -> str:
        """Note that a run begins; gives its name.

        Args:
            n_cells: how many cells it has.
            **facts: what is known of it, as JSON can hold it.
        """
        run = uuid.uuid4().hex[:_DIGITS_OF_RUNS]
        known = {"machine": platform.node(), "python": platform.python_version(), **facts}
        row = {"id": run, "started": _now(), "n_cells": n_cells, "facts": to_plain(known, "the facts of the run")}
        with self.writing() as connection:
            connection.execute(insert(tables.runs).values(row))
        return run

    def end_run(self, run: str) -> None:
        """Note that a run is over; its workers finish what they are at, and begin nothing more."""
        with self.writing() as connection:
            connection.execute(update(tables.runs).where(tables.runs.c.id == run).values(ended=_now()))

    def has_ended(self, run: str) -> bool:
        """Whether :meth:`end_run` was called."""
        of = tables.runs.c
        with self.reading() as connection:
            return connection.execute(select(of.ended).where(of.id == run)).scalar() is not None

    def begin_task(self, run: str, task: str, worker: str) -> None:
        """Note that a process is at a task now; :meth:`add` and :meth:`add_failure` take that back."""
        row = {"run_id": run, "task": task, "worker": worker, "started": _now()}
        with self.writing() as connection:
            _insert_or_change(connection, tables.in_flight, row)

    def end_task(self, run: str, task: str) -> None:
        """Note that no process is at a task any more, where neither a score nor a failure says so."""
        with self.writing() as connection:
            _land(connection, run, task)

    def tasks_in_flight(self, run: str) -> dict[str, str]:
        """Task -> the worker that is at it, or that was so when it was killed."""
        flying = tables.in_flight.c
        with self.reading() as connection:
            rows = connection.execute(select(flying.task, flying.worker).where(flying.run_id == run)).all()
        return {task: worker for task, worker in rows}

    def tasks_done(self, run: str, tasks: Iterable[str]) -> dict[str, TaskDone]:
        """Those of the tasks that the run has a score or a failure of -> what came of them."""
        found: dict[str, TaskDone] = {}
        scores, failures = tables.scores.c, tables.failures.c
        with self.reading() as connection:
            for part in askable(tasks):
                for of, error in ((failures, failures.error), (scores, literal(""))):
                    asked = select(of.task, of.key, error, of.seconds).where(of.run_id == run, of.task.in_(part))
                    for task, key, said, seconds in connection.execute(asked):
                        found[task] = TaskDone(key, said, seconds)
        return found

    def scored(self, cells: Iterable[str]) -> dict[str, str]:
        """Those of the cells that have a score -> the key of the last."""
        found: dict[str, str] = {}
        of = tables.scores.c
        with self.reading() as connection:
            for part in askable(cells):
                rows = connection.execute(select(of.cell, of.key).where(of.cell.in_(part)).order_by(of.id))
                found |= {cell: key for cell, key in rows}
        return found

    def score(self, key: str, raw_values: bool = True) -> Score:
        """A score.

        Args:
            key: its key, or as many of its first digits as no other has.
            raw_values: whether to read what it is an aggregate of, and its values in draws, if they were kept. Without
                draws its interval is that of its standard error.

        Raises:
            KeyError: there is none, or several begin so.
            ValueError: it is damaged.
            OSError, ConnectionError, TimeoutError: the store cannot be read.
        """
        of, where = tables.scores.c, self.url.render_as_string()
        with self.reading() as connection:
            # What begins with these digits comes before the same with a greater digit than there is.
            begins = (of.key >= key) & (of.key < f"{key}g")
            asked = select(of.key, of.document).where(begins).limit(2)
            rows = connection.execute(asked).all() if _KEY.fullmatch(key) else []
            if len(rows) != 1:
                what = "no score has" if not rows else "several scores have"
                raise UnknownKey(f"{what} the key {key!r} in {where}; see `bsjax results ls`")

            return read_score(self, Parts(connection), rows[0].key, rows[0].document, raw_values)

    def frame(self, *args: Any, **kwargs: Any) -> pd.DataFrame:
        """A table of scores, see :func:`bsjax.results.queries.frame`."""
        from bsjax.results.queries import frame

        return frame(self, *args, **kwargs)

    def known_digest(self, kind: str, fingerprint: str) -> str | None:
        """The digest of a model or of data that has been seen with this fingerprint.

        Args:
            kind: "model" or "data".
            fingerprint: digest of what can be read without building or loading it.
        """
        of = tables.known_digests.c
        with self.reading() as connection:
            return connection.execute(select(of.digest).where(of.kind == kind, of.fingerprint == fingerprint)).scalar()

    def note_digest(self, kind: str, fingerprint: str, digest: str) -> None:
        """Keep that what has this fingerprint has this digest."""
        row = {"kind": kind, "fingerprint": fingerprint, "digest": digest}
        with self.writing() as connection:
            _insert_or_change(connection, tables.known_digests, row)

    def rename(self, kind: str, identifier: str, now: str) -> int:
        """Give a model or a benchmark another name; its scores and failures go with it.

        What scores say of themselves stays as it was when they were made.

        Args:
            kind: "model" or "benchmark".
            identifier: the name.
            now: the name from now on.

        Returns:
            How many had the old name: models by their digests, benchmarks by their versions.

        Raises:
            ValueError: another kind, no new name, or both names have a row of the same digest or version.
            KeyError: there is no such name.
        """
        named = {"model": tables.models, "benchmark": tables.benchmarks}
        if kind not in named:
            raise ValueError(f"what can be renamed is a model or a benchmark, got {kind!r}")
        if not now:
            raise ValueError(f"the {kind} {identifier!r} needs a name, got {now!r}")
        table, failed = named[kind], tables.failures.c[kind]
        other = table.c.digest if kind == "model" else table.c.version
        with self.writing() as connection:
            old, new = (
                set(connection.execute(select(other).where(table.c.identifier == name)).scalars())
                for name in (identifier, now)
            )
            n_failed = connection.execute(
                update(tables.failures).where(failed == identifier).values({kind: now})
            ).rowcount
            if not old and not n_failed:
                raise UnknownKey(f"no {kind} {identifier!r} in {self.url.render_as_string()}")
            if old & new and identifier != now:
                raise ValueError(
                    f"{identifier!r} and {now!r} both have scores of the same {kind}: they are told apart by name"
                )
            connection.execute(update(table).where(table.c.identifier == identifier).values(identifier=now))
        return len(old)

    def _connected(self) -> Engine:
        if os.getpid() != self._process:
            _inherited.append(self._engine.pool)
            self._engine.dispose(close=False)
            self._process = os.getpid()
            weakref.finalize(self, _let_go, self._engine, self._process)
        return self._engine


class TaskDone(NamedTuple):
    """What came of a task of a run: the key of its score, or of its failure with its error, and the seconds of it."""

    key: str
    error: str
    seconds: float | None


class UnknownKey(KeyError):
    """A ``KeyError`` whose text is the plain message."""

    def __str__(self) -> str:
        return str(self.args[0])


def _is(table: Table, **values: Any) -> list[Any]:
    return [table.c[name] == value for name, value in values.items()]


def _insert_new(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> bool:
    """Insert rows, save those that the table has already; gives whether there was a new one."""
    asked = inserting(connection, table).on_conflict_do_nothing().inline().execution_options(preserve_rowcount=True)
    return any([connection.execute(asked, row).rowcount for row in rows])


def _insert_or_change(connection: Connection, table: Table, row: dict[str, Any]) -> None:
    """Insert a row, in the place of one that has the same primary key."""
    unique = [column.name for column in table.primary_key]
    changed = {name: value for name, value in row.items() if name not in unique}
    connection.execute(
        inserting(connection, table).values(row).on_conflict_do_update(index_elements=unique, set_=changed)
    )


def _numbers_of(
    connection: Connection,
    model: Mapping[str, Any],
    benchmark: Mapping[str, Any],
    facts: Mapping[str, Any],
    score: Score,
) -> dict[str, int]:
    """The numbers of a model and a benchmark, which are made if they are not there; the facts are the model's."""
    is_model, is_benchmark = _is(tables.models, **model), _is(tables.benchmarks, **benchmark)
    asked = select(
        select(tables.models.c.id).where(*is_model).scalar_subquery().label("model_id"),
        select(tables.benchmarks.c.id).where(*is_benchmark).scalar_subquery().label("benchmark_id"),
        *([select(tables.models.c.facts).where(*is_model).scalar_subquery().label("facts")] if facts else []),
    )
    found = connection.execute(asked).one()
    if None in (found.model_id, found.benchmark_id):
        if found.model_id is None:
            _insert_new(connection, tables.models, [{**model, "facts": dict(facts)}])
        if found.benchmark_id is None:
            _insert_new(connection, tables.benchmarks, [{**benchmark, **_about_benchmark(score)}])
        found = connection.execute(asked).one()
    if facts and found.facts | facts != found.facts:
        connection.execute(update(tables.models).where(*is_model).values(facts=found.facts | facts))
    return {"model_id": found.model_id, "benchmark_id": found.benchmark_id}


def _keep_parts(connection: Connection, shared: Mapping[str, bytes], raw: Mapping[str, bytes]) -> None:
    """Insert those parts of a score that are not there yet; raw values are packed already."""
    wanted = {tables.shared_parts: shared, tables.raw_values: raw}
    asked = [select(table.c.digest).where(table.c.digest.in_(parts)) for table, parts in wanted.items() if parts]
    stored = set(connection.execute(union_all(*asked)).scalars())
    for table, parts in wanted.items():
        # In one order everywhere: two processes never wait for one another.
        for digest in sorted(parts.keys() - stored):
            content = packed(parts[digest]) if table is tables.shared_parts else parts[digest]
            _insert_new(connection, table, [{"digest": digest, "content": content}])


def _key_instead(connection: Connection, row: Mapping[str, Any], table: Table = tables.scores) -> str:
    """The key of the score or failure that is there in the place of one that was not inserted."""
    here = connection.execute(select(table.c.cell).where(table.c.key == row["key"])).one_or_none()
    if here is None:
        taken = _is(table, run_id=row["run_id"], task=row["task"])
        return connection.execute(select(table.c.key).where(*taken)).scalar_one()
    if here.cell is None and row["cell"] is not None:
        # It was kept outside of a grid, which is to find it from now on.
        alone = table.c.key == row["key"], table.c.run_id.is_(None)
        connection.execute(update(table).where(*alone).values(cell=row["cell"]))
    return row["key"]


def _land(connection: Connection, run: str | None, task: str | None) -> None:
    if run is not None and task is not None:
        connection.execute(delete(tables.in_flight).where(*_is(tables.in_flight, run_id=run, task=task)))


def _let_go(engine: Engine, process: int) -> None:
    if os.getpid() == process:
        engine.dispose()


def _of_what(score: Score, model: str | None, benchmark: str | None) -> tuple[Score, dict[str, Any], dict[str, Any]]:
    """The score with its names in it, and what tells its model and its benchmark from others."""
    origin, given = score.provenance, {"model": model, "benchmark": benchmark}
    lacking = {name: value for name, value in given.items() if not getattr(origin, name)}
    for name, value in lacking.items():
        if not value:
            raise ValueError(f"the score does not say of which {name} it is: give {name}=...")
    if lacking:
        score = replace(score, provenance=origin.with_entries(**lacking))
    version = _checked_size(origin.benchmark_version or 0, "the version of the benchmark")
    of_model = {"identifier": model or origin.model, "digest": origin.model_digest or ""}
    return score, of_model, {"identifier": benchmark or origin.benchmark, "version": version}


def _columns(score: Score) -> dict[str, Any]:
    origin, state = score.provenance, _state(score)
    return {
        "state": state,
        **_numbers(score),
        **_interval(score),
        "n_units": None if score.n_units is None else _checked_size(score.n_units, "n_units"),
        "started": _in_utc(origin.start),
        "seconds": _number(origin.seconds),
        "reason": origin.reason if state == "undefined" else None,
    }


def _checked_size(number: int, what: str) -> int:
    if not -tables.LARGEST <= number <= tables.LARGEST:
        raise ValueError(f"{what} must lie within ±{tables.LARGEST} to be kept in a store, got {number}")
    return number


def _about_benchmark(score: Score) -> dict[str, Any]:
    made = score.provenance
    facts: dict[str, Any] = {}
    if made.benchmark in benchmark_registry:
        row = benchmark_row(str(made.benchmark))
        facts = {name: to_plain(value, name) for name, value in vars(row).items() if value not in ("", None, (), {})}
    return {"parent": made.parent or facts.get("parent") or "", "facts": facts}


def _state(score: Score) -> str:
    if score.sizes:
        return "resolved"
    return "undefined" if np.isnan(float(score)) else "scored"


def _numbers(score: Score) -> dict[str, float | None]:
    unceiled, ceiling = score.unceiled, score.ceiling
    return {
        "score": _number(score.value),
        "error": _number(score.error),
        "raw": None if unceiled is None else _number(unceiled.value),
        "raw_error": None if unceiled is None else _number(unceiled.error),
        "ceiling": None if ceiling is None else _number(ceiling.value),
        "ceiling_error": None if ceiling is None else _number(ceiling.error),
    }


def _interval(score: Score) -> dict[str, Any]:
    """The interval as the tables have it; nothing of one whose ends are not known."""
    ends = None if score.sampling_uncertainty is None else score.interval()
    if ends is None or np.isnan(ends.low).all():
        return {"low": None, "high": None, "interval": None}
    # Without the level, which is the same of all.
    return {"low": _number(ends.low), "high": _number(ends.high), "interval": ends.words.partition(" % ")[2]}


def _number(value: Any) -> float | None:
    """A single number that is one; None else, also of a score that is resolved in time."""
    return float(value) if value is not None and np.ndim(value) == 0 and not np.isnan(float(value)) else None


def _now() -> str:
    return datetime.now(UTC).isoformat()


def _in_utc(said: str | None) -> str | None:
    """A time as the tables have it: in UTC, whichever zone it is said in; None of what is no time."""
    try:
        moment = datetime.fromisoformat(said or "")
        return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).isoformat()
    except (ValueError, OverflowError):
        return None


def _digest(row: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(row, sort_keys=True).encode()).hexdigest()[:32]
