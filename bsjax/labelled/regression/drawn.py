"""Regressions that are fitted anew to every draw of the stimuli."""

from collections.abc import Sequence

import jax
import numpy as np

from bsjax.engine.memory_limit import taken_by, within_limit
from bsjax.engine.precision import in_dtype, precision
from bsjax.metrics import Mapping, compiled
from bsjax.metrics.regression.folds import no_folds
from bsjax.metrics.resampling.refits import (
    DrawnFolds,
    cross_validation_bootstraps,
    drawn_folds,
    train_test_bootstraps,
)

_FEWER = "fewer features (a reducer), stimuli or neuroids,"


def refitted(
    x: np.ndarray | jax.Array, y: np.ndarray | jax.Array, folds: DrawnFolds, mapping: Mapping, dtype: str | None
) -> np.ndarray:
    """Correlations ``(draws, splits, neuroids)`` of regressions that are fitted anew to every draw of the stimuli.

    Raises:
        ValueError: it takes more memory than there is.
    """
    with precision(dtype) as chosen:
        kernel = compiled(cross_validation_bootstraps, mapping=mapping)
        return within_limit(kernel, (in_dtype(x, chosen), in_dtype(y, chosen), folds), _what(mapping, x, y), _FEWER)


def taken_by_refits(
    x: tuple[int, int], y: tuple[int, int], folds: DrawnFolds, mapping: Mapping, dtype: str | None
) -> int:
    """Bytes that ``refitted`` takes of features and targets of these shapes."""
    with precision(dtype) as chosen:
        shapes = (jax.ShapeDtypeStruct(shape, chosen) for shape in (x, y))
        return taken_by(compiled(cross_validation_bootstraps, mapping=mapping), (*shapes, folds))


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

    Raises:
        ValueError: it takes more memory than there is.
    """
    with precision(dtype) as chosen:
        kernel = compiled(train_test_bootstraps, mapping=mapping)
        given = [in_dtype(values, chosen) for values in arrays]
        held = drawn_folds(train_counts, no_folds()), test_counts
        return within_limit(kernel, (*given, *held), _what(mapping, arrays[0], arrays[-1]), _FEWER)


def _what(mapping: Mapping, x: np.ndarray | jax.Array, y: np.ndarray | jax.Array) -> str:
    features, neuroids = x.shape[1], y.shape[1]
    return f"{mapping!r} of draws of {len(x):,} stimuli, {features:,} features and {neuroids:,} neuroids"
