"""A store taken into another: what is not there yet, whole or not at all, and what is there once stays once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, bindparam, select, update

from bsjax.results import tables
from bsjax.results.database import alone_in, askable, insert_new
from bsjax.results.store import ResultStore

# By what rows are told, and how many are read and written together: raw values can be millions of bytes each.
_COPIED = {
    tables.failures: ("key", 500),
    tables.scores: ("key", 500),
    tables.raw_values: ("digest", 50),
    tables.runs: ("id", 500),
}
# What scores refer to by numbers, which each store has of its own; and what tells one from another.
_REFERRED = {
    "model_id": (tables.models, ("identifier", "digest")),
    "benchmark_id": (tables.benchmarks, ("identifier", "version")),
}

Progress = Callable[[str, int, int], None]
"""Told what is copied, how many of it are done, and how many there are."""


@dataclass(frozen=True)
class Imported:
    """What an import has found.

    Attributes:
        new: scores that were not there.
        known: scores that were there already, or whose cell the same run has already.
        failures: failures that were not there.
        refused: what is no score, each in one line with its file.

    Example:
        >>> print(Imported(new=2, known=1))
        2 new scores, 1 that was there already, 0 new failures
    """

    new: int = 0
    known: int = 0
    failures: int = 0
    refused: tuple[str, ...] = ()

    def __str__(self) -> str:
        known = f"{self.known} that {'was' if self.known == 1 else 'were'} there already"
        counted = [f"{self.new} new score{'s' * (self.new != 1)}", known]
        counted.append(f"{self.failures} new failure{'s' * (self.failures != 1)}")
        return ", ".join([*counted, *([f"{len(self.refused)} refused"] if self.refused else [])])


def merge(
    store: ResultStore, other: ResultStore, *, raw_values: bool = True, progress: Progress | None = None
) -> Imported:
    """Take all scores, failures and runs of another store that are not there yet, with what they are aggregates of.

    A score is told by its key, the digest of all that it says, so that nothing is there twice, however often and from
    wherever it comes. Models are the same if they have the same name and digest, benchmarks if name and version. Who
    computes what at the moment is not taken. What was taken stays taken when the process is killed; the next merge goes
    on from there.

    Args:
        store: what is written to.
        other: what is read; either may be in SQLite or PostgreSQL.
        raw_values: whether to take what scores are aggregates of.
        progress: called after each part that has been written.

    Raises:
        OSError, PermissionError, ConnectionError, TimeoutError: one of them cannot be used.

    Example:
        >>> import tempfile
        >>> from bsjax import Score
        >>> score = Score(0.5, provenance={"model": "pixels", "benchmark": "Doe2026-pls"})
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     one, other = ResultStore(f"{folder}/one.db"), ResultStore(f"{folder}/other.db")
        ...     key = other.add(score)
        ...     merge(one, other), merge(one, other)
        (Imported(new=1, known=0, failures=0, refused=()), Imported(new=0, known=1, failures=0, refused=()))
    """
    # All that scores refer to was written with them or before: it is there when it is looked for after them.
    there = {table: _keys(other, table) for table in _COPIED if raw_values or table is not tables.raw_values}
    n_new: dict[Table, int] = {}
    same: dict[str, dict[int, int]] = {column: {} for column in _REFERRED}
    for table, keys in reversed(there.items()):
        (name, at_once), known = _COPIED[table], set(_keys(store, table))
        n_new[table], missing = 0, [key for key in keys if key not in known]
        for start in range(0, len(missing), at_once):
            part = missing[start : start + at_once]
            with other.reading() as connection:
                asked = select(table).where(table.c[name].in_(part)).order_by(table.c.get("id", table.c[name]))
                found = connection.execute(asked).mappings()
                rows = [{column: row[column] for column in row if column != "id" or name == "id"} for row in found]
            if table is tables.scores:
                _renumber(store, other, rows, same)
            with store.writing() as connection:
                alone_in(connection, table)
                n_new[table] += insert_new(connection, table, rows)
            if progress is not None:
                progress(table.name.replace("_", " "), start + len(part), len(missing))
    _note_ends(store, other)
    _note_cells(store, other)
    new = n_new[tables.scores]
    return Imported(new=new, known=len(there[tables.scores]) - new, failures=n_new[tables.failures])


def keys_there(connection: Connection, table: Table, column: str, values: Iterable[Any]) -> set[Any]:
    """Those of the values that a table has in a column."""
    of = table.c[column]
    return {each for part in askable(values) for each in connection.execute(select(of).where(of.in_(part))).scalars()}


def _keys(store: ResultStore, table: Table) -> list[str]:
    """Of all rows of a table, in the order in which they came."""
    name, _ = _COPIED[table]
    with store.reading() as connection:
        asked = select(table.c[name]).order_by(table.c.get("id", table.c[name]))
        return list(connection.execute(asked).scalars())


def _renumber(
    store: ResultStore, other: ResultStore, rows: list[dict[str, Any]], same: dict[str, dict[int, int]]
) -> None:
    """Let scores of another store refer to the models and benchmarks of this one; which are the same is noted."""
    for column, (table, unique) in _REFERRED.items():
        wanted = {row[column] for row in rows} - same[column].keys()
        with other.reading() as connection:
            missing = connection.execute(select(table).where(table.c.id.in_(wanted))).mappings().all()
        with store.writing() as connection:
            alone_in(connection, table)
            insert_new(connection, table, [{name: row[name] for name in row if name != "id"} for row in missing])
            for row in missing:
                asked = select(table).where(*(table.c[name] == row[name] for name in unique))
                here = connection.execute(asked).mappings().one()
                same[column][row["id"]] = here["id"]
                # A score on its own says less of its model than the run that made it.
                more = {name: row[name] for name in row if row[name] and not here[name] and name != "id"}
                more["facts"] = row["facts"] | here["facts"]
                if more != {"facts": here["facts"]}:
                    connection.execute(update(table).where(table.c.id == here["id"]).values(more))
        for row in rows:
            row[column] = same[column][row[column]]


def _note_ends(store: ResultStore, other: ResultStore) -> None:
    """Let runs that were copied while they went on end."""
    of = tables.runs.c
    with other.reading() as connection:
        asked = select(of.id.label("run"), of.ended.label("over")).where(of.ended.is_not(None))
        over = [dict(row) for row in connection.execute(asked).mappings()]
    with store.writing() as connection:
        going = update(tables.runs).where(of.id == bindparam("run"), of.ended.is_(None))
        if over:
            connection.execute(going.values(ended=bindparam("over")), over)


def _note_cells(store: ResultStore, other: ResultStore) -> None:
    """Let grids find scores that were kept here outside of one, and elsewhere within."""
    of = tables.scores.c
    alone = of.cell.is_(None), of.run_id.is_(None)
    with store.reading() as connection:
        keys = connection.execute(select(of.key).where(*alone)).scalars().all()
    for part in askable(keys):
        with other.reading() as connection:
            asked = select(of.key.label("of"), of.cell.label("found"), of.opened.label("read")).where(
                of.key.in_(part), of.cell.is_not(None)
            )
            known = [dict(row) for row in connection.execute(asked).mappings()]
        if known:
            with store.writing() as connection:
                kept = update(tables.scores).where(of.key == bindparam("of"), *alone)
                connection.execute(kept.values(cell=bindparam("found"), opened=bindparam("read")), known)
