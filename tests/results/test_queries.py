"""Tables of scores: the last of each pair, failures, names; few statements, and nothing read that is not shown."""

import math

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bsjax import Score
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.results import ResultStore, queries
from bsjax.results.queries import COLUMNS
from bsjax.results.store import Task
from tests.support.large_store import ceiled_score

HOSTILE = "a\0b \ud800 \U0001f98a \u202eלוא <script>'\"\\%_"
TEXTS = ("model", "model_digest", "benchmark", "parent", "state", "interval", "started", "reason", "run", "key")


def add(store, model="m", benchmark="b", value=0.5, version=None, start=None, **more):
    origin = {"model": model, "benchmark": benchmark, "benchmark_version": version, "start": start}
    known = {name: entry for name, entry in origin.items() if entry is not None}
    return store.add(Score(value, provenance=known), **more)


def fail(store, model="m", benchmark="b", error="no data", start="2026-01-01", **more):
    return store.add_failure(model, benchmark, error, started=start, **more)


def rows(table, *columns):
    return list(table[list(columns)].itertuples(index=False, name=None))


# What a table is.


def assert_dtypes(table, columns=COLUMNS):
    assert list(table.columns) == list(columns)
    assert isinstance(table.index, pd.RangeIndex) and table.index.start == 0
    for name in columns:
        assert table[name].dtype == (pd.StringDtype(na_value=np.nan) if name in TEXTS else np.float64), name


def test_a_table_has_the_same_columns_of_the_same_types_whatever_is_in_it(store):
    assert_dtypes(store.frame())
    assert_dtypes(store.frame("m", latest=False, failures=False))
    fail(store)
    assert_dtypes(store.frame())
    assert_dtypes(store.frame(failures=False))
    add(store)
    assert_dtypes(store.frame(failures=False))
    add(store, "o", value=math.nan, version=3, task=Task(store.begin_run(1)))
    for models in (None, "o", [], ["m", "p"]):
        assert_dtypes(store.frame(models, latest=False))


def test_a_table_says_of_each_score_what_it_is(store):
    run = store.begin_run(2)
    score = ceiled_score("resnet", "Doe2026.IT-pls")
    key = store.add(score, task=Task(run), memory=10**9)
    [row] = store.frame().to_dict("records")
    ends, digest = score.interval(), score.provenance.model_digest
    named = {"model": "resnet", "model_digest": digest, "benchmark": "Doe2026.IT-pls", "version": 1, "parent": "IT"}
    numbers = {"score": float(score), "error": score.error, "raw": float(score.unceiled), "ceiling": 0.8, "n_units": 24}
    numbers |= {"raw_error": score.unceiled.error, "ceiling_error": 0.01, "low": ends.low, "high": ends.high}
    made = {"seconds": 9.998, "memory": 1e9, "started": "2026-11-23T17:42:53+00:00", "run": run, "key": key}
    assert row == named | numbers | made | {"state": "scored", "reason": "", "interval": "t over stimuli"}


def test_intervals_are_there_where_they_are_numbers(store):
    bins = xr.DataArray([0.5, 0.25], dims=["time_bin"])
    of_subjects = {"over": ("subjects",), "method": "standard error over 9 subjects", "dof": 8}
    draws = xr.DataArray(np.linspace(0, 1, 201), dims=["draw"])
    over = ("stimuli", HOSTILE)
    known = {
        "t": Score(0.5, uncertainty=Uncertainty(standard_error=0.1, **of_subjects)),
        "drawn": Score(0.5, uncertainty=Uncertainty(over, 0.3, "draws", draws=draws, kind="percentile")),
        "in time": Score(bins, uncertainty=Uncertainty(standard_error=bins / 10, **of_subjects)),
        "undefined": Score(math.nan, uncertainty=Uncertainty(standard_error=math.nan, **of_subjects)),
        "none": Score(0.5, error=0.1),
    }
    for name, score in known.items():
        store.add(score, model=name, benchmark="b", raw_values=False)
    found = store.frame().set_index("model")
    t = scipy.stats.t.ppf(0.975, 8) * 0.1
    ends = {"t": [0.5 - t, 0.5 + t], "drawn": np.quantile(draws, [0.025, 0.975])}
    for name in known:
        np.testing.assert_allclose(
            found.loc[name, ["low", "high"]].astype(float), ends.get(name, [math.nan] * 2), 1e-12
        )
    shown = HOSTILE.encode("utf-8", "backslashreplace").decode()
    words = ["t over subjects", f"percentile over stimuli and {shown}", "t over subjects", "-", "-"]
    assert found["interval"].fillna("-").tolist() == words
    # What is read without draws has the interval of its standard error; the table keeps that of the draws.
    assert store.score(found.loc["drawn", "key"]).interval().kind == "t"


