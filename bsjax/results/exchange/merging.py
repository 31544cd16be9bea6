"""A store taken into another: what is not there yet, whole or not at all, and what is there once stays once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Table, select, update

from bsjax.results import tables
from bsjax.results.database import alone_in, inserting
from bsjax.results.store import ResultStore

# How many rows are asked for and written together. What scores are aggregates of can be millions of bytes each.
_AT_ONCE = 500
_LARGE_AT_ONCE = 50

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
        counted = [
            f"{self.new} new score{'' if self.new == 1 else 's'}",
            f"{self.known} that {'was' if self.known == 1 else 'were'} there already",
            f"{self.failures} new failure{'' if self.failures == 1 else 's'}",
            *([f"{len(self.refused)} refused"] if self.refused else []),
        ]
        return ", ".join(counted)


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
    tell = progress or (lambda what, done, total: None)
    # All that these refer to was written with them or before: it is there when it is looked for now.
    scores, n_scores = _missing(store, other, tables.scores, "key", "model_id", "benchmark_id")
    failures, _ = _missing(store, other, tables.failures, "key")
    _copy_parts(store, other, tables.shared_parts, tell)
    if raw_values:
        _copy_parts(store, other, tables.raw_values, tell)
    _copy_runs(store, other, tell)
    numbers = {
        column: _same(store, other, table, unique, {row[column] for row in scores})
        for column, table, unique in (
            ("model_id", tables.models, ("identifier", "digest")),
            ("benchmark_id", tables.benchmarks, ("identifier", "version")),
        )
    }
    new = _copy(store, other, tables.scores, "key", [row["key"] for row in scores], tell, numbers)
    made = _copy(store, other, tables.failures, "key", [row["key"] for row in failures], tell)
    _note_cells(store, other)
    return Imported(new=new, known=n_scores - new, failures=made)


def keys_there(connection: Connection, table: Table, column: str, values: Iterable[Any]) -> set[Any]:
    """Those of the values that a table has in a column."""
    return {
        value
        for part in _parts(list(values))
        for value in connection.execute(select(table.c[column]).where(table.c[column].in_(part))).scalars()
    }


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, save those that the table has already, or that a rule of it excludes."""
    if rows:
        alone_in(connection, table)
        connection.execute(inserting(connection, table).on_conflict_do_nothing(), list(rows))


def _missing(
    store: ResultStore, other: ResultStore, table: Table, *columns: str
) -> tuple[list[Mapping[str, Any]], int]:
    """Columns of the rows of another store that this one lacks, told by the first, and how many rows that one has."""
    first, found = columns[0], []
    order = table.c.get("id", table.c[first])
    with other.reading() as connection:
        rows = connection.execute(select(*(table.c[name] for name in columns)).order_by(order)).mappings().all()
    for part in _parts(rows):
        with store.reading() as connection:
            there = keys_there(connection, table, first, [row[first] for row in part])
        found += [row for row in part if row[first] not in there]
    return found, len(rows)


def _copy(
    store: ResultStore,
    other: ResultStore,
    table: Table,
    column: str,
    values: Sequence[Any],
    tell: Progress,
    numbers: Mapping[str, Mapping[int, int]] | None = None,
    at_once: int | None = None,
) -> int:
    """Copy the rows with these values in a column; gives how many of them are there then.

    Args:
        numbers: column -> what stands for its values here.
    """
    done = there = 0
    for part in _parts(values, at_once):
        with other.reading() as connection:
            asked = select(table).where(table.c[column].in_(part))
            rows = {row[column]: dict(row) for row in connection.execute(asked).mappings()}
        for row in rows.values():
            if column != "id":
                row.pop("id", None)
            row |= {name: of[row[name]] for name, of in (numbers or {}).items()}
        with store.writing() as connection:
            insert_new(connection, table, [rows[value] for value in part if value in rows])
            there += len(keys_there(connection, table, column, part))
        done += len(part)
        tell(table.name.replace("_", " "), done, len(values))
    return there


def _copy_parts(store: ResultStore, other: ResultStore, table: Table, tell: Progress) -> None:
    missing, _ = _missing(store, other, table, "digest")
    _copy(store, other, table, "digest", [row["digest"] for row in missing], tell, at_once=_LARGE_AT_ONCE)


def _copy_runs(store: ResultStore, other: ResultStore, tell: Progress) -> None:
    of = tables.runs.c
    missing, _ = _missing(store, other, tables.runs, "id")
    _copy(store, other, tables.runs, "id", [row["id"] for row in missing], tell)
    with other.reading() as connection:
        over = connection.execute(select(of.id, of.ended).where(of.ended.is_not(None))).all()
    with store.reading() as connection:
        going = set(connection.execute(select(of.id).where(of.ended.is_(None))).scalars())
    over = [(run, ended) for run, ended in sorted(over) if run in going]
    if over:
        with store.writing() as connection:
            for run, ended in over:
                connection.execute(update(tables.runs).where(of.id == run).values(ended=ended))


def _same(
    store: ResultStore, other: ResultStore, table: Table, unique: tuple[str, str], wanted: set[int]
) -> dict[int, int]:
    """The numbers of models or benchmarks in another store -> their numbers here, where they are made if need be."""
    same: dict[int, int] = {}
    for part in _parts(sorted(wanted)):
        with other.reading() as connection:
            rows = connection.execute(select(table).where(table.c.id.in_(part))).mappings().all()
        with store.writing() as connection:
            insert_new(connection, table, [{name: row[name] for name in row if name != "id"} for row in rows])
            for row in rows:
                asked = select(table).where(*(table.c[name] == row[name] for name in unique))
                here = connection.execute(asked).mappings().one()
                same[row["id"]] = here["id"]
                # A score on its own says less of its model than the run that made it.
                more = {name: row[name] for name in row if row[name] and not here[name] and name != "id"}
                more |= {"facts": row["facts"] | here["facts"]}
                if more != {"facts": here["facts"]}:
                    connection.execute(update(table).where(table.c.id == here["id"]).values(more))
    return same


def _note_cells(store: ResultStore, other: ResultStore) -> None:
    """Let grids find scores that were kept here outside of one, and elsewhere within."""
    of = tables.scores.c
    alone = of.cell.is_(None), of.run_id.is_(None)
    with store.reading() as connection:
        keys = connection.execute(select(of.key).where(*alone)).scalars().all()
    for part in _parts(keys):
        with other.reading() as connection:
            known = connection.execute(select(of.key, of.cell).where(of.key.in_(part), of.cell.is_not(None))).all()
        if known:
            with store.writing() as connection:
                for key, cell in known:
                    connection.execute(update(tables.scores).where(of.key == key, *alone).values(cell=cell))


def _parts(values: Sequence[Any], at_once: int | None = None) -> Iterator[Sequence[Any]]:
    size = at_once or _AT_ONCE
    return (values[start : start + size] for start in range(0, len(values), size))
