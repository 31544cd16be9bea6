"""Reader of CSV tables written by :func:`~bsjax.results.exchange.export`."""

import csv
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from bsjax.benchmarks import benchmark_registry, benchmark_row
from bsjax.labelled import Score
from bsjax.labelled.provenance import Provenance
from bsjax.results.exchange.checked_rows import Found, Row
from bsjax.results.exchange.exported import without_formula_mark

_NEEDED = {"model", "benchmark", "state", "score"}
# States of cells of a grid that were not run.
_WITHOUT_SCORE = ("blocked", "missing")


def is_exported_table(path: Path) -> bool:
    """Whether the header has the columns of a table with one score per row."""
    with open(path, encoding="utf-8-sig", newline="", errors="replace") as file:
        return _NEEDED <= set(next(csv.reader(file), []))


def read_exported_table(path: Path) -> Iterator[Found]:
    """Read the scores and failures of a table, without the unaggregated values.

    Raises:
        ValueError: the file is not CSV.
    """
    try:
        table = pd.read_csv(path, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ValueError(f"no table in CSV ({error})") from error
    for line, cells in enumerate(table.to_dict("records"), 2):
        known = {str(name): without_formula_mark(text) for name, text in cells.items() if text}
        yield f"row {line}: ", partial(_read, known)


def _read(cells: Mapping[str, str]) -> Any:
    names = {name: cells.get(name) for name in ("model", "benchmark", "key", "started", "interval")}
    numbers = {name: _number(cells, name) for name in ("seconds", "memory", "low", "high")}
    if cells.get("state") == "failed":
        return Row(**names, seconds=numbers["seconds"], error=cells.get("reason"))
    if cells.get("state") in _WITHOUT_SCORE:
        return None
    if cells.get("state") not in ("scored", "undefined"):
        raise ValueError(
            f"a score that is {cells.get('state')!r} is no single number, and not in a table: write it with "
            "`bsjax results export --scores`"
        )
    made = Provenance(
        model=names["model"],
        model_digest=cells.get("model_digest"),
        benchmark=names["benchmark"],
        benchmark_version=_version(cells),
        parent=cells.get("parent"),
        start=names["started"],
        seconds=numbers["seconds"],
        reason=cells.get("reason"),
        details={"source": "table"},
    )
    value = _number(cells, "score")
    score = Score(
        float("nan") if value is None else value,
        error=_number(cells, "error"),
        ceiling=_part(cells, "ceiling"),
        unceiled=_part(cells, "raw"),
        provenance=made,
    )
    return Row(**names, **numbers, score=score.to_dict())


def _version(cells: Mapping[str, str]) -> int | None:
    """The version of the benchmark in the table, else that of the registered benchmark."""
    version, benchmark = _number(cells, "version"), cells.get("benchmark")
    if version is None and benchmark is not None and benchmark in benchmark_registry:
        version = benchmark_row(benchmark).version
    return None if version is None else int(version)


def _part(cells: Mapping[str, str], column: str) -> Score | None:
    value = _number(cells, column)
    return None if value is None else Score(value, error=_number(cells, f"{column}_error"))


def _number(cells: Mapping[str, str], name: str) -> float | None:
    try:
        return float(cells[name]) if name in cells else None
    except ValueError:
        raise ValueError(f"expected a number in the column {name!r}, got {cells[name]!r}") from None