def test_scores_without_a_number_say_why(store):
    times = xr.DataArray([0.1, 0.2], dims=["time_bin"])
    add(store, "undefined", value=math.nan)
    store.add(Score(math.nan, provenance={"model": "silent", "benchmark": "b", "reason": "all neuroids are silent"}))
    store.add(Score(0.5, provenance={"model": "partly", "benchmark": "b", "reason": "one neuroid is silent"}))
    store.add(Score(times, error=times, ceiling=Score(0.5), provenance={"model": "in time", "benchmark": "b"}))
    store.add(Score(-math.inf, error=math.inf, provenance={"model": "infinite", "benchmark": "b"}))
    fail(store, "failed", error="no\n layer")
    found = rows(store.frame().fillna({"score": 99, "error": 99}), "model", "state", "score", "error", "reason")
    assert found == [
        ("undefined", "undefined", 99, 99, ""),
        ("silent", "undefined", 99, 99, "all neuroids are silent"),
        ("partly", "scored", 0.5, 99, ""),
        ("in time", "resolved", 99, 99, ""),
        ("infinite", "scored", -math.inf, math.inf, ""),
        ("failed", "failed", 99, 99, "no layer"),
    ]
    assert store.frame("in time")["ceiling"].tolist() == [0.5]


def test_a_failure_says_what_is_known_of_it(store):
    run = store.begin_run(1)
    store.add(Score(0.5, provenance={"model": "n", "benchmark": "b", "parent": "old", "benchmark_version": 1}))
    store.add(Score(0.5, provenance={"model": "n", "benchmark": "b", "parent": "V1", "benchmark_version": 2}))
    key = fail(store, start="2026-01-02T03:04:05", seconds=1.5, task=Task(run))
    fail(store, benchmark="never scored")
    [row] = store.frame("m", "b").to_dict("records")
    named = {"model": "m", "benchmark": "b", "parent": "V1", "state": "failed", "reason": "no data", "model_digest": ""}
    named |= {"run": run, "key": key, "seconds": 1.5, "started": "2026-01-02T03:04:05+00:00"}
    assert {name: row[name] for name in named} == named and math.isnan(row["version"])
    assert store.frame("m", "never*")["parent"].tolist() == [""]


def test_a_table_of_some_columns_is_that_part_of_the_whole(store):
    for n in range(3):
        add(store, f"model{n}", value=n, version=n, start=f"2026-01-0{3 - n}")
        add(store, "twice", value=n, start=f"2026-01-0{3 - n}")
    fail(store, "twice", start="2026-01-02")
    fail(store, "failed")
    for columns in (["score"], ["benchmark", "model", "score"], [], ["key", "run"]):
        part = store.frame(columns=columns)
        pd.testing.assert_frame_equal(part, store.frame()[columns])
        assert_dtypes(part, columns)
    with pytest.raises(ValueError, match=r"has the columns model, .*, key, got 'colour', 'document'"):
        store.frame(columns=["score", "colour", "document"])


# The last.


