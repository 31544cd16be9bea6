"""Regressions that are fitted anew to every draw of the stimuli."""

from collections.abc import Sequence

import jax
import numpy as np

from bsjax.engine.precision import in_dtype, precision
from bsjax.engine.transfers import to_host
from bsjax.metrics import Mapping, compiled
from bsjax.metrics.regression.folds import Folds, no_folds
from bsjax.metrics.resampling.refits import cross_validation_bootstraps, drawn_folds, train_test_bootstraps


def refitted(
    x: np.ndarray | jax.Array,
    y: np.ndarray | jax.Array,
    folds: Folds,
    counts: np.ndarray,
    mapping: Mapping,
    dtype: str | None,
) -> np.ndarray:
    """Correlations ``(draws, splits, neuroids)`` of regressions that are fitted anew to every draw of the stimuli."""
    with precision(dtype) as chosen:
        kernel = compiled(cross_validation_bootstraps, mapping=mapping)
        return to_host(kernel(in_dtype(x, chosen), in_dtype(y, chosen), drawn_folds(counts, folds)))


def refitted_on_fixed_split(
    arrays: Sequence[np.ndarray | jax.Array],
    train_counts: np.ndarray,
    test_counts: np.ndarray,
    mapping: Mapping,
    dtype: str | None,
) -> np.ndarray:
    """Correlations ``(draws, neuroids)`` of a regression that is fitted anew to every draw of the training stimuli.

    Args:
        arrays: source and target of the training stimuli, each followed by that of the test stimuli.
        train_counts, test_counts: how often each draw holds each of them.
        mapping, dtype: of the regression.
    """
    with precision(dtype) as chosen:
        kernel = compiled(train_test_bootstraps, mapping=mapping)
        given = [in_dtype(values, chosen) for values in arrays]
        return to_host(kernel(*given, drawn_folds(train_counts, no_folds()), test_counts))
