"""Minimal rate of data over a network, below which a connection counts as lost."""

import time
from collections.abc import Callable

# Seconds of waiting, and the number of bytes that must arrive in that time.
PATIENCE, LEAST = 60.0, 6000


def paced(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """Wrap ``read`` so that it gives up on a connection that delivers almost nothing.

    A timeout for each byte is not enough, because a server that sends one byte every few seconds never exceeds it. Only
    time inside ``read`` counts, so it must return the available bytes and not wait for the requested number.

    Args:
        read: function that takes the maximal number of bytes and returns b"" at the end.

    Raises:
        TimeoutError: from the wrapped function, if fewer than 6,000 bytes arrive in a minute of waiting.

    Example:
        >>> import io
        >>> paced(io.BytesIO(b"abc").read)(2)
        b'ab'
    """
    waited, came = 0.0, 0

    def limited(most: int) -> bytes:
        nonlocal waited, came
        began = time.monotonic()
        piece = read(most)
        waited, came = waited + time.monotonic() - began, came + len(piece)
        if piece and waited >= PATIENCE:
            if came < LEAST:
                raise TimeoutError(f"only {came:,} bytes came in {waited:.0f} s, fewer than {LEAST:,} are given up")
            waited, came = 0.0, 0
        return piece

    return limited
