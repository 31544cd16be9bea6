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
    compiling = recorded(calls, "compiling", 40.0, 0.5, 3, compiles=True)
    measured = harness.interleaved({"quick": quick, "slow": slow, "compiling": compiling})
    assert calls[:5] == [("quick", True), ("quick", True), ("slow", True), ("compiling", True), ("compiling", True)]
    assert not any(trim for _, trim in calls[5:])
    assert measured["slow"].seconds == [30.0] * 2
    # Of what is slow and does not compile, the memory is that of the first call.
    assert [each.peak_bytes for each in measured.values()] == [2, 3, 5]
    times = {"first_s": 2.0, "median_s": 0.5, "min_s": 0.5, "max_s": 0.5, "iqr_s": 0.0}
    assert measured["quick"].summary() == {**times, "calls": 3, "seconds": [0.5] * 3, "peak_bytes": 2}
