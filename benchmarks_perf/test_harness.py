"""The measuring itself: what it times, and in which order."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from benchmarks_perf import harness


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
