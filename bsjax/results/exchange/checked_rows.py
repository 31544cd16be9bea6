"""Validation of rows read from files, before they are stored."""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import sqlalchemy as sa
from msgspec import Meta, defstruct, structs

from bsjax.core.digests.plain import digest_of_json
from bsjax.labelled import Score
from bsjax.labelled.plain_values import Number, checked
from bsjax.results import tables
from bsjax.results.database import insert_new
from bsjax.results.store import ResultStore, Task

# Valid content by type of column. Keys are ASCII; names and free text may be any text.
_KINDS: dict[type, Any] = {
    sa.Integer: Annotated[int, Meta(ge=-tables.LARGEST, le=tables.LARGEST)],
    sa.String: Annotated[str, Meta(max_length=32, pattern="^[ -~]*$")],
    sa.Double: Number,
    sa.JSON: dict[str, Any],
    tables.Words: str,
}
_OF_SCORES = ("memory", "low", "high", "interval", "opened")


def _struct(columns: Iterable[sa.Column[Any]], *more: Any, all_may_lack: bool = False) -> Any:
    """The schema of a row in a file; absent optional fields are None."""
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
"""A score or a failure; only scores have a ``score``, the output of ``Score.to_dict``."""

Found = tuple[str, Callable[[], Any]]
"""The beginning of a message about an entry of a file, and a function that makes its row, or raises."""

OTHERS = {tables.runs: _struct(tables.runs.c)}
OTHERS |= {table: _struct(list(table.c)[1:]) for table in (tables.models, tables.benchmarks)}
"""Schemas of the rows that scores refer to, by table."""


def keep(store: ResultStore, row: Any) -> None:
    """Store a score or failure.

    The names of model and benchmark in a row are used if the score has none, or if the row has a key: it then comes
    from a store, which may have renamed them. The interval is used too, because it may come from draws that the file
    does not have.

    Args:
        store: the store, which must have the run of the row.
        row: a :data:`Row`.

    Raises:
        ValueError: it is neither a score nor a failure, does not name its model and benchmark, or cannot be stored.
    """
    if row.score is None:
        _keep_failure(store, row)
        return
    score = Score.from_dict(row.score)
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


def _keep_failure(store: ResultStore, row: Any) -> None:
    """Store a failure; if it has no key, the digest of its content is used."""
    if not (row.model and row.benchmark and row.error):
        raise ValueError("neither a score nor a failure: it lacks a model, a benchmark, or an error")
    made = {name: getattr(row, name) for name in tables.failures.c.keys() if name not in ("id", "key")}
    made |= {"kind": row.kind or "", "log": row.log or "", "seconds": _number(row.seconds)}
    made["started"] = None if row.started is None else tables.moment(row.started).isoformat()
    with store.writing() as connection:
        insert_new(connection, tables.failures, [{**made, "key": row.key or digest_of_json(made)}])


def keep_other(store: ResultStore, table: sa.Table, row: Any) -> None:
    """Store a run, model or benchmark if it is new.

    Raises:
        ValueError: the row is invalid.
    """
    made = structs.asdict(checked(row, OTHERS[table], table.name.removesuffix("s")))
    times = {name: tables.moment(made[name]).isoformat() for name in ("started", "ended") if made.get(name)}
    with store.writing() as connection:
        insert_new(connection, table, [made | times])


def _number(value: Any) -> float | None:
    return None if value is None else float(value)
