"""Bootstrap errors of scores, for benchmarks of plugins."""

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
    """The standard deviation of a score over bootstrap resamples, drawn independently along each of some dimensions.

    Args:
        values: the values that the score aggregates.
        over: dimensions to resample.
        aggregate: values -> score; by default the mean without NaN.
        n_bootstrap: number of draws.
        seed: seed of the draws.

    Returns:
        The standard deviation; NaN if fewer than two draws give a finite number.

    Raises:
        ValueError: the values lack a dimension.
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
    """Add the :func:`bootstrap_error` and the resampled dimensions to the attributes of a score."""
    score.attrs[ERROR_KEY] = bootstrap_error(values, over, aggregate, n_bootstrap, seed)
    score.attrs[ERROR_OVER_KEY] = list(over)
    score.attrs[N_BOOTSTRAP_KEY] = int(n_bootstrap)
    score.attrs.setdefault("raw", values)
    return score


def declare_no_error(score: Any, reason: str) -> Any:
    """Set the error of a score to NaN, with the reason."""
    score.attrs |= {ERROR_KEY: float("nan"), ERROR_NAN_REASON_KEY: reason}
    return score
