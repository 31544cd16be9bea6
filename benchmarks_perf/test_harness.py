"""The measuring itself: what it times, and in which order."""

import time
from collections import Counter

import jax
import jax.numpy as jnp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks_perf import harness, report


def test_timed_waits_for_the_result():
    x = jnp.ones((1200, 1200))

    @jax.jit
    def work(x):
        for _ in range(6):
            x = x @ x / 1200
        return x

    work(x).block_until_ready()
    start = time.perf_counter()
    work(x).block_until_ready()
    waited = time.perf_counter() - start
    assert harness.timed(lambda: work(x)).seconds > waited / 20  # the dispatch alone takes a thousandth of it


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 9), min_size=1))
def test_schedule_spreads_every_contestant_over_the_run(counts):
    order = harness.schedule(counts)
    assert Counter(order) == counts
    for name, count in counts.items():
        first_half = order[: len(order) // 2].count(name)
        assert abs(first_half - count / 2) <= 1.5


def recorded(calls, name, first, later, most, compiles=False):
    def call(trim):
        seconds = later if name in [called for called, _ in calls] else first
        calls.append((name, trim))
        return harness.Called(seconds, peak_bytes=len(calls))

    return harness.Contestant(call, most, least=2, compiles=compiles)


def test_interleaved_keeps_the_first_call_and_that_for_memory_apart():
    calls = []
    quick, slow = recorded(calls, "quick", 2.0, 0.5, 3), recorded(calls, "slow", 40.0, 30.0, 6)
    measured = harness.interleaved({"quick": quick, "slow": slow})
    assert calls[:3] == [("quick", True), ("quick", True), ("slow", True)]
    assert not any(trim for _, trim in calls[3:])
    assert measured["quick"].first == 2.0 and measured["quick"].seconds == [0.5] * 3
    assert measured["slow"].first == 40.0 and measured["slow"].seconds == [30.0] * 2
    assert measured["quick"].peak_bytes == 2 and measured["slow"].peak_bytes == 3
    assert measured["quick"].summary() == {
        "first_s": 2.0,
        "median_s": 0.5,
        "min_s": 0.5,
        "max_s": 0.5,
        "iqr_s": 0.0,
        "calls": 3,
        "seconds": [0.5] * 3,
        "peak_bytes": 2,
    }


def test_memory_of_what_compiles_is_that_of_a_later_call():
    calls = []
    measured = harness.interleaved({"ours": recorded(calls, "ours", 40.0, 0.5, 3, compiles=True)})
    assert measured["ours"].peak_bytes == 2


@pytest.mark.slow
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
