"""Floats of fewer than 32 bits, in which no metric computes: their sums overflow, and lose digits."""

import re
from typing import Any

_NARROW = re.compile(r"(torch\.)?b?float(16|8|6|4)(_|$)")


def widened(values: Any) -> Any:
    """An array of NumPy, JAX or torch whose floats have fewer than 32 bits as float32, and anything else as it is.

    Example:
        >>> import numpy as np
        >>> widened(np.ones(2, np.float16)).dtype, widened(np.ones(2)).dtype, widened("text")
        (dtype('float32'), dtype('float64'), 'text')
    """
    name = str(getattr(values, "dtype", ""))
    if not _NARROW.match(name):
        return values
    return values.float() if name.startswith("torch") else values.astype("float32")
