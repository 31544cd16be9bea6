"""Rows of a store as files have them: scores, runs and failures, each checked before it is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Table, update

from bsjax.core.files import as_json
from bsjax.labelled import Score
from bsjax.labelled.plain_values import Number, checked, said
from bsjax.results import tables
from bsjax.results.exchange.merging import insert_new
from bsjax.results.overview import moment
from bsjax.results.store import ResultStore

_DIGITS = 32
_TABLES = {"model": tables.models, "benchmark": tables.benchmarks}
_WORDS: dict[type, str] = {str: "text", int: "a whole number", float: "a number", dict: "a dict"}
_OF_GRIDS = ("run_id", "task", "cell", "memory")
_OF_FAILURES = ("model", "benchmark", "run_id", "task", "cell", "kind", "error", "log", "started", "seconds")


def keep_score(store: ResultStore, score: Score, row: Mapping[str, Any] | None = None) -> None:
    """Keep a score as a row of a file says that it was kept.

    Args:
        store: the store.
        score: the score.
        row: the run, which must be in the store, the task and the cell; names of model and benchmark. These count
            where the score does not say them, and where the row has a key: it is of a store, which may have renamed
            them. So does its interval, where that is of draws which the file does not have.

    Raises:
        ValueError: the score does not say of what it is, or no store can hold what it says.
    """
    row = row or {}
    names = {
        kind: row[kind] for kind in _TABLES if row.get(kind) and (row.get("key") or not getattr(score.provenance, kind))
    }
    for kind, name in names.items():
        check_row(_TABLES[kind], {"identifier": name})
    run, task, cell, memory = of_grid = [row.get(name) for name in _OF_GRIDS]
    check_row(tables.scores, dict(zip(_OF_GRIDS, of_grid, strict=True)))
    drawn = _interval_of_draws(score, row) if row.get("key") else {}
    key = store.add(score, **names, run=run, task=task, cell=cell, memory=memory)
    if drawn:
        with store.writing() as connection:
            connection.execute(update(tables.scores).where(tables.scores.c.key == key).values(drawn))


def _interval_of_draws(score: Score, row: Mapping[str, Any]) -> dict[str, Any]:
    """The interval of a row, where the score, which has no draws, has another."""
    known, words = score.sampling_uncertainty, row.get("interval")
    if known is None or known.draws is not None or words is None or str(words).startswith("t over "):
        return {}
    ends = {name: float(checked(row.get(name), Number, f"{name} of {tables.scores.name}")) for name in ("low", "high")}
    check_row(tables.scores, drawn := {**ends, "interval": words})
    return drawn


def failure_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row of the table of failures for what a file says of one; its key is the digest of that, if it has none.

    Raises:
        ValueError: it is none, or no store can hold what it says.

    Example:
        >>> made = failure_row({"model": "pixels", "benchmark": "Doe2026-pls", "error": "no data"})
        >>> made["error"], made["log"], made["run_id"], len(made["key"])
        ('no data', '', None, 32)
    """
    made = {name: row.get(name) for name in _OF_FAILURES}
    made |= {name: made[name] or "" for name in ("kind", "log")}
    if not all(made[name] for name in ("model", "benchmark", "error")):
        raise ValueError("neither a score nor a failure: it lacks a model, a benchmark, or an error")
    made["key"] = row.get("key") or hashlib.sha256(as_json(made)).hexdigest()[:_DIGITS]
    check_row(tables.failures, made)
    return made


def keep_rows(store: ResultStore, table: Table, rows: Iterable[Any]) -> list[str]:
    """Keep runs, models or benchmarks that are not there yet.

    Args:
        store: the store.
        table: of what they are.
        rows: what a file says of them; their numbers are not read, as each store has its own.

    Returns:
        What is wrong with those that are none.
    """
    columns = [column.name for column in table.c if column.name != "id" or table is tables.runs]
    kept, refused = [], []
    for number, row in enumerate(rows, 1):
        try:
            if not isinstance(row, dict):
                raise ValueError(f"expected a dict, got {said(row)}")
            made = {name: row.get(name) for name in columns}
            check_row(table, made)
            kept.append(made)
        except ValueError as error:
            refused.append(f"row {number} of {table.name}: {error}")
    with store.writing() as connection:
        insert_new(connection, table, kept)
    return refused


def check_row(table: Table, row: Mapping[str, Any]) -> None:
    """Refuse values that no store can hold in the columns of a table.

    Raises:
        ValueError: one has another type, is too long or too large, or has characters that have no place there.

    Example:
        >>> check_row(tables.models, {"identifier": "pixels"})
        >>> check_row(tables.models, {"identifier": None})
        Traceback (most recent call last):
        ...
        ValueError: identifier of models must be text, got the NoneType None
    """
    for name, value in row.items():
        column = table.c[name]
        kind, longest = column.type.python_type, getattr(column.type, "length", None)
        if value is None and column.nullable:
            continue
        what = f"{name} of {table.name} must"
        if not isinstance(value, (int, float) if kind is float else kind) or isinstance(value, bool):
            raise ValueError(f"{what} be {_WORDS[kind]}, got {said(value)}")
        if isinstance(value, int) and not -tables.LARGEST <= value <= tables.LARGEST:
            raise ValueError(f"{what} lie within ±{tables.LARGEST}, got {said(value)}")
        if name in ("started", "ended") and moment(str(value)).isoformat() != value:
            raise ValueError(f"{what} be a time in UTC such as 2026-08-01T12:00:00+00:00, got {said(value)}")
        # Names and what people write may be any text, but not keys.
        is_word = isinstance(value, str) and value.isascii() and value.isprintable()
        if longest is not None and not (is_word and len(str(value)) <= longest):
            raise ValueError(f"{what} have at most {longest} characters of ASCII, got {said(value)}")
