"""Merging of a store into another: only new rows are copied, and an interrupted merge can be repeated."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Table, bindparam, select, update

from bsjax.results import tables
from bsjax.results.database import alone_in, askable, insert_new
from bsjax.results.store import ResultStore

# Key column and batch size of each table; raw values can have millions of bytes each.
_COPIED = {
    tables.failures: ("key", 500),
    tables.scores: ("key", 500),
    tables.raw_values: ("digest", 50),
    tables.runs: ("id", 500),
}
# Tables that scores refer to by ids, which differ between stores, and the columns that identify their rows.
_REFERRED = {
    "model_id": (tables.models, ("identifier", "digest")),
    "benchmark_id": (tables.benchmarks, ("identifier", "version")),
}

Progress = Callable[[str, int, int], None]
"""Called with the name of the copied rows, the number done, and the total."""


@dataclass(frozen=True)
class Imported:
    """The result of an import.

    Attributes:
        new: scores that the store did not have.
        known: scores that it already had, or whose cell the same run already had.
        failures: failures that it did not have.
        refused: invalid entries, one line each with the file.

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
    """Copy all scores, failures and runs of another store that this one does not have, with unaggregated values.

    A score is identified by its key, the digest of its content, so nothing is duplicated however often it is imported.
    Models are the same if name and digest agree, benchmarks if name and version agree. Leases are not copied. If the
    process is killed, what was copied remains, and the next merge continues from there.

    Args:
        store: the store to write to.
        other: the store to read; either may be in SQLite or PostgreSQL.
        raw_values: whether to copy the unaggregated values.
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
    # Rows that scores refer to are written with them or before, so list these after the scores.
    there = {table: keys_of(other, table) for table in _COPIED if raw_values or table is not tables.raw_values}
    n_new: dict[Table, int] = {}
    same: dict[str, dict[int, int]] = {column: {} for column in _REFERRED}
    for table, keys in reversed(there.items()):
        (name, at_once), known = _COPIED[table], set(keys_of(store, table))
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


def keys_of(store: ResultStore, table: Table) -> list[str]:
    """The keys of all rows of a table, in order of insertion."""
    name, _ = _COPIED[table]
    with store.reading() as connection:
        asked = select(table.c[name]).order_by(table.c.get("id", table.c[name]))
        return list(connection.execute(asked).scalars())


def _renumber(
    store: ResultStore, other: ResultStore, rows: list[dict[str, Any]], same: dict[str, dict[int, int]]
) -> None:
    """Replace the ids of models and benchmarks by those of this store; ``same`` maps the ids."""
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
                # A single imported score knows less about its model than the run that made it.
                more = {name: row[name] for name in row if row[name] and not here[name] and name != "id"}
                more["facts"] = row["facts"] | here["facts"]
                if more != {"facts": here["facts"]}:
                    connection.execute(update(table).where(table.c.id == here["id"]).values(more))
        for row in rows:
            row[column] = same[column][row[column]]


def _note_ends(store: ResultStore, other: ResultStore) -> None:
    """Mark as ended the runs that were copied while in progress."""
    of = tables.runs.c
    with other.reading() as connection:
        asked = select(of.id.label("run"), of.ended.label("over")).where(of.ended.is_not(None))
        over = [dict(row) for row in connection.execute(asked).mappings()]
    with store.writing() as connection:
        going = update(tables.runs).where(of.id == bindparam("run"), of.ended.is_(None))
        if over:
            connection.execute(going.values(ended=bindparam("over")), over)


def _note_cells(store: ResultStore, other: ResultStore) -> None:
    """Add cells to scores that were stored without one, so that grids find them."""
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
