"""Tables of what a store holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sqlalchemy import Connection, Select, Table, select

from bsjax.results import tables

if TYPE_CHECKING:
    from bsjax.results.store import ResultStore

COLUMNS = (
    *("model", "model_digest", "benchmark", "version", "parent", "state"),
    *("score", "error", "low", "high", "raw", "raw_error", "ceiling", "ceiling_error", "n_units", "seconds", "memory"),
    *("interval", "started", "reason", "run", "key"),
)
"""Of a table of scores."""

_NUMBERS = COLUMNS[6:17]
_NOT_WHOSE = COLUMNS[5:]
# So many rows are turned into columns at a time: what was just read is still in the processor's cache.
_AT_ONCE = 100
# More models or benchmarks are picked here: databases bound the number of values in a question.
_MOST_ASKED_FOR = 500


def frame(
    store: ResultStore,
    models: str | Iterable[str] | None = None,
    benchmarks: str | Iterable[str] | None = None,
    *,
    latest: bool = True,
    failures: bool = True,
    columns: Iterable[str] | None = None,
) -> pd.DataFrame:
    """A tidy table of scores, a row each; nothing that they are aggregates of is read.

    Args:
        store: the store.
        models, benchmarks: identifiers or globs; all if not given.
        latest: of each model and benchmark the last score alone: that of the greatest version of the benchmark, and of
            these the one that was begun last; what does not say when counts as begun first. False gives all.
        failures: whether pairs without a score have a row too, if one was tried after the last score: its ``state`` is
            "failed", and ``reason`` the error in one line.
        columns: those that are wanted, in this order; all if not given. Of hundreds of thousands of scores, few columns
            take half the time.

    Returns:
        Columns ``model``, ``model_digest``, ``benchmark``, ``version``, ``parent``, ``state`` ("scored", "undefined",
        "resolved", "failed"), ``score``, ``error``, ``low``, ``high`` (the ends of its interval of 95 %), ``raw``,
        ``raw_error``, ``ceiling``, ``ceiling_error``, ``n_units``, ``seconds``, ``memory`` (bytes that the process held
        at most), ``interval`` (its kind and over what, such as "t over stimuli"), ``started`` (text, ISO 8601 in UTC),
        ``reason`` (also why a score is undefined, where that is known; "" else), ``run``, ``key``.
        Numbers are floats, all else is text; what is not known is NaN.
        Halves of pairs of surrogates, for which there is no place in a table, are written as their numbers.

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
    read = {*wanted, "model", "benchmark", "version", *(["state", "started"] if latest else [])}
    with store.reading() as connection:
        of_models = _named(connection, "model", tables.models, models)
        of_benchmarks = _named(connection, "benchmark", tables.benchmarks, benchmarks)
        scores = _scores(connection, of_models, of_benchmarks, read)
        failed = _failures(connection, models, benchmarks, of_benchmarks) if failures else scores.iloc[:0]
        failed = failed.loc[:, scores.columns]
    found = pd.concat([scores, failed], ignore_index=True) if len(failed) else scores
    found = found.loc[are_last(found)] if latest else found
    return found.reset_index(drop=True).loc[:, wanted]


@dataclass(frozen=True)
class _Named:
    """Models or benchmarks.

    Attributes:
        ids: their numbers.
        columns: what is known of them, by columns.
        wanted: whether they are asked for.
    """

    ids: np.ndarray
    columns: dict[str, Any]
    wanted: np.ndarray


def _scores(connection: Connection, models: _Named, benchmarks: _Named, read: set[str]) -> pd.DataFrame:
    of = tables.scores.c
    ids = {of.model_id: models, of.benchmark_id: benchmarks}
    names = [name for name in _NOT_WHOSE if name in read]
    numbers = [name for name in names if name in _NUMBERS]
    texts = [name for name in names if name not in _NUMBERS]
    asked = select(*ids, *(of["run_id" if name == "run" else name] for name in numbers + texts)).order_by(of.id)
    for column, named in ids.items():
        wanted = named.ids[named.wanted].tolist()
        if len(wanted) < len(named.ids) and len(wanted) <= _MOST_ASKED_FOR:
            asked = asked.where(column.in_(wanted))
    of_numbers, of_texts = _columns(connection, asked, len(ids) + len(numbers))
    columns, wanted = {}, np.ones(of_numbers.shape[1], bool)
    for number, named in zip(of_numbers, ids.values(), strict=False):
        places = pd.Index(named.ids).get_indexer(number.astype(np.int64))
        columns |= {name: column.take(places) for name, column in named.columns.items()}
        wanted &= named.wanted[places]
    columns |= dict(zip(numbers, of_numbers[len(ids) :], strict=True))
    columns |= {name: _READ.get(name, _texts)(values) for name, values in zip(texts, of_texts, strict=True)}
    return pd.DataFrame({name: columns[name] for name in COLUMNS if name in read}).loc[wanted].reset_index(drop=True)


def _columns(connection: Connection, asked: Select[Any], n_numbers: int) -> tuple[np.ndarray, list[list[Any]]]:
    """The columns of many rows: first the numbers, one below the other, NULL as NaN, then those of text.

    They are read past SQLAlchemy, whose rows take several times as long.
    """
    result = connection.execute(asked)
    numbers, texts = [np.empty((n_numbers, 0))], [[] for _ in list(result.keys())[n_numbers:]]
    cursor: Any = result.cursor
    while rows := cursor.fetchmany(_AT_ONCE):
        columns = list(zip(*rows, strict=True))
        numbers.append(np.array(columns[:n_numbers], np.float64))
        for text, column in zip(texts, columns[n_numbers:], strict=True):
            text.extend(column)
    result.close()
    return np.concatenate(numbers, axis=1), texts


