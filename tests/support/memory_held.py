"""How much a call holds."""

import tracemalloc
from collections.abc import Callable
from typing import Any


def most_held(call: Callable[[], Any]) -> int:
    """Bytes that Python and NumPy hold at most while it runs, beyond what they held before; not those of JAX."""
    tracemalloc.start()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak
