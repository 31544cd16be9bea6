"""Import of scores into a store: from another store, from files of scores, from Brain-Score's leaderboard."""

import json
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bsjax.core.discovery import one_line
from bsjax.core.left_behind import files_in
from bsjax.labelled import Score
from bsjax.labelled.plain_values import checked, said
from bsjax.results import tables
from bsjax.results.database import is_sqlite, is_url
from bsjax.results.documents import document_of
from bsjax.results.exchange.checked_rows import OTHERS, Found, Row, keep, keep_other
from bsjax.results.exchange.exported_table import is_exported_table, read_exported_table
from bsjax.results.exchange.leaderboard import read_leaderboard
from bsjax.results.exchange.merging import Imported, Progress, keys_of, merge
from bsjax.results.store import ResultStore

_EXPECTED = "expected a store of results, a file of scores in JSON, a folder of such, or a table of scores in CSV"
# Exceptions that invalid files raise.
_WRONG = (ValueError, TypeError, KeyError, OverflowError, RecursionError)


def import_scores(
    store: ResultStore,
    place: str | Path,
    *,
    raw_values: bool = True,
    progress: Progress | None = None,
) -> Imported:
    """Import scores into a store. Scores that it already has are not duplicated, so an import can be repeated.

    Args:
        store: the store.
        place: one of

            - another store, by the path of its SQLite file or its URL: see
              :func:`~bsjax.results.exchange.merging.merge`;
            - a file of scores in JSON: one ``Score.to_dict()`` or a list of them, the output of ``bsjax score
              --json``, or the output of :func:`~bsjax.results.exchange.export` with ``scores=True``;
            - a folder of such files, which end in ``.json``, including subfolders;
            - a CSV table from :func:`~bsjax.results.exchange.export` or ``Grid.frame().to_csv()``, without
              unaggregated values. If it gives no version of a benchmark, that of the registered benchmark is used;
            - a CSV table from Brain-Score's website: see :func:`~bsjax.results.exchange.leaderboard.read_leaderboard`.
        raw_values: whether to import the unaggregated values.
        progress: called after each part that has been written.

    Returns:
        The number of new scores and failures, and messages for invalid entries, which are skipped.

    Raises:
        FileNotFoundError: the location does not exist.
        ValueError: a single file has no scores in it, or a folder has no files of scores.
        OSError, PermissionError, ConnectionError, TimeoutError: a store cannot be used.

    Example:
        >>> from bsjax import Score
        >>> from bsjax.core.files import as_json, write_atomically
        >>> score = Score(0.5, provenance={"model": "pixels", "benchmark": "Doe2026-pls"})
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     path = write_atomically(f"{folder}/score.json", as_json(score.to_dict()))
        ...     print(import_scores(store, path))
        1 new score, 0 that were there already, 0 new failures
    """
    check_place(place)
    if is_url(place) or is_sqlite(Path(place)):
        with ResultStore(place, read_only=True) as other:
            return merge(store, other, raw_values=raw_values, progress=progress)
    path = Path(place)
    files = files_in(path, "**/*.json") if path.is_dir() else [path]
    if not files:
        raise ValueError(f"no scores in {path}: expected files that end in .json")
    known, refused, there = 0, [], _There(set(keys_of(store, tables.scores)), raw_values)
    # Files are read into a temporary store, which is then merged, so that all imports take one path.
    with tempfile.TemporaryDirectory() as folder, ResultStore(Path(folder) / "read.db") as read:
        for number, file in enumerate(files, 1):
            try:
                known_here, wrong = _read_file(read, file, there)
                known += known_here
                refused += [f"{file}: {why}" for why in wrong]
            except (*_WRONG, OSError) as error:
                if isinstance(error, OSError) and (error.filename is None or not path.is_dir()):
                    raise  # another file's error, or the only file
                is_text = not isinstance(error, UnicodeDecodeError)
                why = one_line(error) if is_text else f"neither a store of results nor text: {_EXPECTED}"
                if not path.is_dir():
                    raise ValueError(f"{path}: {why}") from error
                refused.append(f"{file}: {error.strerror if isinstance(error, OSError) else why}")
            if progress is not None:
                progress("files", number, len(files))
        found = merge(store, read, raw_values=raw_values, progress=progress)
    return replace(found, known=found.known + known, refused=tuple(refused))


def check_place(place: str | Path) -> None:
    """Check that a location exists.

    Raises:
        FileNotFoundError: there is nothing to import.
    """
    if not is_url(place) and not Path(place).exists():
        raise FileNotFoundError(f"nothing at {place}: {_EXPECTED}")


@dataclass(frozen=True)
class _There:
    """The keys of the scores that a store has, and whether it may lack their unaggregated values."""

    keys: Collection[str]
    raw_values: bool

    def has(self, row: Any) -> bool:
        """Whether nothing of a score is to be added. Without its raw values, it gets another key than its own."""
        if row.score is None or row.key not in self.keys:
            return False
        return not self.raw_values or document_of(Score.from_dict(row.score)).key != row.key


def _read_file(read: ResultStore, path: Path, there: _There) -> tuple[int, list[str]]:
    """Read a file; returns the number of scores that are there already, and a message for each invalid row."""
    if path.suffix.lower() == ".csv":
        found = read_exported_table(path) if is_exported_table(path) else read_leaderboard(path)
    else:
        found = _read_json(read, path)
    n_known, n_kept, refused = 0, 0, []
    for where, make in found:
        try:
            row = make()
            if row is not None and there.has(row):
                n_known += 1
            elif row is not None:
                keep(read, row)
                n_kept += 1
        except _WRONG as error:
            refused.append(f"{where}{one_line(error)}")
    if refused and not n_known + n_kept:
        more = f"; nor is any other of its {len(refused)} rows a score" if len(refused) > 1 else ""
        raise ValueError(f"{refused[0]}{more}")
    return n_known, refused


def _read_json(read: ResultStore, path: Path) -> Iterator[Found]:
    """Read a JSON file, and store the runs, models and benchmarks that it has."""
    plain = json.loads(path.read_bytes())
    rows = _rows(plain)
    for table in OTHERS:
        more = plain.get(table.name, []) if isinstance(plain, dict) else []
        for number, row in enumerate(more if isinstance(more, list) else [more], 1):
            yield f"row {number} of {table.name}: ", partial(keep_other, read, table, row)
    with read.reading() as connection:
        runs = set(connection.execute(select(tables.runs.c.id)).scalars())
    for number, row in enumerate(rows, 1):
        yield "" if rows == [plain] else f"row {number}: ", partial(_row, row, runs)


def _rows(plain: Any) -> list[Any]:
    """The rows of a file: each is a score, or a dict that contains one."""
    if isinstance(plain, dict) and "value" in plain:
        return [plain]
    rows = plain.get("scores") if isinstance(plain, dict) else plain
    if not isinstance(rows, list):
        raise ValueError(
            "no scores: expected a score, a list of scores, or what `bsjax score --json` or `bsjax results export "
            f"--scores` writes, got {said(plain)}"
        )
    return rows


def _row(row: Any, runs: set[str]) -> Any:
    """A valid row from a row of a file."""
    if not isinstance(row, dict):
        raise ValueError(f"no score: expected a dict, got {said(row)}")
    if "value" in row:
        return Row(score=row)
    if isinstance(row.get("score"), int | float):
        raise ValueError(
            f"no whole score but {said(row['score'])}, as in a table: write it with `bsjax results export --scores`"
        )
    made = checked(row, Row, "a row")
    if made.run_id is not None and made.run_id not in runs:
        raise ValueError(f"it is of the run {made.run_id!r}, which the file does not have")
    return made
