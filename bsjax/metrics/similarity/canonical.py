"""Canonical correlations of two representations, and their averages."""

import jax
import jax.numpy as jnp

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.decompositions import svd
from bsjax.metrics.arrays import Features, Mask, Scalar, Targets
from bsjax.metrics.linalg.singular_values import orthonormal_basis, overlap_of_bases, overlap_of_columns, polar_factor
from bsjax.metrics.numerics import deviations, divide_or_nan, unit_length
from bsjax.metrics.similarity.shapes.shape import centred_to_few_columns


@at_full_precision
def cca(x: Features, y: Targets, *, variance: float = 1.0, where: Mask | None = None) -> Scalar:
    r"""Mean canonical correlation of two representations, or SVCCA with ``variance=0.99``.

    .. math:: \frac{1}{m} \sum_{i=1}^m \rho_i = \frac{\|U_x^T U_y\|_*}{m},
        \quad m = \min(\mathrm{rank} X, \mathrm{rank} Y)

    where :math:`U_x` and :math:`U_y` are orthonormal bases of the centred responses. The value is 1 for unrelated
    responses if a side has as many units as there are stimuli minus one: use fewer units, SVCCA, or another metric.

    Args:
        x: responses ``(stimuli, units)``.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        variance: keep the leading principal components of each side that have this share of its variance (SVCCA).
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar from 0 to 1 in the dtype of the inputs; NaN where a side is constant over stimuli.

    Source: Hotelling 1936; Raghu et al. 2017 (SVCCA).

    Example:
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(f"{cca(x, x @ jnp.array([[1.0, 2.0], [0.0, 3.0]])):.3f}")
        1.000
    """
    if variance == 1.0:  # at any scale of a unit
        rows = None if where is None else where[:, None]
        x, y = (unit_length(deviations(side, rows, axis=0).values.T).T for side in (x, y))
    one, other = (centred_to_few_columns(side, where) for side in (x, y))
    if variance < 1.0:
        overlap, rank = overlap_of_bases(*(polar_factor(side, share=variance) for side in (one, other)))
    else:
        overlap, rank = overlap_of_columns(one, other)
    return divide_or_nan(overlap, rank, rank < 1)


@at_full_precision
def pwcca(x: Features, y: Targets, *, where: Mask | None = None) -> Scalar:
    r"""Projection-weighted CCA: canonical correlations, weighted by how much of ``x`` each canonical variate captures.

    .. math:: \frac{\sum_i w_i \rho_i}{\sum_i w_i},\quad w_i = \sum_u |\langle h_i, x_u \rangle|

    where :math:`h_i` are the canonical variates of ``x`` and :math:`x_u` its centred units. It is not symmetric, and
    not differentiable: canonical variates of equal correlations are not unique.

    Args:
        x: responses ``(stimuli, units)``, whose units give the weights.
        y: responses ``(stimuli, units)`` to the same stimuli in the same order; units may differ in number.
        where: True where a stimulus counts; all if None.

    Returns:
        A scalar from 0 to 1 in the dtype of the inputs; NaN where a side is constant over stimuli.

    Source: Morcos, Raghu & Bengio 2018.

    Example:
        >>> x = jnp.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [5.0, 1.0], [3.0, 4.0]])
        >>> print(f"{pwcca(x, x @ jnp.array([[1.0, 2.0], [0.0, 3.0]])):.3f}")
        1.000
    """
    x, y = (jax.lax.stop_gradient(side) for side in (x, y))
    one, other = (orthonormal_basis(centred_to_few_columns(side, where)) for side in (x, y))
    overlap = one.T @ other
    wide = overlap.shape[0] < overlap.shape[1]
    left, correlations, right = svd(overlap.T if wide else overlap)
    variates = one @ (right if wide else left)
    centred = x - jnp.mean(x, axis=0, keepdims=True, where=None if where is None else where[:, None])
    centred = centred if where is None else jnp.where(where[:, None], centred, 0.0)
    weights = jnp.sum(jnp.abs(variates.T @ centred), axis=1)
    rank = jnp.round(jnp.minimum(jnp.sum(one**2), jnp.sum(other**2)))
    weights = jnp.where(jnp.arange(len(weights), dtype=x.dtype) < rank, weights, 0.0)
    return divide_or_nan(jnp.sum(weights * correlations), jnp.sum(weights), rank < 1)
