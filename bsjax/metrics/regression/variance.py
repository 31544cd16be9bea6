"""Explained variance of cross-validated predictions, and its division among feature spaces."""

from collections.abc import Sequence
from itertools import combinations
from math import comb

import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, Targets
from bsjax.metrics.numerics import deviations, divide_or_nan
from bsjax.metrics.regression.crossvalidation import predictions, where_tested
from bsjax.metrics.regression.folds import Folds
from bsjax.metrics.regression.mapping import Mapping


@at_full_precision
def cross_validated_r2(x: Features, y: Targets, folds: Folds, *, mapping: Mapping) -> Float[Array, "folds q"]:
    r"""Share of the variance of each fold's test stimuli that predictions explain, up to a constant.

    .. math:: 1 - \frac{\sum_i (e_i - \bar e)^2}{\sum_i (y_i - \bar y)^2},\quad e = y - \hat y

    Unlike a squared correlation it is lowered by predictions of a wrong size, and negative for those that are worse
    than none. Values of different feature spaces can therefore be subtracted.

    Args:
        x: features ``(stimuli, features)``.
        y: targets ``(stimuli, targets)``, rows in the order of ``x``.
        folds: the held-out and test stimuli of each fold (``make_folds``).
        mapping: the regression; one with predictions of the size of the targets.

    Returns:
        ``(folds, targets)`` in the dtype of the inputs; NaN where a target is constant over the test stimuli.

    Source: Nunez-Elizalde, Huth & Gallant 2019 (comparison of feature spaces by explained variance).

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import Ridge, make_folds
        >>> x = jnp.asarray(np.random.RandomState(0).randn(40, 3))
        >>> folds = make_folds(40, [(np.arange(30), np.arange(30, 40))])
        >>> print(cross_validated_r2(x, x @ jnp.ones((3, 2)), folds, mapping=Ridge(alpha=1e-3)).round(3))
        [[1. 1.]]
    """
    predicted, _ = predictions(x, y, folds, mapping)
    rows, mask = where_tested(folds)
    whole = deviations(y[rows], mask[:, :, None], axis=1)
    left = deviations(y[rows] - predicted, mask[:, :, None], axis=1)
    return 1.0 - divide_or_nan(left.squares[:, 0], whole.squares[:, 0], whole.constant[:, 0])


def subsets(spaces: Sequence[str]) -> list[tuple[str, ...]]:
    """All subsets of feature spaces with at least one member, small ones first.

    Example:
        >>> subsets(["a", "b"])
        [('a',), ('b',), ('a', 'b')]
    """
    return [subset for size in range(1, len(spaces) + 1) for subset in combinations(spaces, size)]


def shapley_shares(explained: dict[tuple[str, ...], np.ndarray], spaces: Sequence[str]) -> np.ndarray:
    r"""Division of the variance that all spaces explain together among them, by Shapley values.

    The share of a space is the mean of what it adds to the spaces before it, over all orders of the spaces:

    .. math:: \phi_b = \sum_{S \not\ni b} \frac{1}{B \binom{B - 1}{|S|}} \bigl(R^2_{S \cup b} - R^2_S\bigr)

    Args:
        explained: subset of spaces (of :func:`subsets`) -> explained variance of each target, ``(targets,)``.
        spaces: the names of all spaces.

    Returns:
        ``(spaces, targets)``; the sum over spaces is the explained variance of all together.

    Source: Shapley 1953; Lindeman, Merenda & Gold 1980.

    Example:
        >>> found = {("a",): np.array([0.5]), ("b",): np.array([0.3]), ("a", "b"): np.array([0.6])}
        >>> shapley_shares(found, ["a", "b"]).round(2).tolist()
        [[0.4], [0.2]]
    """
    nothing = np.zeros_like(explained[tuple(spaces)])
    shares = []
    for space in spaces:
        share = nothing.copy()
        for without in [(), *explained]:
            if space not in without:
                together = tuple(each for each in spaces if each in without or each == space)
                weight = 1.0 / (len(spaces) * comb(len(spaces) - 1, len(without)))
                share += weight * (explained[together] - explained.get(without, nothing))
        shares.append(share)
    return np.stack(shares)
