"""Timing: first calls apart, contestants interleaved."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SLOW = 5.0
"""Seconds from which on a call is not repeated more often than it must be."""

_SECONDS_A_CONTESTANT = 15.0
# After a product, threads of OpenBLAS turn for some 25 ms in wait of another, on the cores that the next one needs.
_SECONDS_BETWEEN_CALLS = 0.05


@dataclass(frozen=True)
class Called:
    """One call: its wall time in seconds, and by how much the process's memory rose at most (None: not told)."""

    seconds: float
    peak_bytes: int | None = None


@dataclass(frozen=True)
class Contestant:
    """One implementation.

    Attributes:
        call: does the work once and tells how long it took. A worker reads its own clock, so that the pipe to it is
            not counted. ``call(trim=True)`` is for memory, see `workers.protocol.measured`.
        most: calls that are measured at most, after the first.
        least: calls that are measured at least, however long they take.
        compiles: whether the first call is of another kind than the later ones, so that its memory is not theirs.
    """

    call: Callable[..., Called]
    most: int
    least: int = 1
    compiles: bool = False


@dataclass
class Measurement:
    """All calls of one contestant: ``first`` is cold (compilation, lazy imports), ``seconds`` are the later."""

    first: float
    peak_bytes: int | None
    seconds: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        """Median and spread of the later calls in seconds, and the memory of one."""
        low, median, high = np.quantile(self.seconds, [0.25, 0.5, 0.75])
        times = {"first_s": self.first, "median_s": float(median), "min_s": min(self.seconds)}
        times |= {"max_s": max(self.seconds), "iqr_s": float(high - low)}
        return {**times, "calls": len(self.seconds), "seconds": self.seconds, "peak_bytes": self.peak_bytes}


def rounds(seconds: float, least: int, most: int) -> int:
    """How often to measure what takes so long: as often as fits into a quarter of a minute, within the bounds.

    Examples:
        >>> rounds(0.2, least=3, most=12), rounds(4.0, least=3, most=12), rounds(36.0, least=2, most=6)
        (12, 3, 2)
        >>> rounds(36.0, least=2, most=1)
        1
    """
    return min(max(int(_SECONDS_A_CONTESTANT / seconds), least), most)


def schedule(counts: Mapping[str, int]) -> list[str]:
    """The order of the measured calls: each contestant's are spread evenly over the whole run.

    A machine that slows down or speeds up during the run then does so for everybody. Contestants that are due
    at the same moment take turns in going first.

    Examples:
        >>> schedule({"a": 2, "b": 2})
        ['a', 'b', 'b', 'a']
        >>> schedule({"ours": 4, "peer": 1})
        ['ours', 'ours', 'peer', 'ours', 'ours']
    """
    due = [
        ((turn + 0.5) / count, (-1) ** turn * place, name)
        for place, (name, count) in enumerate(counts.items())
        for turn in range(count)
    ]
    return [name for *_, name in sorted(due)]


def interleaved(
    contestants: Mapping[str, Contestant], progress: Callable[[str], None] = lambda line: None
) -> dict[str, Measurement]:
    """Calls every contestant once cold and once for its memory, then all of them in the order of `schedule`.

    The memory of a contestant that is slow and does not compile is that of its first call.

    Args:
        contestants: by name; each needs at least one round.
        progress: is told what happens, a line at a time.

    Returns:
        By name, the times of every call and the memory of one.
    """
    results, counts = {}, {}
    for name, contestant in contestants.items():
        first = settled = contestant.call(trim=True)
        progress(f"{name}: first call {first.seconds:.3f} s")
        if contestant.compiles or first.seconds < SLOW:
            settled = contestant.call(trim=True)
        results[name] = Measurement(first.seconds, settled.peak_bytes)
        counts[name] = rounds(settled.seconds, contestant.least, contestant.most)
    for name in schedule(counts):
        time.sleep(_SECONDS_BETWEEN_CALLS)
        seconds = contestants[name].call(trim=False).seconds
        progress(f"{name}: {seconds:.3f} s")
        results[name].seconds.append(seconds)
    return results


def largest_difference(a: Any, b: Any) -> float:
    """Largest absolute difference between two arrays of one shape; infinite where only one of them is NaN.

    Examples:
        >>> largest_difference([1.0, float("nan")], [1.5, float("nan")])
        0.5
        >>> largest_difference([1.0, float("nan")], [1.0, 2.0])
        inf
    """
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if a.shape != b.shape:
        raise ValueError(f"cannot compare arrays of shapes {a.shape} and {b.shape}")
    undefined = np.isnan(a)
    if np.any(undefined != np.isnan(b)):
        return float("inf")
    return float(np.max(np.abs(a - b), where=~undefined, initial=0.0))
