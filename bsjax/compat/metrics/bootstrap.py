"""Errors of scores by resampling, for benchmarks of plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

ERROR_KEY = "error"
ERROR_OVER_KEY = "error_over"
N_BOOTSTRAP_KEY = "n_bootstrap"
ERROR_NAN_REASON_KEY = "error_nan_reason"

Aggregate = Callable[[Any], float]


def bootstrap_error(
    values: Any, over: Sequence[str], aggregate: Aggregate | None = None, n_bootstrap: int = 1000, seed: int = 0
) -> float:
    """The standard deviation of a score over draws with replacement, along each of some dimensions by itself.

    Args:
        values: what the score is an aggregate of.
        over: dimensions to draw along.
        aggregate: values -> score; the mean of those that are not NaN if not given.
        n_bootstrap: number of draws.
        seed: of the draws.

    Returns:
        NaN where fewer than two draws give a finite number.

    Raises:
        ValueError: the values have no such dimension.
    """
    missing = [dim for dim in over if dim not in values.dims]
    if missing:
        raise ValueError(f"values have no dimension {', '.join(missing)} to draw along; they have {values.dims}")
    of = aggregate or _mean
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(n_bootstrap):
        rows = {dim: rng.integers(0, values.sizes[dim], values.sizes[dim]) for dim in over}
        draws.append(of(values.isel(rows)))
    finite = np.array(draws)[np.isfinite(draws)]
    return float(np.std(finite, ddof=1)) if len(finite) > 1 else float("nan")


def _mean(values: Any) -> float:
    every = np.asarray(values)
    defined = every[~np.isnan(every)]
    return float(defined.mean()) if defined.size else float("nan")


def attach_error(
    score: Any,
    values: Any,
    over: Sequence[str],
    aggregate: Aggregate | None = None,
    n_bootstrap: int = 1000,
    seed: int = 0,
) -> Any:
    """The score with its :func:`bootstrap_error` in its attributes, and what that was drawn from."""
    score.attrs[ERROR_KEY] = bootstrap_error(values, over, aggregate, n_bootstrap, seed)
    score.attrs[ERROR_OVER_KEY] = list(over)
    score.attrs[N_BOOTSTRAP_KEY] = int(n_bootstrap)
    score.attrs.setdefault("raw", values)
    return score


def declare_no_error(score: Any, reason: str) -> Any:
    """The score with NaN as its error, and why there is none."""
    score.attrs |= {ERROR_KEY: float("nan"), ERROR_NAN_REASON_KEY: reason}
    return score
