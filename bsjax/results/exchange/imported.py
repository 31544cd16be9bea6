"""Scores into a store: from another store, from files of scores in JSON, from Brain-Score's leaderboard."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from sqlalchemy import select

from bsjax.core.discovery import one_line
from bsjax.core.left_behind import files_in
from bsjax.labelled import Score
from bsjax.labelled.plain_values import said
from bsjax.results import tables
from bsjax.results.database import is_sqlite
from bsjax.results.exchange.checked_rows import failure_row, keep_rows, keep_score
from bsjax.results.exchange.leaderboard import Failed, read_leaderboard
from bsjax.results.exchange.merging import Imported, Progress, insert_new, keys_there, merge
from bsjax.results.store import ResultStore

_EXPECTED = "expected a store of results, a file of scores in JSON, a folder of such, or a leaderboard's table in CSV"
# What comes of files that are not what they should be.
_WRONG = (ValueError, TypeError, KeyError, OverflowError, RecursionError)


def import_scores(
    store: ResultStore,
    place: str | Path,
    *,
    raw_values: bool = True,
    progress: Progress | None = None,
) -> Imported:
    """Take scores into a store; what is there already is not there twice, so that an import can be repeated.

    Args:
        store: the store.
        place: one of

            - another store, by the path of its SQLite file or its URL: see
              :func:`~bsjax.results.exchange.merging.merge`;
            - a file of scores in JSON: one ``Score.to_dict()`` or a list of such, what ``bsjax score --json`` writes,
              or what :func:`~bsjax.results.exchange.export` writes with ``scores=True``;
            - a folder of such files, which end in ``.json``, also in folders in it;
            - a table of Brain-Score's website, which ends in ``.csv``: see
              :func:`~bsjax.results.exchange.leaderboard.read_leaderboard`.
        raw_values: whether to take what scores are aggregates of.
        progress: called after each part that has been written.

    Returns:
        How many scores and failures were new, and what was refused, while the rest was taken.

    Raises:
        FileNotFoundError: there is nothing at the place.
        ValueError: a single file that has no scores in it, or a folder without files of scores.
        OSError, PermissionError, ConnectionError, TimeoutError: a store cannot be used.

    Example:
        >>> from bsjax.core.files import as_json, write_atomically
        >>> score = Score(0.5, provenance={"model": "pixels", "benchmark": "Doe2026-pls"})
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     path = write_atomically(f"{folder}/score.json", as_json(score.to_dict()))
        ...     print(import_scores(store, path))
        1 new score, 0 that were there already, 0 new failures
    """
    check_place(place)
    if _is_url(place) or is_sqlite(Path(place)):
        with ResultStore(place, read_only=True) as other:
            return merge(store, other, raw_values=raw_values, progress=progress)
    path = Path(place)
    files = files_in(path, "**/*.json") if path.is_dir() else [path]
    if not files:
        raise ValueError(f"no scores in {path}: expected files that end in .json")
    known, refused = 0, []
    # What is read goes through a store of its own: there is one way in, and nothing comes in by halves.
    with tempfile.TemporaryDirectory() as folder, ResultStore(Path(folder) / "read.db") as read:
        for number, file in enumerate(files, 1):
            known_here, refused_here = 0, []
            try:
                is_table = file.suffix.lower() == ".csv"
                known_here, refused_here = _read_table(read, file) if is_table else _read_json(read, file, store)
            except UnicodeDecodeError as error:
                if not path.is_dir():
                    raise ValueError(f"{path}: neither a store of results nor text: {_EXPECTED}") from error
                refused_here = ["neither a store of results nor text"]
            except _WRONG as error:
                if not path.is_dir():
                    raise ValueError(f"{path}: {one_line(error)}") from error
                refused_here = [one_line(error)]
            except OSError as error:
                if error.filename is None or not path.is_dir():  # it is not of this file
                    raise
                refused_here = [str(error.strerror)]
            known += known_here
            refused += [f"{file}: {why}" for why in refused_here]
            if progress is not None:
                progress("files", number, len(files))
        found = merge(store, read, raw_values=raw_values, progress=progress)
    return replace(found, known=found.known + known, refused=tuple(refused))


def check_place(place: str | Path) -> None:
    """Refuse a place where there is nothing to import.

    Raises:
        FileNotFoundError: so it is.
    """
    if not _is_url(place) and not Path(place).exists():
        raise FileNotFoundError(f"nothing at {place}: {_EXPECTED}")


def _is_url(place: str | Path) -> bool:
    return "://" in str(place) and not isinstance(place, Path) and not place.startswith("/")


def _read_table(read: ResultStore, path: Path) -> tuple[int, list[str]]:
    """Read a table of the leaderboard; gives 0, as nothing says yet what is there already, and what is refused."""
    refused, failures = [], []
    for found in read_leaderboard(path):
        try:
            if isinstance(found, Score):
                keep_score(read, found)
            elif isinstance(found, Failed):
                failures.append(failure_row(vars(found)))
            else:
                refused.append(found)
        except _WRONG as error:
            refused.append(one_line(error))
    with read.writing() as connection:
        insert_new(connection, tables.failures, failures)
    return 0, refused


def _read_json(read: ResultStore, path: Path, store: ResultStore) -> tuple[int, list[str]]:
    """Read a file; gives how many of its scores have the key of one that is there already, and what is refused."""
    plain = json.loads(path.read_bytes())
    rows, refused = _rows(plain), []
    for table in (tables.runs, tables.models, tables.benchmarks):
        more = plain.get(table.name, []) if isinstance(plain, dict) else []
        refused += keep_rows(read, table, more if isinstance(more, list) else [more])
    with read.reading() as connection:
        runs = set(connection.execute(select(tables.runs.c.id)).scalars())
    # A score whose raw values were left out has another key than the one that it was made with.
    with store.reading() as connection:
        keys = [row["key"] for row in rows if isinstance(row, dict) and isinstance(row.get("key"), str)]
        there = keys_there(connection, tables.scores, "key", keys)
    known, wrong = 0, []
    for number, row in enumerate(rows, 1):
        try:
            if isinstance(row, dict) and row.get("score") is not None and row.get("key") in there:
                known += 1
            else:
                _read_row(read, row, runs)
        except _WRONG as error:
            wrong.append(one_line(error) if rows == [plain] else f"row {number}: {one_line(error)}")
    if rows and len(wrong) == len(rows):
        raise ValueError(wrong[0] + (f"; nor is any of its {len(rows)} rows a score" if len(rows) > 1 else ""))
    return known, refused + wrong


def _rows(plain: Any) -> list[Any]:
    """The rows of a file: each a score, or a dict with one in it."""
    if isinstance(plain, dict) and "value" in plain:
        return [plain]
    rows = plain.get("scores") if isinstance(plain, dict) else plain
    if not isinstance(rows, list):
        raise ValueError(
            "no scores: expected a score, a list of scores, or what `bsjax score --json` or `bsjax results export "
            f"--scores` writes, got {said(plain)}"
        )
    return rows


def _read_row(read: ResultStore, row: Any, runs: set[str]) -> None:
    if not isinstance(row, dict):
        raise ValueError(f"no score: expected a dict, got {said(row)}")
    if "value" in row:
        keep_score(read, Score.from_dict(row))
        return
    if row.get("run_id") is not None and row["run_id"] not in runs:
        raise ValueError(f"it is of the run {row['run_id']!r}, which the file does not have")
    if row.get("score") is None:
        with read.writing() as connection:
            insert_new(connection, tables.failures, [failure_row(row)])
    elif isinstance(row["score"], dict):
        keep_score(read, Score.from_dict(row["score"]), row)
    else:
        raise ValueError(
            f"no whole score but {said(row['score'])}, as in a table: write it with `bsjax results export --scores`"
        )
