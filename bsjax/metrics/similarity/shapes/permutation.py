"""The shape metric of representations whose units may only be exchanged."""

import jax
import jax.numpy as jnp

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, Mask, Scalar, Targets
from bsjax.metrics.similarity.matching import assignment
from bsjax.metrics.similarity.shapes.shape import centred_to_unit_norm


@at_full_precision
def permutation_shape_similarity(x: Features, y: Targets, *, where: Mask | None = None) -> Scalar:
    r"""Cosine of the angle between two representations after the best permutation of the units of one.

    .. math:: \cos\theta = \max_\Pi \frac{\langle X, Y \Pi \rangle}{\|X\|_F \|Y\|_F}

    with centred responses. It is at most the Procrustes similarity, because a rotation changes it. Other than in
    :func:`one_to_one`, units count by their variance. Of the larger population, units without a partner are matched
    with silent ones. Among representations with equal numbers of units, :func:`angle` makes it a distance.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar from -1 to 1 in the dtype of the inputs; NaN where a side is constant over stimuli. The gradient is
        that at a fixed permutation.

    Source: Williams et al. 2021, "Generalized Shape Metrics on Neural Representations".

    Example:
        >>> x = jnp.array([[0.0, 1.0, 4.0], [1.0, 3.0, 1.0], [2.0, 0.0, 0.0], [5.0, 1.0, 2.0]])
        >>> print(f"{permutation_shape_similarity(x, 2.0 * x[:, ::-1]):.3f}")
        1.000
    """
    one, other = (centred_to_unit_norm(side, where) for side in (x, y))
    products = one.T @ other
    few = products if x.shape[1] <= y.shape[1] else products.T
    partner = assignment(jax.lax.stop_gradient(few))
    matched = jnp.sum(jnp.take_along_axis(few, partner[:, None], axis=1))
    constant = (jnp.sum(one**2) <= 0) | (jnp.sum(other**2) <= 0)
    return jnp.where(constant, jnp.nan, matched)
