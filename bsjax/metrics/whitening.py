"""Stimuli whitened by a penalised Gram matrix, whose inner products are the smoother of a ridge regression."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

from bsjax.metrics.eigh import eigh
from bsjax.metrics.numerics import matmul_t, transposed
from bsjax.metrics.positive_definite import cholesky_if_well_posed, inverse_factor


class Whitened(NamedTuple):
    """Whitened stimuli, one to a column, and whether they could be had.

    Their inner products are the smoother :math:`H`, or the ``inverse`` of the penalised Gram matrix between stimuli:
    that is :math:`I - H` divided by alpha, without the cancellation of the subtraction.
    """

    columns: Float[Array, "d n"]
    well_posed: Bool[Array, ""]
    inverse: Bool[Array, ""]


def whiten(x: Float[Array, "n p"], gram: Float[Array, "d d"], alpha: float) -> Whitened:
    """By the Cholesky factor of the penalised Gram matrix; within the range of the features where that has none.

    Args:
        x: centred features.
        gram: their inner products, between features or between stimuli, whichever are fewer.
        alpha: the penalty, 0 for none.
    """
    in_features = x.shape[1] < x.shape[0]
    penalised = penalised_gram(gram, jnp.ones(gram.shape[0], x.dtype), alpha, in_features=in_features)
    cholesky, well_posed = cholesky_if_well_posed(penalised)

    def of_full_rank() -> Whitened:
        rows = x if in_features else jnp.eye(x.shape[0], dtype=x.dtype)
        columns = solve_triangular(cholesky, transposed(rows), lower=True)
        return Whitened(columns, well_posed, jnp.asarray(not in_features))

    return jax.lax.cond(well_posed, of_full_rank, lambda: _within_range(x, gram, alpha))


def _within_range(x: Float[Array, "n p"], gram: Float[Array, "d d"], alpha: float) -> Whitened:
    values, axes = eigh(gram)
    if x.shape[1] >= x.shape[0]:
        held = values > len(values) * jnp.finfo(x.dtype).eps * values[-1]
        axes = matmul_t(x, axes * jnp.where(held, 1.0 / jnp.sqrt(jnp.where(held, values, 1.0)), 0.0)[None])
    columns = (x @ inverse_factor(x, axes, alpha)[0]).T
    return Whitened(columns, jnp.all(jnp.isfinite(columns)), jnp.asarray(False))


def penalised_gram(
    gram: Float[Array, "d d"], there: Float[Array, " d"], alpha: float, *, in_features: bool
) -> Float[Array, "d d"]:
    """The Gram matrix with alpha on its diagonal, and any weight where it is zero without changing a prediction.

    Args:
        gram: inner products of centred features, between features or between stimuli.
        there: 1 for stimuli that are in it, 0 for those that were left out; not looked at between features.
        alpha: the penalty.
        in_features: whether it is between features.
    """
    penalised = gram + alpha * jnp.eye(gram.shape[0], dtype=gram.dtype)
    shift = mean_square(gram)
    if in_features:
        # A feature that never varies has zero weight, whatever stands on its diagonal.
        silent = jnp.where(jnp.diagonal(gram) > 0, jnp.zeros_like(shift), shift)
        return penalised + jnp.diag(silent)
    # Centring leaves the constant vector in the null space, and so do stimuli that are left out.
    return penalised + shift * (there[:, None] * there[None] / jnp.sum(there) + jnp.diag(1.0 - there))


def mean_square(gram: Float[Array, "n n"]) -> Float[Array, ""]:
    """The mean of the diagonal, 1 where that is zero."""
    mean = jnp.trace(gram) / gram.shape[0]
    return jnp.where(mean > 0, mean, jnp.ones_like(mean))
