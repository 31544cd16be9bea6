"""``score_many`` gives what ``score_arrays`` gives, by few programs; ``warm_up`` makes them ahead of their use."""

import json
import math
import subprocess
import sys
import warnings

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import bsjax
from bsjax.engine.programs.compilation import Program, traces
from bsjax.scoring.representations import many

pytestmark = pytest.mark.slow


def pairs_of(sizes, n=40, seed=0):
    rng = np.random.default_rng(seed)
    made = []
    for p, q in sizes:
        x = rng.normal(size=(n, p))
        made.append((x, x @ rng.normal(size=(p, q)) + 4 * rng.normal(size=(n, q))))
    return made


def one_by_one(pairs, metric, level=0.95, **settings):
    rows = []
    for pair in pairs:
        score = bsjax.score_arrays(*pair, metric, **settings)
        interval = score.interval(level)
        ends = (math.nan, math.nan) if interval is None else (interval.low, interval.high)
        rows.append([float(score), math.nan if score.error is None else score.error, *ends])
    return np.array(rows)


METRICS = [
    ("cka", {"error": None}),
    ("rdm", {}),
    ("ridge", {"crossvalidation_kwargs": {"splits": 4}}),
    ("pls", {"n_components": 3}),  # not in batches
]


@pytest.mark.parametrize(("metric", "settings"), METRICS)
def test_each_is_the_score_of_its_pair(metric, settings):
    pairs = pairs_of([(44, 12)] * 3 + [(45, 12), (9, 5)])
    found = bsjax.score_many(pairs, metric, level=0.9, **settings)
    expected = one_by_one(pairs, metric, 0.9, **settings)
    np.testing.assert_allclose(np.array([found[name] for name in found]).T, expected, atol=1e-10)
    assert json.loads(found.attrs["provenance"])["metric"] == metric


def test_interpolation_is_warned_of_once_by_the_number_of_features():
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        bsjax.score_many(pairs_of([(44, 3)] * 3), "linear_predictivity")
    assert [str(one.message).split(" features")[0] for one in said] == ["linear_predictivity has 44"]


def test_stacks_tables_and_arrays_of_a_device_are_taken():
    pairs = pairs_of([(12, 6)] * 4)
    expected = bsjax.score_many(pairs, "cka")
    x, y = (np.stack(side) for side in zip(*pairs, strict=True))
    with bsjax.memory_limit("1GB"):
        of_device = bsjax.score_many([(jnp.asarray(a), b) for a, b in pairs], "cka", dtype="float32")
    np.testing.assert_allclose(of_device.score, expected.score, atol=1e-5)
    np.testing.assert_array_equal(bsjax.score_many((x, y), "cka").high, expected.high)
    tables = [(pd.DataFrame(a)[::-1], pd.DataFrame(b)) for a, b in pairs]
    np.testing.assert_allclose(bsjax.score_many(tables, "cka").low, expected.low, atol=1e-12)


def test_one_program_and_few_calls_serve_many_pairs(monkeypatch):
    calls, of_program = [], Program.__call__
    monkeypatch.setattr(Program, "__call__", lambda self, *arrays: [calls.append(1), of_program(self, *arrays)][1])
    monkeypatch.setattr(many, "_BLOCK", 40 * 8 * 80 * (52 + 18))
    pairs = pairs_of([(int(p), 17) for p in np.random.default_rng(1).integers(49, 52, 100)], n=80)
    for metric in ("cka", "ridge"):
        calls.clear()
        with traces() as counted:
            bsjax.score_many(pairs, metric)
        assert 3 <= len(calls) <= 9 and counted.total() <= 2  # few pairs may need a closer look


def test_pairs_that_need_a_closer_look_are_scored_alone():
    pairs = pairs_of([(12, 6)] * 5)
    pairs[1] = pairs[1][0], np.ones_like(pairs[1][1])  # undefined
    pairs[2] = pairs[2][0], 3 * pairs[2][0]  # equal: no error
    x, y = (side.copy() for side in pairs[3])
    x[0], y[0] = 300, 200  # most of the variance is that of one stimulus
    pairs[3] = x, y
    for metric in ("cka", "ridge"):
        found = bsjax.score_many(pairs, metric)
        expected = one_by_one(pairs, metric)
        np.testing.assert_allclose(np.array([found[name] for name in found]).T, expected, atol=1e-10)
    assert np.isnan(found.score[1]) and not np.isnan(found.score).all()


def test_what_is_wrong_names_the_pair():
    pairs = pairs_of([(12, 6)] * 3)
    pairs[2] = pairs[2][0][:7], pairs[2][1]
    with pytest.raises(ValueError, match="pair 0 is a ndarray"):
        bsjax.score_many((np.ones((9, 2)), np.ones((9, 2))), "cka")
    with pytest.raises(ValueError, match="pair 2: X and Y need the same stimuli"):
        bsjax.score_many(pairs, "cka")
    pairs[2] = pairs[1][0] * np.nan, pairs[1][1]
    with pytest.raises(ValueError, match="pair 2: .*NaN"):
        bsjax.score_many(pairs, "cka")
    with pytest.raises(ValueError, match="same pairs along"):
        bsjax.score_many((np.ones((3, 9, 4)), np.ones((2, 9, 4))), "cka")


def test_after_warming_up_nothing_is_traced():
    assert bsjax.warm_up(["ridge", "cka"], [(41, 50, 17)]) == 2
    [(x, y)] = pairs_of([(51, 18)], n=41)  # padded alike
    with traces() as counted:
        bsjax.score_arrays(x, y, "ridge")
        bsjax.score_arrays(x, y, "cka")
    assert not counted


def test_nothing_is_compiled_at_import_and_a_small_call_is_one_program_and_few_calls_of_python():
    # In a process of its own, because types are checked in this one.
    code = """
import sys, threading, warnings, jax, numpy as np
events = []
jax.monitoring.register_event_duration_secs_listener(lambda name, *_, **__: events.append(name))
import bsjax
bsjax.score_arrays, bsjax.score_many
for name in ("cka", "rdm", "ridge", "neuron_to_neuron", "pls", "procrustes"):
    bsjax.load_metric(name)
print(threading.active_count(), [name for name in events if "compile" in name])
from bsjax.engine.programs.compilation import Program
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
x = rng.normal(size=(50, 60))
y = x[:, :20] + rng.normal(size=(50, 20))
for metric in ("cka", "rdm", "ridge", "neuron_to_neuron", "pls"):
    bsjax.score_arrays(x, y, metric)
    calls, programs = [], []
    def count(frame, event, _):
        if event == "call":
            calls.append(1)
            if frame.f_code is Program.__call__.__code__:
                programs.append(1)
    sys.setprofile(count)
    bsjax.score_arrays(x, y, metric)
    sys.setprofile(None)
    print(metric, len(programs), len(calls))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    at_import, *rows = done.stdout.splitlines()
    assert at_import == "1 []"
    found = {metric: (int(programs), int(calls)) for metric, programs, calls in map(str.split, rows)}
    most = {"cka": 1500, "rdm": 1600, "ridge": 2600, "neuron_to_neuron": 2400, "pls": 2600}
    assert found.keys() == most.keys() and all(programs == 1 for programs, _ in found.values())
    assert all(calls < most[metric] for metric, (_, calls) in found.items()), found
