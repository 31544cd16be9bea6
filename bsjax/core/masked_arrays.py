"""Masked arrays of NumPy, which are refused where their mask would be lost."""

from typing import Any

import numpy as np


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
