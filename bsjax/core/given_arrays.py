"""Checks and conversions of arrays from users: masks are refused, and floats of fewer than 32 bits are widened.

No metric computes in less than 32 bits, where sums overflow and lose precision.
"""

import re
from typing import Any

import numpy as np

_NARROW = re.compile(r"(torch\.)?b?float(16|8|6|4)(_|$)")


def unmasked(values: Any, what: str) -> Any:
    """Refuse masked arrays, whose mask would be ignored; gives ``values`` otherwise.

    Raises:
        ValueError: some values are masked.

    Example:
        >>> unmasked(np.ma.masked_greater([1.0, 2.0], 1.5), "X")
        Traceback (most recent call last):
        ...
        ValueError: X has 1 masked of 2 values: fill them by .filled(...), or leave out their rows or columns
    """
    if np.ma.is_masked(values):
        raise ValueError(
            f"{what} has {np.ma.count_masked(values)} masked of {np.size(values)} values: "
            "fill them by .filled(...), or leave out their rows or columns"
        )
    return values


def widened(values: Any) -> Any:
    """Convert NumPy, JAX and torch arrays of floats with fewer than 32 bits to float32; others are not changed.

    Example:
        >>> import numpy as np
        >>> widened(np.ones(2, np.float16)).dtype, widened(np.ones(2)).dtype, widened("text")
        (dtype('float32'), dtype('float64'), 'text')
    """
    name = str(getattr(values, "dtype", ""))
    if not _NARROW.match(name):
        return values
    return values.float() if name.startswith("torch") else values.astype("float32")
