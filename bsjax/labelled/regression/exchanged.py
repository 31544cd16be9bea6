"""Regressions that are fitted anew after every permutation of the stimuli."""

from typing import Any

import numpy as np

from bsjax.engine.memory_limit import within_limit
from bsjax.engine.precision import in_dtype, precision
from bsjax.labelled.aggregate import nan_mean, nan_median
from bsjax.metrics import Mapping, compiled
from bsjax.metrics.regression.folds import Folds
from bsjax.metrics.resampling.permutation import cross_validation_permutations


def refitted_after_permutations(
    x: Any, y: Any, folds: Folds, rows: np.ndarray, mapping: Mapping, dtype: str | None
) -> np.ndarray:
    """The mean over folds of the median over neuroids, ``(draws,)``, of regressions fitted after every permutation.

    Args:
        x, y: features and responses to the same stimuli in the same order.
        folds: of the stimuli of ``x``.
        rows: the stimulus whose features each response is predicted from, ``(draws, stimuli)``.
        mapping, dtype: of the regression.
    """
    with precision(dtype) as chosen:
        # Responses trade places in the place of features: each comes to the features that it is predicted from.
        orders = np.argsort(rows, axis=1).astype(np.int32)
        kernel = compiled(cross_validation_permutations, mapping=mapping)
        given = in_dtype(x, chosen), in_dtype(y, chosen), folds, orders
        raw = within_limit(kernel, given, f"{mapping!r} of permutations of {len(x):,} stimuli", "fewer neuroids")
    return nan_mean(nan_median(np.asarray(raw, float)))
