"""Stimuli whitened by a penalised Gram matrix, whose inner products are the smoother of a ridge regression."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

from bsjax.engine.fallbacks import in_any_of_a_batch
from bsjax.engine.row_blocks import over_blocks
from bsjax.metrics.linalg.eigh import eigh
from bsjax.metrics.linalg.positive_definite import cholesky_if_well_posed, inverse_factor


class Whitened(NamedTuple):
    """Whitened stimuli, one to a row, and whether they could be had.

    Of a Gram matrix between features, their inner products are the smoother :math:`H`. Of one between stimuli they are
    the inverse of the penalised Gram matrix: :math:`I - H` divided by alpha, without the cancellation of that.
    """

    rows: Float[Array, "n d"]
    well_posed: Bool[Array, ""]


def whiten(
    x: Float[Array, "n p"], gram: Float[Array, "d d"], alpha: Float[Array, ""], *, in_features: bool
) -> Whitened:
    """By the Cholesky factor of the penalised Gram matrix.

    Where that has none, by a factor within the range of the features; not between stimuli, where it would take arrays
    as large as the features.

    Args:
        x: centred features.
        gram: their inner products, between features or between stimuli.
        alpha: the penalty, 0 for none.
        in_features: whether they are between features.
    """
    penalised = penalised_gram(gram, jnp.ones(gram.shape[0], x.dtype), alpha, in_features=in_features)
    cholesky, well_posed = cholesky_if_well_posed(penalised)

    def whitened(rows: Float[Array, "b d"]) -> Float[Array, "b d"]:
        return solve_triangular(cholesky, rows.T, lower=True).T

    def of_full_rank() -> Whitened:
        # A triangular solver copies what it is given, and its result once more.
        rows = x if in_features else jnp.eye(x.shape[0], dtype=x.dtype)
        return Whitened(over_blocks(whitened, rows, axis=0), well_posed)

    def either() -> Whitened:
        of_all = solve_triangular(cholesky, jnp.eye(gram.shape[0], dtype=x.dtype), lower=True).T
        rows = x @ jnp.where(well_posed, of_all, inverse_factor(x, eigh(gram)[1], alpha)[0])
        return Whitened(rows, jnp.all(jnp.isfinite(rows)))

    if not in_features:
        return of_full_rank()
    return jax.lax.cond(in_any_of_a_batch(~well_posed), either, of_full_rank)


def penalised_gram(
    gram: Float[Array, "d d"], there: Float[Array, " d"], alpha: Float[Array, ""], *, in_features: bool
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
