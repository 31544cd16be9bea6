"""What differs between two stores, two runs, or two points in time: pairs, scores, and where those come from."""

from __future__ import annotations

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
# What is said elsewhere of a pair, or changes with each computation.
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

    The sides are two stores, two runs, or what there was at two times; also several of these, e.g. a run of each store.

    Args:
        one: the store, or the first of two.
        other: the other store; the same if not given.
        runs: the run of each side, by name or the beginning of it.
        times: until when each side was begun, see :func:`~bsjax.results.overview.latest`; None for now.
        models, benchmarks: identifiers or globs; all if not given.
        tolerance: by how much scores may differ and still be the same. Those that are undefined, or failed, on both
            sides are the same.

    Returns:
        A row for each pair, by name: ``model``, ``benchmark``, ``change`` ("removed": only the first side has it,
        "added": only the other has it, "changed"), ``score_one``, ``score_other``, ``difference`` (other less one; of
        scores that are resolved in time the largest in size, NaN where their shapes differ), ``error_one``,
        ``error_other``, ``state_one``, ``state_other``, ``key_one``, ``key_other``, and ``differs``: in words, what
        differs beside the scores, in provenance, formula, ceiling or number of units.

    Raises:
        ValueError: there is one side only, or a tolerance below 0.
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
    """By how much the sides of a pair differ, NaN where that is no number and None where they do not; and what else."""
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
    """The largest difference, in size, of scores that are resolved in time; NaN if they are of different times."""
    if one.sizes != other.sizes:
        return np.nan
    # What is undefined, or infinite, on both sides is the same.
    same = (one.values == other.values) | (np.isnan(one.values) & np.isnan(other.values))
    with np.errstate(invalid="ignore"):
        values = np.where(same, 0.0, other.values - one.values)
    return float(values.flat[np.argmax(np.where(np.isnan(values), np.inf, np.abs(values)))])


def _said(score: Score) -> Iterator[tuple[str, Any]]:
    """What a score says beside its value: names, and plain values."""
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
