"""What differs between two stores, two runs, two times."""

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

from bsjax import Score
from bsjax.labelled.provenance import Provenance
from bsjax.results import ResultStore
from bsjax.results.difference import difference
from bsjax.results.exchange import merge
from bsjax.results.store import Task


@pytest.fixture
def stores(tmp_path):
    return ResultStore(tmp_path / "one.db"), ResultStore(tmp_path / "other.db")


def made(value, model="pixels", benchmark="Doe-pls", *, day=1, origin=None, **more):
    said = {"benchmark_version": 1, "dtype": "float64", "versions": {"jax": "0.8"}, **(origin or {})}
    when = {"start": f"2026-08-{day:02d}T12:00:00+00:00", "seconds": day}
    return Score(value, error=0.01, provenance=Provenance(model=model, benchmark=benchmark, **when, **said), **more)


def test_two_stores(stores):
    one, other = stores
    for store in stores:
        store.add(made(0.5, "same", day=1 if store is one else 2))
        store.add(made(0.5 if store is one else 0.75, "<script>\n"))
    only_one, only_other = one.add(made(0.1, "first")), other.add(made(0.2, "second", "Roe-pls"))
    found = difference(one, other)
    assert found[["model", "benchmark", "change"]].values.tolist() == [
        ["<script>\n", "Doe-pls", "changed"],
        ["first", "Doe-pls", "removed"],
        ["second", "Roe-pls", "added"],
    ]
    np.testing.assert_array_equal(found["difference"], [0.25, np.nan, np.nan])
    np.testing.assert_array_equal(found["score_one"], [0.5, 0.1, np.nan])
    np.testing.assert_array_equal(found["error_other"], [0.01, np.nan, 0.01])
    assert (found["key_one"][1], found["key_other"][2]) == (only_one, only_other)
    back = difference(other, one)
    assert back["difference"][0] == -0.25 and back["change"].tolist() == ["changed", "added", "removed"]
    assert len(difference(one, other, models=["f*", "s*"], benchmarks="Doe*")) == 1
    assert difference(one, one).empty and list(difference(one, one)) == list(found)
    merge(one, other)
    # Of two that were begun at once, the last is what came last.
    assert difference(one, other)["model"].tolist() == ["first"]


def test_a_tolerance(stores):
    one, other = stores
    for n, change in enumerate((0.0, 1e-9, -0.001, 0.01)):
        one.add(made(0.5, f"m{n}"))
        other.add(made(0.5 + change, f"m{n}", day=2))
    n_differing = [len(difference(one, other, tolerance=tolerance)) for tolerance in (0, 1e-6, 0.0011, 1)]
    assert n_differing == [3, 2, 1, 0]
    for wrong in (-1, np.nan):
        with pytest.raises(ValueError, match="tolerance must be a number from 0"):
            difference(one, other, tolerance=wrong)


def add_on_two_days(stores, pairs):
    """Scores of models in one store and the other; None for a failure."""
    for model, values in pairs.items():
        for day, (store, value) in enumerate(zip(stores, values, strict=True), 1):
            if value is None:
                store.add_failure(model, "Doe-pls", f"on day {day}", started=f"2026-08-{day:02d}T12:00:00+00:00")
            else:
                store.add(replace(made(0.5, model, day=day), value=value, error=None))


def test_undefined_and_failed(stores):
    pairs = {"both undefined": (np.nan, np.nan), "both infinite": (np.inf, np.inf), "both failed": (None, None)}
    pairs |= {"undefined since": (0.5, np.nan), "defined since": (np.nan, 0.5), "failed since": (0.5, None)}
    add_on_two_days(stores, pairs | {"scored since": (None, 0.5)})
    found = difference(*stores, tolerance=10)
    assert found[["model", "state_one", "state_other"]].values.tolist() == [
        ["defined since", "undefined", "scored"],
        ["failed since", "scored", "failed"],
        ["scored since", "failed", "scored"],
        ["undefined since", "scored", "undefined"],
    ]
    assert found["difference"].isna().all()


def test_scores_that_are_resolved_in_time(stores):
    over, later, gone = (
        xr.DataArray(values, dims=["time_bin"])
        for values in ([0.1, np.nan, 0.3], [0.1, np.nan, 0.1], [0.1, 0.2, np.nan])
    )
    pairs = {"same": (over, over), "less": (over, later), "other places": (over, gone)}
    add_on_two_days(stores, pairs | {"shorter": (over, over[:2]), "single": (over, 0.3)})
    found = difference(*stores)
    assert found["model"].tolist() == ["less", "other places", "shorter", "single"]
    np.testing.assert_allclose(found["difference"], [-0.2, np.nan, np.nan, np.nan])
    assert difference(*stores, tolerance=0.3)["model"].tolist() == ["other places", "shorter", "single"]


def test_what_differs_beside_the_score(stores):
    one, other = stores
    first = {"details": {"bins": (70, 170)}}
    changes = {"versions": {"jax": "0.9", "numpy": "2.0"}, "data": "x" * 100, "details": {"bins": (70, 90)}}
    one.add(made(0.5, ceiling=Score(0.8), unceiled=Score(0.25), formula="r²/c", origin=first))
    other.add(
        made(0.6, ceiling=Score(0.75), unceiled=Score(0.25), formula="r/c", origin=changes | {"model_digest": "ab"})
    )
    [words] = difference(one, other)["differs"]
    assert words.split("; ") == [
        "formula: r²/c -> r/c",
        "ceiling: 0.8 -> 0.75",
        "versions.jax: 0.8 -> 0.9",
        'details.bins: {"$tuple": [70, 170]} -> {"$tuple": [70, 90]}',
        "model_digest: - -> ab",
        f"data: - -> {'x' * 39}…",
        "versions.numpy: - -> 2.0",
    ]


def test_two_runs_and_two_times(stores):
    store, other = stores
    runs = [store.begin_run(2), store.begin_run(2)]
    for day, run in enumerate(runs, 1):
        store.add(made(0.1 * day, day=day), task=Task(run, "a", "a"))
        store.add(made(0.5, "same", day=day), task=Task(run, "b", "b"))
    store.add(made(0.9, "later", day=9))
    [row] = difference(store, runs=(runs[0][:8], runs[1])).to_dict("records")
    assert (row["model"], row["score_one"], row["score_other"], row["differs"]) == ("pixels", 0.1, 0.2, "")
    found = difference(store, times=("2026-08-01T13:00", None))
    assert found[["model", "change"]].values.tolist() == [["later", "added"], ["pixels", "changed"]]
    assert len(difference(store, times=(None, "2026-08-03"))) == 1
    merge(other, store)
    assert len(difference(store, other, runs=(runs[0], runs[1]))) == 1
    assert difference(store, other, runs=(runs[1], runs[1])).empty
    with pytest.raises(ValueError, match="between two stores, two runs or two times: give one of these"):
        difference(store)
    with pytest.raises(KeyError, match="no run has a key that begins with 'nope'"):
        difference(store, runs=("nope", runs[0]))
    with pytest.raises(ValueError, match="expected a time such as"):
        difference(store, times=("now", None))
