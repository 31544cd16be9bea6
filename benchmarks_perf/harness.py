"""Timing: the first call apart, every result waited for, contestants interleaved."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np


@dataclass(frozen=True)
class Timed:
    """One call: its wall time in seconds, and what it returned."""

    seconds: float
    value: Any


def timed(function: Callable[[], Any]) -> Timed:
    """Calls ``function`` and waits until every array of its result is computed.

    JAX returns before its work is done: a clock stopped at the return would measure the dispatch alone.
    """
    start = time.perf_counter()
    value = jax.block_until_ready(function())
    return Timed(time.perf_counter() - start, value)


@dataclass(frozen=True)
class Contestant:
    """One implementation.

    Attributes:
        call: does the work once and says how long it took. ``functools.partial(timed, function)`` for a
            function of this process; a peer in another process reads its own clock, so that the pipe to it is
            not counted.
        rounds: number of calls that are measured, after the first.
    """

    call: Callable[[], Timed]
    rounds: int


@dataclass
class Measurement:
    """All calls of one contestant: ``first`` is cold (imports, compilation), ``seconds`` are the later."""

    first: float
    value: Any
    seconds: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, float | int]:
        """Median and spread of the later calls, in seconds."""
        low, median, high = np.quantile(self.seconds, [0.25, 0.5, 0.75])
        return {
            "first_s": self.first,
            "median_s": float(median),
            "min_s": min(self.seconds),
            "max_s": max(self.seconds),
            "iqr_s": float(high - low),
            "calls": len(self.seconds),
        }


def schedule(rounds: Mapping[str, int]) -> list[str]:
    """The order of the measured calls: each contestant's are spread evenly over the whole run.

    A machine that slows down or speeds up during the run then does so for everybody. Contestants that are due
    at the same moment take turns in going first.

    Examples:
        >>> schedule({"a": 2, "b": 2})
        ['a', 'b', 'b', 'a']
        >>> schedule({"ours": 4, "peer": 1})
        ['ours', 'ours', 'peer', 'ours', 'ours']
    """
    names = list(rounds)
    due = [
        ((turn + 0.5) / count, (-1) ** turn * names.index(name), name)
        for name, count in rounds.items()
        for turn in range(count)
    ]
    return [name for *_, name in sorted(due)]


def interleaved(
    contestants: Mapping[str, Contestant], progress: Callable[[str], None] = lambda line: None
) -> dict[str, Measurement]:
    """Calls every contestant once cold, then all of them in the order of `schedule`.

    Args:
        contestants: by name; each needs at least one round.
        progress: is told what happens, a line at a time.

    Returns:
        By name, the times of every call and the value of the first.
    """
    without = [name for name, contestant in contestants.items() if contestant.rounds < 1]
    if without:
        raise ValueError(f"every contestant needs at least 1 measured round; got fewer for {', '.join(without)}")
    results = {}
    for name, contestant in contestants.items():
        first = contestant.call()
        progress(f"{name}: first call {first.seconds:.3f} s")
        results[name] = Measurement(first.seconds, first.value)
    for name in schedule({name: contestant.rounds for name, contestant in contestants.items()}):
        seconds = contestants[name].call().seconds
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
