"""The measuring itself: what it times, in which order, and that the exact answers are exact."""

import functools
import time
from collections import Counter

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Ridge

from benchmarks_perf import exact, harness, report
from benchmarks_perf.data import recordings


def test_timed_waits_for_the_result():
    x = jnp.ones((1200, 1200))

    @jax.jit
    def work(x):
        for _ in range(6):
            x = x @ x / 1200
        return x

    work(x).block_until_ready()
    start = time.perf_counter()
    value = work(x).block_until_ready()
    waited = time.perf_counter() - start
    measured = harness.timed(functools.partial(work, x))
    assert measured.seconds > waited / 20  # the dispatch alone takes a thousandth of it
    np.testing.assert_array_equal(measured.value, value)


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9), min_size=1))
def test_schedule_spreads_every_contestant_over_the_run(rounds):
    order = harness.schedule(rounds)
    assert Counter(order) == rounds
    for name, count in rounds.items():
        first_half = order[: len(order) // 2].count(name)
        assert abs(first_half - count / 2) <= 1.5


def test_interleaved_keeps_the_first_call_apart():
    calls = []

    def contestant(name, rounds):
        def call():
            calls.append(name)
            return harness.Timed(10.0 if calls.count(name) == 1 else 1.0, value=len(calls))

        return harness.Contestant(call, rounds)

    measured = harness.interleaved({"a": contestant("a", 3), "b": contestant("b", 2)})
    assert calls[:2] == ["a", "b"]
    assert measured["a"].first == 10.0 and measured["a"].seconds == [1.0, 1.0, 1.0]
    assert measured["b"].value == 2
    assert measured["a"].summary() == {
        "first_s": 10.0,
        "median_s": 1.0,
        "min_s": 1.0,
        "max_s": 1.0,
        "iqr_s": 0.0,
        "calls": 3,
    }


def test_a_contestant_without_rounds_is_refused():
    with pytest.raises(ValueError, match="at least 1 measured round; got fewer for idle"):
        harness.interleaved({"idle": harness.Contestant(lambda: harness.Timed(0.0, None), 0)})


@pytest.mark.parametrize(
    ("fit", "peer"),
    [
        (exact.ridge, Ridge(alpha=1.0)),
        (exact.pls, PLSRegression(n_components=25, scale=False, tol=1e-24, max_iter=100_000)),
    ],
    ids=["ridge", "pls"],
)
def test_exact_weights_equal_converged_scikit_learn(fit, peer):
    data = recordings(200, 60, 12, seed=3)
    x, y = data.source - data.source.mean(0), data.target - data.target.mean(0)
    np.testing.assert_allclose(x @ fit(x, y), peer.fit(x, y).predict(x), atol=1e-8)


def test_result_names_hold_no_machine(tmp_path):
    environment = report.environment()
    path = report.write("pls", {"environment": environment}, tmp_path)
    assert path.name == f"pls-cpu-{environment['machine']['cores']}cores-{environment['when'][:10]}.json"
    assert set(environment["machine"]) == {
        "system",
        "processor",
        "cores",
        "jax_devices",
        "load_average_at_start",
    }
