"""A store at a glance: what it has last, of one run, until a time; its runs; one entry."""

from datetime import UTC, datetime

import pandas as pd
import pytest

from bsjax import Score
from bsjax.results import ResultStore
from bsjax.results.leases import claim
from bsjax.results.overview import entry, latest, runs
from bsjax.results.store import Task


@pytest.fixture
def store(tmp_path):
    return ResultStore(tmp_path / "results.db")


def add(store, value, day, model="pixels", benchmark="Doe-pls", version=1, **where):
    made = {"model": model, "benchmark": benchmark, "benchmark_version": version}
    if day is not None:
        made["start"] = f"2026-08-{day:02d}T12:00:00+00:00"
    return store.add(Score(value, provenance=made), **where)


def fail(store, reason, day, model="pixels", benchmark="Doe-pls", **where):
    return store.add_failure(model, benchmark, reason, started=f"2026-08-{day:02d}T12:00:00+00:00", **where)


def shown(frame):
    return [row["reason"] or row["score"] for row in frame.to_dict("records")]


def test_the_last_is_what_was_begun_last(store):
    add(store, 0.3, day=3)
    fail(store, "second", day=2)
    add(store, 0.1, day=1)
    fail(store, "fourth", day=4)
    add(store, 0.7, day=9, model="other")
    assert shown(latest(store, "pixels")) == ["fourth"]
    until = [shown(latest(store, until=f"2026-08-{day:02d}T12:00:00Z")) for day in range(5)[1:]]
    assert until == [[0.1], ["second"], [0.3], ["fourth"]]
    assert shown(latest(store, until="2026-07-01")) == []
    assert shown(latest(store, ["pix*", "other"], "Doe*", until=datetime(2026, 8, 10, tzinfo=UTC))) == [0.7, "fourth"]


def test_runs_are_counted(store):
    for unknown in ("zzz", ""):
        with pytest.raises(KeyError, match=f"no run has a key that begins with '{unknown}' in sqlite:.*results.db"):
            latest(store, run=unknown)
    assert runs(store).empty
    run, empty = store.begin_run(5, asked="all"), store.begin_run(0)
    add(store, 0.1, day=1, task=Task(run, "a", "a"))
    add(store, 0.1, day=1, model="other", task=Task(run, "b", "b"))
    add(store, 0.2, day=1, task=Task(cell="x"))
    for day, cell in ((1, "b"), (1, "c"), (2, "c"), (1, "d")):  # a run has a failure of each once
        fail(store, f"{cell} failed", day, task=Task(run, cell, cell))
    claim(store, ["d"], run, 60)
    store.end_run(run)
    one, two = runs(store).to_dict("records")
    numbers = [[row[name] for name in ("run", "n_cells", "done", "failed", "in_flight")] for row in (one, two)]
    # b has a score after all; c and d have none.
    assert numbers == [[run, 5, 2, 2, 1], [empty, 0, 0, 0, 0]]
    assert one["facts"]["asked"] == "all" and one["ended"] >= one["started"] and pd.isna(two["ended"])


def test_entries_are_found_by_the_beginnings_of_their_keys(store):
    run = store.begin_run(1)
    key, failed = add(store, 0.1, day=1, task=Task(run, "a", "a")), fail(store, "no\ndata", day=2)
    found = entry(store, key[:10])
    expected = {
        "key": key,
        "state": "scored",
        "score": 0.1,
        "run_id": run,
        "cell": "a",
        "model": "pixels",
        "version": 1,
    }
    assert {name: found[name] for name in expected} == expected and found["benchmark"] == "Doe-pls"
    found = entry(store, failed)
    assert (found["key"], found["state"], found["error"], found["model"]) == (failed, "failed", "no data", "pixels")
    with pytest.raises(KeyError, match="no score or failure has a key that begins with"):
        entry(store, f"{key}0")
