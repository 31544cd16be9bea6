"""Arrays as users bring them: a mask that would be lost is refused, floats of fewer than 32 bits are widened.

No metric computes in those: their sums overflow, and lose digits.
"""

import re
from typing import Any

import numpy as np

_NARROW = re.compile(r"(torch\.)?b?float(16|8|6|4)(_|$)")


def unmasked(values: Any, what: str) -> Any:
    """``values``, which must not be an array with masked values: as an array they would count as they are.

    Raises:
        ValueError: values are masked.

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
