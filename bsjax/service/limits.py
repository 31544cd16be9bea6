"""Limits on uploads and sign-ins, and rate limiting."""

import time
from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass

_MOST_KEYS = 10_000


@dataclass(frozen=True)
class Limits:
    """Limits of the service.

    Attributes:
        n_bytes: size of an upload in bytes; overridden by ``"bytes"`` in the account's ``limits``.
        seconds: duration of an upload.
        pause: longest pause within an upload, in seconds.
        uploads: uploads of an account per hour; overridden by ``"uploads"`` in the account's ``limits``.
        wrong_tokens: wrong tokens from an address in ten minutes, after which all its tokens are refused.

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
    """Counts of events per key in a sliding period.

    Args:
        seconds: length of the period.
        clock: a monotonic clock, in seconds.

    Example:
        >>> rate = Rate(60, clock=iter([0.0, 1.0, 2.0, 70.0]).__next__)
        >>> rate.add("a"), rate.wait("a", 2), rate.wait("a", 1), rate.wait("a", 1)
        (None, 0.0, 58.0, 0.0)
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._times: defaultdict[object, deque[float]] = defaultdict(deque)

    def add(self, key: object) -> None:
        """Count an event of a key."""
        now = self._clock()
        if len(self._times) >= _MOST_KEYS:
            for each in [each for each, times in self._times.items() if times[-1] <= now - self._seconds]:
                del self._times[each]
        self._times[key].append(now)

    def wait(self, key: object, most: int) -> float:
        """Seconds until the next event of a key is allowed; 0 if there were fewer than ``most`` in the period."""
        now, times = self._clock(), self._times.get(key)
        while times and times[0] <= now - self._seconds:
            times.popleft()
        if not times:
            self._times.pop(key, None)
        return times[len(times) - most] + self._seconds - now if times and 0 < most <= len(times) else 0.0