def _failures(connection: Connection, models: Any, benchmarks: Any, named: _Named) -> pd.DataFrame:
    """Rows of what failed, as those of scores."""
    of = tables.failures.c
    rows = connection.execute(
        select(of.model, of.benchmark, of.error, of.seconds, of.started, of.run_id, of.key).order_by(of.id)
    ).all()
    model, benchmark, error, seconds, started, run, key = zip(*rows, strict=True) if rows else ((),) * 7
    model, benchmark = _texts(map(_shown, model)), _texts(map(_shown, benchmark))
    wanted = _matching(model, models) & _matching(benchmark, benchmarks)
    parents = dict(zip(named.columns["benchmark"], named.columns["parent"], strict=True))  # that of the last version
    found = pd.DataFrame(
        {
            "model": model,
            "model_digest": _texts("" for _ in rows),
            "benchmark": benchmark,
            "version": np.full(len(rows), np.nan),
            "parent": _texts(parents.get(name, "") for name in benchmark),
            "state": _texts("failed" for _ in rows),
            **{name: np.full(len(rows), np.nan) for name in _NUMBERS},
            "interval": _texts(None for _ in rows),
            "started": _texts(started),
            "reason": _texts(map(_shown, error)),
            "run": _texts(run),
            "key": _texts(key),
        }
    )
    found["seconds"] = np.array(seconds, np.float64)
    return found.loc[wanted]


def are_last(found: pd.DataFrame) -> np.ndarray:
    """Which rows of a table of scores are the last of their model and benchmark, as :func:`frame` says it."""
    model, benchmark = (pd.factorize(found[name])[0] for name in ("model", "benchmark"))
    pair = pd.factorize(model * (benchmark.max(initial=0) + 1) + benchmark)[0]
    last = np.ones(len(found), bool)
    several = np.flatnonzero((np.bincount(pair, minlength=1) > 1)[pair])
    if not several.size:
        return last
    rows, pair = found.iloc[several], pair[several]
    failed = (rows["state"] == "failed").to_numpy(bool)
    # A failure has no version: it counts as of the greatest that the pair has a score of.
    version = rows["version"].fillna(rows["version"].groupby(pair).transform("max")).fillna(0).to_numpy()
    # What was begun in the same second comes in the order in which it was kept; a failure was tried again, and scored.
    started = pd.factorize(rows["started"].fillna(""), sort=True)[0]
    order = np.lexsort((np.arange(len(rows)), ~failed, started, version, pair))
    last[several[order[:-1][np.diff(pair[order]) == 0]]] = False
    return last


def _named(connection: Connection, kind: str, table: Table, patterns: list[str] | None) -> _Named:
    """Models or benchmarks, the later versions last."""
    # Their columns, and what these are called in a table of scores.
    known = {"identifier": kind, "digest": "model_digest", "version": "version", "parent": "parent"}
    names = [name for name in known if name in table.c]
    order = table.c.get("version", table.c.id)
    rows = connection.execute(select(table.c.id, *(table.c[name] for name in names)).order_by(order, table.c.id)).all()
    ids, *values = zip(*rows, strict=True) if rows else ((),) * (1 + len(names))
    columns = {
        known[name]: np.array(value, np.float64) if name == "version" else _texts(map(_shown, value))
        for name, value in zip(names, values, strict=True)
    }
    return _Named(np.array(ids, np.int64), columns, _matching(columns[kind], patterns))


def _texts(values: Iterable[str | None]) -> Any:
    return pd.array(list(values), dtype="str")


def _few_texts(values: list[str | None], written: Callable[[Any], Any] = lambda text: text) -> Any:
    """As ``_texts``, of values most of which are the same."""
    numbers: dict[str | None, int] = {}
    codes = np.fromiter((numbers.setdefault(value, len(numbers)) for value in values), np.int64, len(values))
    return _texts(written(text) for text in numbers).take(codes)


def _reasons(values: list[str | None]) -> Any:
    return _few_texts(values, lambda text: _shown(tables.unescaped(text or "")))


def _words(values: list[str | None]) -> Any:
    return _few_texts(values, lambda text: None if text is None else _shown(tables.interval_words(text)))


# How a column of text is read, where its values are not all different.
_READ: dict[str, Callable[[list[Any]], Any]] = {
    "state": _few_texts,
    "run": _few_texts,
    "reason": _reasons,
    "interval": _words,
}


def _shown(text: str) -> str:
    """Text as tables can hold it."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _patterns(wanted: str | Iterable[str] | None) -> list[str] | None:
    if wanted is None:
        return None
    return [_shown(pattern) for pattern in ([wanted] if isinstance(wanted, str) else wanted)]


def _matching(identifiers: Any, patterns: list[str] | None) -> np.ndarray:
    """Which identifiers are one of the patterns, or as one of them says."""
    if patterns is None:
        return np.ones(len(identifiers), bool)
    codes, names = pd.factorize(identifiers)
    are = [any(name == each or fnmatchcase(name, each) for each in patterns) for name in names]
    return np.array(are, bool)[codes]
