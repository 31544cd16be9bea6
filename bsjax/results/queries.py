"""Queries that return the scores of a store as tables."""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import Connection, literal, select

from bsjax.results import tables
from bsjax.results.database import Readable

COLUMNS = (
    *("model", "model_digest", "benchmark", "version", "parent", "state"),
    *("score", "error", "low", "high", "raw", "raw_error", "ceiling", "ceiling_error", "n_units", "seconds", "memory"),
    *("interval", "started", "reason", "run", "key"),
)
"""Columns of a table of scores."""

_NUMBERS = ("version", *COLUMNS[6:17])
_ASCII = ("state", "started", "run", "key")
_OF_SCORES = COLUMNS[5:]
# Larger selections are filtered in pandas, because databases limit the parameters of a query.
_MOST_ASKED_FOR = 500
# Rows that are converted at a time, so that they stay in the processor's cache.
_AT_ONCE = 100


def frame(
    store: Readable,
    models: str | Iterable[str] | None = None,
    benchmarks: str | Iterable[str] | None = None,
    *,
    latest: bool = True,
    failures: bool = True,
    columns: Iterable[str] | None = None,
) -> pd.DataFrame:
    """A tidy table with one row per score; unaggregated values are not read.

    Args:
        store: the store.
        models, benchmarks: identifiers or globs; by default all.
        latest: only the latest score of each model and benchmark: that on the highest version of the benchmark, and
            among these the one that started last. Scores without a start time count as earliest. False gives all.
        failures: whether pairs whose last attempt failed get a row for it: its ``state`` is "failed", and ``reason``
            is the error in one line.
        columns: the columns to return, in this order; by default all. With hundreds of thousands of scores, few
            columns take half the time.

    Returns:
        Columns ``model``, ``model_digest``, ``benchmark``, ``version``, ``parent``, ``state`` ("scored", "undefined",
        "resolved", "failed"), ``score``, ``error``, ``low``, ``high`` (the ends of the 95 % interval), ``raw``,
        ``raw_error``, ``ceiling``, ``ceiling_error``, ``n_units``, ``seconds``, ``memory`` (peak memory of the process
        in bytes), ``interval`` (its kind and what it generalises over, such as "t over stimuli"), ``started`` (text,
        ISO 8601 in UTC), ``reason`` (the error, or why a score is undefined, if known; "" otherwise), ``run``,
        ``key``.

        Numbers are floats and all other columns are text; unknown values are NaN. Lone surrogates, which a table
        cannot hold, are written as escape sequences.

    Raises:
        ValueError: there is no such column.
        OSError, ConnectionError, TimeoutError: the store cannot be read.

    Example:
        >>> from bsjax.results import ResultStore
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add_failure("pixels", "Doe2026-pls", "no data")
        ...     frame(store)[["model", "benchmark", "state", "reason"]].values.tolist()
        [['pixels', 'Doe2026-pls', 'failed', 'no data']]
    """
    wanted = list(COLUMNS if columns is None else columns)
    if unknown := [name for name in wanted if name not in COLUMNS]:
        raise ValueError(f"a table of scores has the columns {', '.join(COLUMNS)}, got {', '.join(map(repr, unknown))}")
    models, benchmarks = _patterns(models), _patterns(benchmarks)
    read = [name for name in COLUMNS if name in {*wanted, "model", "benchmark", "version", "state", "started"}]
    of, called = tables.models.c, tables.benchmarks.c
    with store.reading() as connection:
        of_models = _table(connection, select(of.id, of.identifier.label("model"), of.digest.label("model_digest")))
        known = (called.id, called.identifier.label("benchmark"), called.version, called.parent)
        of_benchmarks = _table(connection, select(*known).order_by(called.version, called.id))
        named = {
            "model_id": (of_models.loc[_matching(of_models["model"], models)], models is None),
            "benchmark_id": (of_benchmarks.loc[_matching(of_benchmarks["benchmark"], benchmarks)], benchmarks is None),
        }
        found = _scores(connection, named, [name for name in read if name in _OF_SCORES])
        if failures:
            failed = _failures(connection)
            failed = failed.loc[_matching(failed["model"], models) & _matching(failed["benchmark"], benchmarks)]
            parents = dict(
                zip(of_benchmarks["benchmark"], of_benchmarks["parent"], strict=True)
            )  # by the highest version
            failed = failed.assign(parent=_column("parent", [parents.get(name, "") for name in failed["benchmark"]]))
            found = pd.concat([found[read], failed[read]], ignore_index=True) if len(failed) else found
    found = found.loc[are_last(found)] if latest else found
    return found.reset_index(drop=True).loc[:, wanted]


