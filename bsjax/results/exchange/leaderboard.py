"""Reader of the score table that Brain-Score's website offers for download, with one row per model."""

import csv
import math
import re
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from bsjax.benchmarks import benchmark_registry
from bsjax.core.messages import some
from bsjax.labelled import Score
from bsjax.labelled.provenance import Provenance
from bsjax.results.exchange.checked_rows import Found, Row

# Decimals on the website.
_DECIMALS = 3
_MODEL = ("model_name", "model")
_LAYERS = "layers"
_VERSIONED = re.compile(r"(.+)_v(\d+)", re.DOTALL)
# The website's version number of averages.
_OF_AVERAGES = 0


def read_leaderboard(path: str | Path) -> Iterator[Found]:
    """Read the scores of a table from Brain-Score's website.

    A column is a benchmark and its version, ``MajajHong2015.V4-pls_v3``. Averages have the version 0; they are left
    out, as are columns that are not benchmarks. A cell is a normalised score with three decimals and no leading zero.
    It is empty if there is no score, and ``X`` if scoring failed.

    Args:
        path: the CSV file.

    Yields:
        Scores, whose ``provenance.details`` name the leaderboard and the number of decimals; and failures.

    Raises:
        ValueError: it is not such a table.
        OSError: it cannot be read.
    """
    # The website writes comments above the table; other programs add a byte order mark.
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
    """Column -> benchmark and version; the version is None if the column has the name alone."""
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
) -> Iterator[Found]:
    if len(row) != len(header):
        yield f"line {line}: ", partial(_refuse, f"expected {len(header)} cells, got {len(row)}")
        return
    if not row[model].strip():
        yield f"line {line}: ", partial(_refuse, "no name of a model")
        return
    layers = None
    if _LAYERS in header and row[header.index(_LAYERS)].strip():
        try:
            layers = _layers(row[header.index(_LAYERS)])
        except ValueError as error:
            yield f"line {line}: ", partial(_refuse, str(error))
    for number, (benchmark, version) in benchmarks.items():
        if shown := row[number].strip():
            origin = {"model": row[model], "benchmark": benchmark, "benchmark_version": version, "layers": layers}
            yield f"line {line}, column {header[number]!r}: ", partial(_row, shown, origin)


def _refuse(why: str) -> None:
    raise ValueError(why)


def _row(shown: str, origin: dict[str, Any]) -> Any:
    """The score or failure in a cell."""
    if shown.lower() in ("x", "nan"):
        return Row(model=origin["model"], benchmark=origin["benchmark"], error="shown as X on the leaderboard")
    try:
        value = float(shown)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"expected a score, 'X' or nothing, got {shown!r}")
    made = Provenance(**origin, details={"source": "leaderboard", "decimals": _DECIMALS})
    return Row(score=Score(value, formula="as on the leaderboard", provenance=made).to_dict())


def _layers(text: str) -> dict[str, list[str]]:
    """Region -> layers, from JSON with one or several layers for each region."""
    try:
        layers = msgspec.json.decode(text, type=dict[str, str | list[str]])
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"layers must be a JSON object of regions and layers, got {text[:60]!r}: {error}") from error
    return {region: [named] if isinstance(named, str) else named for region, named in layers.items()}
