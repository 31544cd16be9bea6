"""Export of scores from a store: a table as CSV, JSON or Parquet, or full scores as JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pandas as pd
from pandas.api.types import is_numeric_dtype
from sqlalchemy import Select, select

from bsjax.core.extras import import_extra
from bsjax.core.files import as_json, written_aside
from bsjax.results import tables
from bsjax.results.database import askable

if TYPE_CHECKING:
    from bsjax.results.store import ResultStore

FORMATS = ("csv", "json", "parquet")
# Integer columns with missing values.
_WHOLE = ("version", "n_units")
# Tables that scores refer to, and the columns that do so.
_REFERRED = {
    "runs": (tables.runs, "run_id"),
    "models": (tables.models, "model_id"),
    "benchmarks": (tables.benchmarks, "benchmark_id"),
}
_BEGINS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_OF_BOTH = ("model", "benchmark", "key", "run_id", "task", "cell", "seconds")
_OF_SCORES = (*_OF_BOTH, "memory", "low", "high", "interval", "opened")
_OF_FAILURES = (*_OF_BOTH, "kind", "error", "log", "started")


def export(
    store: ResultStore,
    path: str | Path,
    format: str | None = None,
    *,
    models: str | Iterable[str] | None = None,
    benchmarks: str | Iterable[str] | None = None,
    latest: bool = True,
    scores: bool = False,
) -> int:
    """Write scores to a file. The file is replaced only once it is complete.

    Args:
        store: the store.
        path: the file.
        format: "csv", "json" or "parquet"; by default from the file's extension.
        models, benchmarks: identifiers or globs; by default all.
        latest: only the latest score of each model and benchmark, see :func:`bsjax.results.queries.frame`.
        scores: whether to write full scores, with their runs and the logs of failures, which
            :func:`~bsjax.results.exchange.import_scores` reads without loss. Requires JSON.

    Returns:
        The number of rows written; each is a score or a failure.

    Raises:
        ValueError: the format is unknown, or cannot hold full scores.
        ImportError: Parquet is requested without pyarrow.
        OSError: the file cannot be written.

    Example:
        >>> import tempfile
        >>> from bsjax import Score
        >>> from bsjax.results import ResultStore
        >>> score = Score(0.5, provenance={"model": "pixels", "benchmark": "Doe2026-pls"})
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     key = store.add(score)
        ...     n = export(store, f"{folder}/scores.csv")
        ...     print(n, Path(folder, "scores.csv").read_text()[:62])
        1 model,model_digest,benchmark,version,parent,state,score,error,
    """
    made = format_of(path, format)
    if scores and made != "json":
        raise ValueError(f"whole scores can be written as json alone, got {made}: leave out scores, or choose json")
    if made == "parquet":
        import_extra("pyarrow", "parquet")
    frame = store.frame(models, benchmarks, latest=latest)
    if not scores:
        frame = frame.astype(dict.fromkeys(_WHOLE, "Int64"))
    with written_aside(path) as aside:
        if scores:
            _write_whole(store, frame["key"].tolist(), aside)
        elif made == "csv":
            of_text: Any = {name: of.map(_no_formula) for name, of in frame.items() if not is_numeric_dtype(of)}
            frame.assign(**of_text).to_csv(aside, index=False, encoding="utf-8")
        elif made == "parquet":
            frame.to_parquet(aside, engine="pyarrow", index=False)
        else:
            with open(aside, "wb") as file:
                _write_list(file, map(_plain, frame.to_dict("records")))
                file.write(b"\n")
    return len(frame)


def _no_formula(text: Any) -> Any:
    """Prefix text that a spreadsheet would treat as a formula with an apostrophe."""
    if not isinstance(text, str) or not text.startswith(_BEGINS_A_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def without_formula_mark(text: str) -> str:
    """Remove the apostrophe that export puts before text that looks like a formula.

    Example:
        >>> without_formula_mark("'=1+1"), without_formula_mark("'quoted'")
        ('=1+1', "'quoted'")
    """
    return text[1:] if text.startswith("'") and text[1:].startswith(_BEGINS_A_FORMULA) else text


def format_of(path: str | Path, format: str | None = None) -> str:
    """The format of a file, by default from its extension.

    Raises:
        ValueError: the format is not supported.

    Example:
        >>> format_of("scores.CSV"), format_of("/dev/stdout", "json")
        ('csv', 'json')
    """
    made = format or Path(path).suffix[1:].lower()
    if made not in FORMATS:
        said = f"the format {format!r}" if format else f"the ending of {str(path)!r}"
        raise ValueError(f"scores are written as {', '.join(FORMATS)}; {said} is none of these")
    return made


def _write_whole(store: ResultStore, keys: list[str], path: Path) -> None:
    """Write a dict of lists: ``scores`` with failures, and the ``runs``, ``models`` and ``benchmarks`` of them."""
    referred: dict[str, dict[Any, None]] = {name: {} for name in _REFERRED}
    with open(path, "wb") as file:
        file.write(b'{"scores": ')
        _write_list(file, _whole_rows(store, keys, referred))
        for name, (table, _) in _REFERRED.items():
            file.write(f', "{name}": '.encode())
            rows = _rows(store, select(table), table.c.id, referred[name])
            _write_list(file, (rows[number] for number in referred[name]))
        file.write(b"}\n")


def _whole_rows(
    store: ResultStore, keys: list[str], referred: Mapping[str, dict[Any, None]]
) -> Iterator[dict[str, Any]]:
    """Each score or failure as a row; the ids of the rows that it refers to are added to ``referred``."""
    # The store may have renamed models and benchmarks since they were scored.
    names = (of.c.identifier.label(name) for name, of in (("model", tables.models), ("benchmark", tables.benchmarks)))
    of_scores = select(tables.scores, *names).join(tables.models).join(tables.benchmarks)
    for part in askable(keys):
        rows = _rows(store, of_scores, tables.scores.c.key, part)
        rows |= _rows(store, select(tables.failures), tables.failures.c.key, part)
        for key in part:
            row = rows[key]
            for name, (_, column) in _REFERRED.items():
                if row.get(column) is not None:
                    referred[name][row[column]] = None
            if "document" in row:
                score = {"score": store.score(key).to_dict(), "error": None}
                yield _plain({name: row[name] for name in _OF_SCORES}) | score
            else:
                yield _plain({name: row[name] for name in _OF_FAILURES}) | {"score": None}


def _rows(store: ResultStore, asked: Select[Any], column: Any, values: Iterable[Any]) -> dict[Any, dict[str, Any]]:
    """The rows with these values in a column, by value."""
    with store.reading() as connection:
        return {
            row[column.name]: dict(row)
            for part in askable(values)
            for row in connection.execute(asked.where(column.in_(part))).mappings()
        }


def _write_list(file: BinaryIO, rows: Iterable[Any]) -> None:
    """Write a JSON list row by row, without holding it in memory."""
    between = b"[\n"
    for row in rows:
        file.write(between + as_json(row))
        between = b",\n"
    file.write(b"[]" if between == b"[\n" else b"\n]")


def _plain(row: Mapping[Any, Any]) -> dict[str, Any]:
    """A table row as values for strict JSON."""

    def plain(value: Any) -> Any:
        return None if pd.isna(value) else str(value) if isinstance(value, float) and math.isinf(value) else value

    return {str(name): plain(value) for name, value in row.items()}
