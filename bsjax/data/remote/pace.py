"""The least pace of bytes over a network, below which a connection counts as lost."""

import time
from collections.abc import Callable

# Seconds of waiting, and the bytes that have to come in them.
PATIENCE, LEAST = 60.0, 6000


def paced(read: Callable[[int], bytes]) -> Callable[[int], bytes]:
    """The same ``read``, which gives up where next to nothing comes, however long that goes on.

    A limit of time on each byte does not do that: a server that sends one byte every few seconds keeps to it for years.
    Only the time inside ``read`` counts, which therefore has to return what has come and not wait for all it was
    asked for.

    Args:
        read: takes the most bytes to return, and returns b"" at the end.

    Raises:
        TimeoutError: from what is returned, when fewer than 6,000 bytes came in a minute of waiting.

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
