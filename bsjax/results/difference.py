"""Differences between two stores, runs or points in time: pairs, scores, and their provenance."""

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd

from bsjax.labelled import Score
from bsjax.results.overview import latest
from bsjax.results.store import ResultStore

_SIDES = ("one", "other")
_PAIR = ["model", "benchmark"]
_COMPARED = ("score", "error", "state", "key")
_CHANGES = {"left_only": "removed", "right_only": "added", "both": "changed"}
# Entries that other columns have, or that change with every computation.
_NOT_SAID = ("schema", "model", "benchmark", "start", "seconds")
_MOST_SHOWN = 40


def difference(
    one: ResultStore,
    other: ResultStore | None = None,
    *,
    runs: tuple[str, str] | None = None,
    times: tuple[str | datetime | None, str | datetime | None] | None = None,
    models: str | Iterable[str] | None = None,
    benchmarks: str | Iterable[str] | None = None,
    tolerance: float = 0.0,
) -> pd.DataFrame:
    """The pairs of models and benchmarks whose latest scores differ, or that only one side has.

    The sides are two stores, two runs, or one store at two times. These can be combined, e.g. a run of each store.

    Args:
        one: the store, or the first of two.
        other: the second store; by default the same.
        runs: the run of each side, by its name or the beginning of it.
        times: only what had started by these times on each side, see :func:`~bsjax.results.overview.latest`; None for
            now.
        models, benchmarks: identifiers or globs; by default all.
        tolerance: scores that differ by at most this are equal. Scores that are undefined, or failed, on both sides
            are equal.

    Returns:
        One row for each pair, sorted by name: ``model``, ``benchmark``, ``change`` ("removed": only the first side has
        it, "added": only the other has it, "changed"), ``score_one``, ``score_other``, ``difference`` (other minus
        one; for scores resolved in time the difference that is largest in magnitude, NaN if their shapes differ),
        ``error_one``, ``error_other``, ``state_one``, ``state_other``, ``key_one``, ``key_other``, and ``differs``: a
        text that lists differences in provenance, formula, ceiling and number of units.

    Raises:
        ValueError: there is only one side, or the tolerance is below 0.
        KeyError: no such run.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder, ResultStore(f"{folder}/results.db") as store:
        ...     for month, value, dtype in ((1, 0.5, "float32"), (2, 0.625, "float64")):
        ...         made = {"model": "pixels", "benchmark": "Doe2026-pls", "dtype": dtype}
        ...         key = store.add(Score(value, provenance={**made, "start": f"2026-0{month}-01T00:00:00+00:00"}))
        ...     difference(store, times=("2026-01-15", None))[["change", "difference", "differs"]].values.tolist()
        [['changed', 0.125, 'dtype: float32 -> float64']]
    """
    if other is None and runs is None and times is None:
        raise ValueError("a difference is between two stores, two runs or two times: give one of these")
    if not tolerance >= 0:
        raise ValueError(f"tolerance must be a number from 0, got {tolerance}")
    stores = one, other or one
    ran, until = runs or (None, None), times or (None, None)
    frames = [
        latest(store, models, benchmarks, run=run, until=time)
        for store, run, time in zip(stores, ran, until, strict=True)
    ]
    columns = [*_PAIR, *_COMPARED]
    both = pd.merge(
        *(frame[columns] for frame in frames), on=_PAIR, how="outer", suffixes=("_one", "_other"), indicator="change"
    )
    found = []
    for row in both.to_dict("records"):
        row["change"] = _CHANGES[row["change"]]
        size, words = _compared(row, stores, tolerance) if row["change"] == "changed" else (np.nan, "")
        if size is not None:
            found.append({**row, "difference": size, "differs": words})
    numbers = ["score_one", "score_other", "difference", "error_one", "error_other"]
    texts = ["state_one", "state_other", "key_one", "key_other", "differs"]
    return pd.DataFrame(found, columns=[*_PAIR, "change", *numbers, *texts]).astype(dict.fromkeys(numbers, float))


def _compared(
    row: Mapping[str, Any], stores: tuple[ResultStore, ResultStore], tolerance: float
) -> tuple[float | None, str]:
    """The difference of a pair, NaN if it is not a number and None if there is none; and other differences in words."""
    (key, other_key), states = ([row[f"{what}_{side}"] for side in _SIDES] for what in ("key", "state"))
    if key == other_key or states in (["failed"] * 2, ["undefined"] * 2):
        return None, ""
    size = row["score_other"] - row["score_one"]
    if row["score_other"] == row["score_one"] or abs(size) <= tolerance:
        return None, ""
    if "failed" in states:
        return np.nan, ""
    one, other = (store.score(key, raw_values=False) for store, key in zip(stores, (key, other_key), strict=True))
    if states == ["resolved"] * 2:
        size = _largest(one, other)
        if abs(size) <= tolerance:
            return None, ""
    said = [dict(_said(score)) for score in (one, other)]
    names = [name for name in dict.fromkeys([*said[0], *said[1]]) if said[0].get(name) != said[1].get(name)]
    return size, "; ".join(f"{name}: {' -> '.join(_short(of.get(name)) for of in said)}" for name in names)


def _largest(one: Score, other: Score) -> float:
    """The difference of two time-resolved scores that is largest in magnitude; NaN if their time bins differ."""
    if one.sizes != other.sizes:
        return np.nan
    # Values that are undefined, or infinite, on both sides are equal.
    same = (one.values == other.values) | (np.isnan(one.values) & np.isnan(other.values))
    with np.errstate(invalid="ignore"):
        values = np.where(same, 0.0, other.values - one.values)
    return float(values.flat[np.argmax(np.where(np.isnan(values), np.inf, np.abs(values)))])


def _said(score: Score) -> Iterator[tuple[str, Any]]:
    """Names and plain values of a score's entries other than its value."""
    yield "formula", score.formula
    for name, part in (("unceiled", score.unceiled), ("ceiling", score.ceiling)):
        if part is not None and not part.sizes:
            yield name, f"{float(part):.6g}"
    yield "n_units", score.n_units
    for name, value in score.provenance.to_dict().items():
        if name in _NOT_SAID:
            continue
        if isinstance(value, dict) and not any(key.startswith("$") for key in value):
            yield from ((f"{name}.{key}", entry) for key, entry in value.items())
        else:
            yield name, value


def _short(value: Any) -> str:
    text = "-" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
