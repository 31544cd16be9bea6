"""Linear read-outs of categories, and their accuracy in choices between two alternatives."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features
from bsjax.metrics.numerics import deviations, masked_mean
from bsjax.metrics.regression.folds import no_folds
from bsjax.metrics.regression.ridge_cv import RidgeCV


class ReadoutSplits(NamedTuple):
    """Training rows of each split, and test rows of each split and group; False in the mask where padded."""

    train: Int[Array, "splits t"] | np.ndarray
    test: Int[Array, "splits groups m"] | np.ndarray
    test_mask: Bool[Array, "splits groups m"] | np.ndarray


def two_afc(decision: Float[Array, "*batch c"], label: Int[Array, "*batch"]) -> Float[Array, "*batch"]:
    """Accuracy in choices between two alternatives: the share of the other categories that score below the true one.

    Args:
        decision: decision value of each category, ``(..., categories)``.
        label: the true category of each row, as a column index of ``decision``.

    Returns:
        Values in [0, 1], 0.5 by chance; a tie is an error.

    Example:
        >>> import jax.numpy as jnp
        >>> print(two_afc(jnp.array([[0.5, 0.1, 0.9], [0.5, 0.1, 0.9]]), jnp.array([0, 2])))
        [0.5 1. ]
    """
    own = jnp.take_along_axis(decision, label[..., None], axis=-1)
    return jnp.sum(decision < own, axis=-1).astype(decision.dtype) / (decision.shape[-1] - 1)


@at_full_precision
def ridge_two_afc(
    x: Features, label: Int[Array, " n"], splits: ReadoutSplits, *, categories: int, alphas: tuple[float, ...]
) -> Float[Array, "splits groups"]:
    """Two-alternative accuracy of ridge classifiers, each fitted on the training rows of a split.

    Features are standardised to mean 0 and standard deviation 1 over the training rows. The classifier is a ridge
    regression to +1 for the true category and -1 for the others, with the penalty of the least leave-one-out error.

    Args:
        x: features.
        label: category of each row, from 0.
        splits: training and test rows.
        categories: number of categories.
        alphas: the penalties to choose from.

    Returns:
        Mean of ``two_afc`` over the test rows of each split and group; NaN for a group without test rows.

    Source: scikit-learn's ``StandardScaler`` and ``RidgeClassifierCV``.

    Example:
        >>> import jax.numpy as jnp, numpy as np
        >>> from bsjax.metrics import compiled
        >>> x = jnp.asarray(np.repeat(np.eye(2), 4, axis=0) + 0.1 * np.random.RandomState(0).randn(8, 2))
        >>> rows = ReadoutSplits(jnp.array([[0, 1, 4, 5]]), jnp.array([[[2, 3, 6, 7]]]), jnp.ones((1, 1, 4), bool))
        >>> readout = compiled(ridge_two_afc, categories=2, alphas=(0.1, 1.0))
        >>> print(readout(x, jnp.repeat(jnp.arange(2), 4), rows))
        [[1.]]
    """
    targets = 2.0 * jax.nn.one_hot(label, categories, dtype=x.dtype) - 1.0

    def one_split(split: ReadoutSplits) -> Float[Array, " groups"]:
        tested = split.test.reshape(-1)
        decision = _fitted_decision(x[split.train], targets[split.train], x[tested], alphas)
        right = two_afc(decision, label[tested]).reshape(split.test.shape)
        return masked_mean(right, jnp.asarray(split.test_mask), axis=1)[0][:, 0]

    return batched_map(one_split, splits)


def _fitted_decision(
    x: Float[Array, "t p"], y: Float[Array, "t c"], new: Float[Array, "m p"], alphas: tuple[float, ...]
) -> Float[Array, "m c"]:
    centred, squares, mean, count, constant = deviations(x, None, axis=0)
    sd = jnp.sqrt(jnp.where(constant, count, squares) / count)
    ridge, everything = RidgeCV(alphas), no_folds()
    prepared = ridge.prepare(centred / sd, y)
    params = ridge.fit(prepared, jnp.asarray(everything.held_out), jnp.asarray(everything.held_out_mask))
    return ridge.predict(params, ridge.embed(prepared, (new - mean) / sd)[None])[0] + params.intercept
