"""Settings of metrics that are numbers, checked when a metric is built."""

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np


def whole_number(value: Any, name: str, least: int) -> int:
    """A count, which is no truth value.

    Raises:
        ValueError: it is not a whole number of at least ``least``.

    Example:
        >>> whole_number(np.int64(10), "splits", 1)
        10
        >>> whole_number(1.5, "n_components", 1)
        Traceback (most recent call last):
        ...
        ValueError: n_components must be a whole number of at least 1, got 1.5
    """
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)


def finite_number(value: Any, name: str) -> float:
    """A number that is not negative, and no truth value.

    Raises:
        ValueError: it is another thing, NaN, infinite or negative.

    Example:
        >>> finite_number(float("nan"), "alpha")
        Traceback (most recent call last):
        ...
        ValueError: alpha must be a finite number that is not negative, got nan
    """
    if not isinstance(value, int | float | np.number) or isinstance(value, bool) or not 0 <= value < float("inf"):
        raise ValueError(f"{name} must be a finite number that is not negative, got {value!r}")
    return float(value)


def refuse_others(given: Mapping[str, Any] | None, fixed: Mapping[str, Any], what: str) -> None:
    """Settings of the reference that only their default does here.

    Raises:
        ValueError: another setting, or another value of one.

    Example:
        >>> refuse_others({"neuroid_dim": "unit"}, {"neuroid_dim": "neuroid"}, "rdm")
        Traceback (most recent call last):
        ...
        ValueError: rdm['neuroid_dim'] can only be 'neuroid', got 'unit'
    """
    for name, value in (given or {}).items():
        if name not in fixed:
            raise ValueError(f"{what} has no {name!r} here; there are: {', '.join(fixed)}")
        if value != fixed[name]:
            raise ValueError(f"{what}[{name!r}] can only be {fixed[name]!r}, got {value!r}")