def _table(connection: Connection, asked: Any) -> Any:
    """The result of a query as a table of floats and text."""
    columns: dict[str, list[Any]] = {column.name: [] for column in asked.selected_columns}
    for rows in connection.execute(asked).partitions(_AT_ONCE):
        for column, values in zip(columns.values(), zip(*rows, strict=True), strict=True):
            column.extend(values)
    return pd.DataFrame({name: _column(name, values) for name, values in columns.items()})


def _column(name: str, values: list[Any]) -> Any:
    if name in ("id", "model_id", "benchmark_id") or name in _NUMBERS:
        return np.array(values, np.float64)
    if name not in _ASCII:
        values = [text if text is None else _shown(text) for text in values]
    return pd.array(values, dtype="str")


def _shown(text: str) -> str:
    """Text with lone surrogates escaped."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _scores(connection: Connection, named: dict[str, tuple[Any, bool]], columns: list[str]) -> Any:
    of = tables.scores.c
    asked = select(
        *(of[name] for name in named), *((of["run_id"] if name == "run" else of[name]).label(name) for name in columns)
    )
    for column, (those, are_all) in named.items():
        if not are_all and len(those) <= _MOST_ASKED_FOR:
            asked = asked.where(of[column].in_(those["id"].tolist()))
    found = _table(connection, asked.order_by(of.id))
    if "reason" in found:
        found["reason"] = found["reason"].fillna("")
    for column, (those, _) in named.items():
        found = found.merge(those.rename(columns={"id": column}), on=column)
    return found


def _failures(connection: Connection) -> Any:
    """Failures as rows of a table of scores."""
    of = tables.failures.c
    known = {name: of[name] for name in ("model", "benchmark", "seconds", "started", "key")}
    known |= {"model_digest": literal(""), "state": literal("failed"), "reason": of.error, "run": of.run_id}
    columns = [known.get(name, literal(None)).label(name) for name in COLUMNS]
    return _table(connection, select(*columns).order_by(of.id))


def are_last(found: pd.DataFrame) -> np.ndarray:
    """Mask of the rows that are the latest of their model and benchmark, as :func:`frame` defines it."""
    pair = ["model", "benchmark"]
    last = ~found.duplicated(pair, keep=False).to_numpy()
    rows: Any = found.loc[~last, [*pair, "version", "started", "state"]]
    rows["at"], rows["scored"] = np.flatnonzero(~last), rows["state"] != "failed"
    # A failure has no version, and counts for the highest version with a score of the pair.
    rows["version"] = rows["version"].fillna(rows.groupby(pair)["version"].transform("max")).fillna(0)
    # For equal start times, scores come after failures, as a retry may have succeeded; then by insertion order.
    rows = rows.assign(started=rows["started"].fillna("")).sort_values(["version", "started", "scored", "at"])
    last[rows.drop_duplicates(pair, keep="last")["at"]] = True
    return last


def _patterns(wanted: str | Iterable[str] | None) -> list[str] | None:
    return None if wanted is None else [_shown(each) for each in ([wanted] if isinstance(wanted, str) else wanted)]


def _matching(identifiers: Any, patterns: list[str] | None) -> np.ndarray:
    """Which identifiers equal or match one of the patterns."""
    if patterns is None:
        return np.ones(len(identifiers), bool)
    are = [any(name == each or fnmatchcase(name, each) for each in patterns) for name in identifiers]
    return np.array(are, bool)
