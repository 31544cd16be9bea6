"""Rows of a store as files have them, each checked before it is kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any

import sqlalchemy as sa
from msgspec import Meta, defstruct, structs

from bsjax.labelled import Score
from bsjax.labelled.plain_values import Number, checked
from bsjax.results import tables
from bsjax.results.database import insert_new
from bsjax.results.documents import digest_of_json
from bsjax.results.store import ResultStore, Task

# What a file may say in a column. Names, and what people write, may be any text, but not keys.
_KINDS: dict[type, Any] = {
    sa.Integer: Annotated[int, Meta(ge=-tables.LARGEST, le=tables.LARGEST)],
    sa.String: Annotated[str, Meta(max_length=32, pattern="^[ -~]*$")],
    sa.Double: Number,
    sa.JSON: dict[str, Any],
    tables.Words: str,
}
_OF_SCORES = ("memory", "low", "high", "interval", "opened")


def _struct(columns: Iterable[sa.Column[Any]], *more: Any, all_may_lack: bool = False) -> Any:
    """What a file may say of a row; what it does not say, and may lack, is None."""
    fields = [(str(each.name), _KINDS[type(each.type)], each.nullable or all_may_lack) for each in columns]
    needed = [(name, kind) for name, kind, may_lack in fields if not may_lack]
    return defstruct(
        "Row", [*needed, *((name, kind | None, None) for name, kind, may_lack in fields if may_lack), *more]
    )


Row = _struct(
    [*list(tables.failures.c)[1:], *(tables.scores.c[name] for name in _OF_SCORES)],
    ("score", dict[str, Any] | None, None),
    all_may_lack=True,
)
"""A score or a failure; a score alone has a ``score``."""

OTHERS = {tables.runs: _struct(tables.runs.c)}
OTHERS |= {table: _struct(list(table.c)[1:]) for table in (tables.models, tables.benchmarks)}
"""What scores refer to, by table."""


def keep_score(store: ResultStore, score: Score, row: Any = None) -> None:
    """Keep a score as a row of a file says that it was kept.

    Args:
        store: the store.
        score: the score.
        row: the run, which must be in the store, the task and the cell; names of model and benchmark. These count
            where the score does not say them, and where the row has a key: it is of a store, which may have renamed
            them. So does its interval, which may be that of draws which the file does not have.

    Raises:
        ValueError: the score does not say of what it is, or no store can hold what it says.
    """
    row = row or Row()
    names = {
        kind: name
        for kind, name in (("model", row.model), ("benchmark", row.benchmark))
        if name and (row.key or not getattr(score.provenance, kind))
    }
    memory = None if row.memory is None else int(float(row.memory))
    task = Task(row.run_id, row.task, row.cell)
    key = store.add(score, **names, task=task, memory=memory, opened=row.opened)
    if row.key and row.interval is not None:
        interval = {"low": _number(row.low), "high": _number(row.high), "interval": row.interval}
        with store.writing() as connection:
            connection.execute(sa.update(tables.scores).where(tables.scores.c.key == key).values(interval))


def keep_failure(store: ResultStore, row: Any) -> None:
    """Keep a failure; its key is the digest of what is said of it, if it has none.

    Raises:
        ValueError: it is none.
    """
    if not (row.model and row.benchmark and row.error):
        raise ValueError("neither a score nor a failure: it lacks a model, a benchmark, or an error")
    made = {name: getattr(row, name) for name in tables.failures.c.keys() if name not in ("id", "key")}
    made |= {"kind": row.kind or "", "log": row.log or "", "seconds": _number(row.seconds)}
    made["started"] = None if row.started is None else tables.moment(row.started).isoformat()
    with store.writing() as connection:
        insert_new(connection, tables.failures, [{**made, "key": row.key or digest_of_json(made)}])


def keep_others(store: ResultStore, table: sa.Table, rows: Iterable[Any]) -> list[str]:
    """Keep runs, models or benchmarks that are not there yet; gives what is wrong with those that are none."""
    kept, refused = [], []
    for number, row in enumerate(rows, 1):
        try:
            made = structs.asdict(checked(row, OTHERS[table], table.name.removesuffix("s")))
            times = {name: tables.moment(made[name]).isoformat() for name in ("started", "ended") if made.get(name)}
            kept.append(made | times)
        except ValueError as error:
            refused.append(f"row {number} of {table.name}: {error}")
    with store.writing() as connection:
        insert_new(connection, table, kept)
    return refused


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
