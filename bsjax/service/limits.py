"""Limits of the service, and rates of what happens to it."""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

_MOST_KEYS = 10_000


@dataclass(frozen=True)
class Limits:
    """How much the service takes, and how often.

    Attributes:
        n_bytes: of an upload; an account's ``limits`` may say other ``"bytes"``.
        seconds: that an upload may take in all.
        pause: seconds that may pass without a byte of it.
        uploads: of an account in an hour; an account's ``limits`` may say other ``"uploads"``.
        wrong_tokens: of an address in ten minutes, after which none of its tokens is looked at.

    Example:
        >>> Limits(uploads=10).uploads, Limits().n_bytes == 2**30
        (10, True)
    """

    n_bytes: int = 1 << 30
    seconds: float = 900.0
    pause: float = 30.0
    uploads: int = 100
    wrong_tokens: int = 10


class Rate:
    """How often something has happened to each of many keys.

    Args:
        seconds: the period that is looked back on.
        clock: seconds that only grow.

    Example:
        >>> rate = Rate(60, clock=iter([0.0, 1.0, 2.0, 70.0]).__next__)
        >>> rate.add("a"), rate.wait("a", 2), rate.wait("a", 1), rate.wait("a", 1)
        (None, 0.0, 58.0, 0.0)
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._times: defaultdict[object, deque[float]] = defaultdict(deque)

    def add(self, key: object) -> None:
        """It has happened."""
        now = self._clock()
        if len(self._times) >= _MOST_KEYS:
            for each in [each for each, times in self._times.items() if times[-1] <= now - self._seconds]:
                del self._times[each]
        self._times[key].append(now)

    def wait(self, key: object, most: int) -> float:
        """Seconds until it may happen again; 0 where it has happened less than so many times in the period."""
        now, times = self._clock(), self._times.get(key)
        while times and times[0] <= now - self._seconds:
            times.popleft()
        if not times:
            self._times.pop(key, None)
        return times[len(times) - most] + self._seconds - now if times and 0 < most <= len(times) else 0.0
