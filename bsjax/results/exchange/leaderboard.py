"""The table of scores that Brain-Score's website lets download, with a row for each model."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from bsjax.benchmarks import benchmark_registry
from bsjax.core.messages import some
from bsjax.labelled import Score
from bsjax.labelled.provenance import Provenance
from bsjax.results.exchange.checked_rows import Row

# How many decimals the website shows.
_DECIMALS = 3
_MODEL = ("model_name", "model")
_LAYERS = "layers"
_VERSIONED = re.compile(r"(.+)_v(\d+)", re.DOTALL)
# Averages of others, of which there is no version.
_OF_AVERAGES = 0


def read_leaderboard(path: str | Path) -> Iterator[Any]:
    """The scores of a table of Brain-Score's website.

    A column is a benchmark and its version, ``MajajHong2015.V4-pls_v3``; those of averages have the version 0, and are
    left out, as is all that is no benchmark. A cell is a score after its normalisation, to three decimals and
    without the zero before the point; it is empty where there is no score, and ``X`` where there was to be one and is
    none.

    Args:
        path: the CSV file.

    Yields:
        Scores, which say in ``provenance.details`` that they are from the leaderboard and how many decimals they have;
        failures; and in a line what can be read as neither.

    Raises:
        ValueError: it is no such table.
        OSError: it cannot be read.
    """
    # The website writes comments above the table; what has been through other programs, a mark of its encoding.
    with open(path, encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file, strict=True)
        try:
            header = next((row for row in rows if row and not row[0].startswith("#")), [])
            model = _model_column(header)
            benchmarks = _benchmark_columns(header)
            named = [*benchmarks.values()]
            if twice := sorted({header[n] for n, found in benchmarks.items() if named.count(found) > 1}):
                raise ValueError(f"columns of the same benchmark: {some(twice)}")
            for row in rows:
                if row:
                    yield from _scores_of(row, header, model, benchmarks, rows.line_num)
        except (csv.Error, UnicodeDecodeError) as error:
            raise ValueError(f"no table in CSV ({error})") from error


def _model_column(header: Sequence[str]) -> int:
    for name in _MODEL:
        if name in header:
            return header.index(name)
    raise ValueError(f"no table of scores: expected a column {_MODEL[0]!r}, got {some(header) or 'nothing'}")


def _benchmark_columns(header: Sequence[str]) -> dict[int, tuple[str, int | None]]:
    """Column -> benchmark and version; the version is not known of a column that has the name alone."""
    found: dict[int, tuple[str, int | None]] = {}
    for number, name in enumerate(header):
        versioned = _VERSIONED.fullmatch(name)
        if versioned and int(versioned[2]) != _OF_AVERAGES:
            found[number] = versioned[1], int(versioned[2])
        elif not versioned and name in benchmark_registry:
            found[number] = name, None
    if not found:
        raise ValueError(
            "no table of scores: expected the columns model, benchmark, state ('scored') and score, with a score in "
            f"each row, or of a leaderboard a column for each benchmark and its version, got {some(header)}"
        )
    return found


def _scores_of(
    row: Sequence[str], header: Sequence[str], model: int, benchmarks: dict[int, tuple[str, int | None]], line: int
) -> Iterator[Any]:
    if len(row) != len(header):
        yield f"line {line}: expected {len(header)} cells, got {len(row)}"
        return
    name = row[model]
    if not name.strip():
        yield f"line {line}: no name of a model"
        return
    layers = None
    if _LAYERS in header and row[header.index(_LAYERS)].strip():
        try:
            layers = _layers(row[header.index(_LAYERS)])
        except ValueError as error:
            yield f"line {line}: {error}"
    for number, (benchmark, version) in benchmarks.items():
        shown = row[number].strip()
        value = _number(shown)
        if shown.lower() in ("x", "nan"):
            yield Row(model=name, benchmark=benchmark, error="shown as X on the leaderboard")
        elif value is not None:
            details = {"source": "leaderboard", "decimals": _DECIMALS}
            origin = {"model": name, "benchmark": benchmark, "benchmark_version": version, "layers": layers}
            yield Score(value, formula="as on the leaderboard", provenance=Provenance(**origin, details=details))
        elif shown:
            yield f"line {line}, column {header[number]!r}: expected a score, 'X' or nothing, got {shown!r}"


def _number(shown: str) -> float | None:
    try:
        value = float(shown)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _layers(text: str) -> dict[str, list[str]]:
    """Region -> layers; the website has one or several for each."""
    try:
        layers = msgspec.json.decode(text, type=dict[str, str | list[str]])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"layers must be a JSON object of regions and layers, got {text[:60]!r}: {error}") from error
    return {region: [named] if isinstance(named, str) else named for region, named in layers.items()}