def test_the_last_score_is_that_of_the_greatest_version_begun_last(store):
    add(store, value=1, version=1, start="2026-01-03")
    add(store, value=2, version=2, start="2026-01-01")
    add(store, value=3, version=2, start="2026-01-02")
    add(store, value=4, version=2)
    add(store, value=5, version=None, start="2026-01-09")
    add(store, "n", value=6, version=1, start="2026-01-01")
    assert rows(store.frame(), "model", "score", "version") == [("m", 3.0, 2.0), ("n", 6.0, 1.0)]
    assert store.frame(latest=False)["score"].tolist() == [1, 2, 3, 4, 5, 6]


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["scored", "failed"]),
        st.sampled_from(["m", "n"]),
        st.sampled_from(["b", "c"]),
        st.integers(0, 2),
        st.sampled_from([None, "2026-01-01", "2026-01-01T00:00:00.5", "2026-01-02T01:00:00+02:00", "2026-01-02"]),
    ),
    max_size=14,
)


def last_of(events):
    """The number of the last event of each pair, one after the other."""
    pairs = {}
    for number, event_ in enumerate(events):
        pairs.setdefault(event_[1:3], []).append((number, *event_))
    last = {}
    for pair, of_pair in pairs.items():
        greatest = max((version for _, kind, _, _, version, _ in of_pair if kind == "scored"), default=0)
        best = None
        for number, kind, _, _, version, start in of_pair:
            moment = pd.Timestamp(start or "1970-01-01")
            moment = moment.tz_localize("UTC") if moment.tz is None else moment
            known = greatest if kind == "failed" else version
            at = (known, moment, kind == "scored", number)
            best = max(best or at, at)
        last[pair] = best[-1]
    return last


@pytest.mark.slow
@given(events=EVENTS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
def test_the_last_of_each_pair_is_that_of_a_plain_loop(tmp_path_factory, events):
    with ResultStore(tmp_path_factory.mktemp("store") / "results.db") as store:
        keys = []
        for number, (kind, model, benchmark, version, start) in enumerate(events):
            # A failure has a time always.
            events[number] = kind, model, benchmark, version, start or ("2026-01-01" if kind == "failed" else None)
            if kind == "scored":
                keys.append(add(store, model, benchmark, number, version, start))
            else:
                keys.append(fail(store, model, benchmark, f"{number}", start or "2026-01-01"))
        wanted = {pair: keys[number] for pair, number in last_of(events).items()}
        assert store.frame().set_index(["model", "benchmark"])["key"].to_dict() == wanted
        assert sorted(store.frame(latest=False)["key"]) == sorted(keys)


# Names.


@pytest.mark.parametrize("most", [500, 0])
def test_names_are_asked_for_as_they_are_or_by_patterns(store, monkeypatch, most):
    monkeypatch.setattr(queries, "_MOST_ASKED_FOR", most)  # more are not asked of the database
    names = ["resnet18", "resnet50", "ResNet50", "alexnet", "a*b", "a[1]", "ax1", "vit?"]
    for name in names:
        add(store, name, f"{name}.IT")
        fail(store, name, f"{name}.V1")

    def found(models=None, benchmarks=None):
        scored, failed = (
            set(store.frame(models, benchmarks, failures=failures)["model"]) for failures in (False, True)
        )
        assert scored <= failed
        return sorted(failed)

    assert found() == sorted(names)
    assert found("resnet*") == ["resnet18", "resnet50"] and found("resnet50") == ["resnet50"]
    assert found("*") == sorted(names) and found("") == [] and found([]) == [] and found("resnet") == []
    assert found("a*b") == ["a*b"] and found("a[1]") == ["a[1]"] and found("vit?") == ["vit?"]
    assert found("a[x1]*") == ["ax1"] and found("a?1") == ["ax1"]
    assert found(["alexnet", "*50"]) == ["ResNet50", "alexnet", "resnet50"]
    assert store.frame((name for name in ("alexnet", "nobody")), iter(["*.IT"]))["model"].tolist() == ["alexnet"]
    assert found(benchmarks="*.IT") == sorted(names) and found("resnet*", "*18.V1") == ["resnet18"]
    assert found("alexnet", "resnet18.IT") == []
