"""Factors of Gram matrices that may be rank-deficient, with finite gradients."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.primitives.products import matmul_t
from bsjax.engine.primitives.triangular import cholesky, inverse_and_pivots, solve_lower
from bsjax.engine.row_blocks import sum_over_row_blocks
from bsjax.engine.tolerances import PIVOT_POWER, rounding
from bsjax.metrics.numerics import inverse_root

# Steps of inverse iteration, to find the size of the smallest eigenvalue.
_INVERSE_STEPS = 8


@jax.custom_jvp
def cholesky_if_well_posed(matrix: Float[Array, "d d"]) -> tuple[Float[Array, "d d"], Bool[Array, ""]]:
    """Lower Cholesky factor and True; the identity and False if the matrix is not numerically positive definite.

    The matrix counts as numerically rank-deficient if a pivot is NaN, or so small relative to the largest pivot that
    rounding errors would affect the solution. The identity replaces a failed factor so that branches that are computed
    but not used contain no NaN.
    """
    factor = cholesky(matrix)
    pivots = jnp.diagonal(factor) ** 2
    well_posed = jnp.min(pivots, initial=jnp.inf) > _least_share(matrix) * jnp.max(pivots, initial=0.0)
    return jnp.where(well_posed, factor, jnp.eye(matrix.shape[0], dtype=matrix.dtype)), well_posed


def _least_share(matrix: Float[Array, "d d"]) -> float:
    """The least share of a pivot in the largest, of a matrix that is numerically positive definite."""
    return max(rounding(matrix, len(matrix)), rounding(matrix, power=PIVOT_POWER))


@cholesky_if_well_posed.defjvp
def _cholesky_jvp(primals: tuple, tangents: tuple) -> tuple:
    factor, well_posed = cholesky_if_well_posed(primals[0])
    left = solve_lower(factor, tangents[0])
    both = solve_lower(factor, left.T).T
    lower = jnp.tril(both, -1) + 0.5 * jnp.diag(jnp.diagonal(both))
    change = jnp.where(well_posed, factor @ lower, jnp.zeros_like(factor))
    return (factor, well_posed), (change, jnp.zeros((), jax.dtypes.float0))


def least_curvature(x: Float[Array, "n d"]) -> Float[Array, ""]:
    """A number that no eigenvalue of ``x.T @ x`` falls short of, without columns of zeros; 0 if none is found.

    It is half of the smallest eigenvalue by inverse iteration, and is certain if a Cholesky decomposition of the matrix
    minus it succeeds.

    Source: Rump 2006, "Verification of positive definiteness".

    Example:
        >>> print(least_curvature(jnp.array([[1.0, 0.0], [0.0, 2.0]])).round(2))
        0.5
    """
    gram = x.T @ x
    squares = jnp.diagonal(gram)
    gram = gram + jnp.diag(jnp.where(squares > 0, 0.0, jnp.sum(squares)))
    factor, vector = cholesky(gram), jnp.ones((len(gram), 1), x.dtype)
    for _ in range(_INVERSE_STEPS):
        vector = solve_lower(factor, solve_lower(factor, vector), transposed=True)
        vector = vector / jnp.sqrt(jnp.sum(vector**2))
    half = 0.5 * jnp.sum(vector * (gram @ vector))
    sure = jnp.all(jnp.isfinite(cholesky(gram - half * jnp.eye(len(gram), dtype=x.dtype))))
    unsure = rounding(x, 4 * sum(x.shape)) * jnp.sum(squares)
    return jnp.where(sure, jnp.maximum(half - unsure, 0.0), 0.0)


def inverse_factor(x: Float[Array, "n d"], axes: Float[Array, "d k"], alpha: Float[Array, ""]) -> Float[Array, "d k"]:
    """``F`` with ``F @ F.T`` the inverse of ``x.T @ x + alpha`` within the range of ``x``.

    The axes only serve to find the range and need not be exact: features are projected onto them, and the inner
    products of the projections are factorised. An axis is dropped if the projection onto it is, up to the rounding
    error of a singular value decomposition, a combination of the projections onto axes of larger variance.

    Args:
        x: centred features.
        axes: orthonormal columns close to the eigenvectors of ``x.T @ x``, or zero columns. They have no gradient:
            other axes with the same range give the same inverse.
        alpha: the penalty, 0 for none.
    """
    axes = jax.lax.stop_gradient(axes)

    def products(rows: Float[Array, "b d"]) -> Float[Array, "k k"]:
        along = rows @ axes
        return matmul_t(along, along)

    gram = sum_over_row_blocks(products, x)
    squares = jax.lax.stop_gradient(jnp.diagonal(gram))
    longest_first = jnp.argsort(-squares)
    axes, squares, gram = axes[:, longest_first], squares[longest_first], gram[jnp.ix_(longest_first, longest_first)]
    least = rounding(x, max(x.shape)) ** 2 * squares[0]
    kept = squares > least
    total = jnp.where(kept, squares + alpha, 1.0)
    scale = inverse_root(total, kept)
    scaled = axes * scale[None]
    system, penalty = gram * scale[:, None] * scale[None], jnp.where(kept, alpha / total, 1.0)
    # A small addition lets the factorisation continue past an axis that depends on longer ones.
    lengthened = system + jnp.diag(penalty + rounding(x, len(squares)))
    from_longer = jax.lax.stop_gradient(jnp.diagonal(jnp.linalg.cholesky(lengthened))) ** 2 * squares
    kept = (kept & (from_longer > least)).astype(x.dtype)
    system = (system + jnp.diag(penalty)) * kept[:, None] * kept[None] + jnp.diag(1.0 - kept)
    return solve_lower(jnp.linalg.cholesky(system), (scaled * kept[None]).T).T


def inverse_if_well_posed(matrix: Float[Array, "d d"]) -> tuple[Float[Array, "d d"], Bool[Array, ""]]:
    """The inverse of a symmetric matrix and True; the identity and False if it is not numerically positive definite.

    It is not differentiable, and decides what is positive definite as ``cholesky_if_well_posed`` does.
    """
    inverse, least, most = inverse_and_pivots(matrix)
    well_posed = least > _least_share(matrix) * most
    return jnp.where(well_posed, inverse, jnp.eye(len(matrix), dtype=matrix.dtype)), well_posed
