"""Solving with Gram matrices that may turn out to be rank-deficient, with gradients that stay finite when they do."""

from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Bool, Float

from bsjax.metrics.numerics import matmul_t


@jax.custom_jvp
def cholesky_if_well_posed(matrix: Float[Array, "d d"]) -> tuple[Float[Array, "d d"], Bool[Array, ""]]:
    """Lower Cholesky factor and True, or the identity and False where the matrix is not safely positive definite.

    The pivots tell: one that is within rounding of zero, relative to the largest, or NaN, means a rank-deficient
    matrix. The identity in place of a failed factor keeps NaN out of what is computed beside it and not used.
    """
    factor = jnp.linalg.cholesky(matrix)
    pivots = jnp.diagonal(factor) ** 2
    tolerance = matrix.shape[0] * jnp.finfo(matrix.dtype).eps
    well_posed = jnp.min(pivots, initial=jnp.inf) > tolerance * jnp.max(pivots, initial=0.0)
    return jnp.where(well_posed, factor, jnp.eye(matrix.shape[0], dtype=matrix.dtype)), well_posed


@cholesky_if_well_posed.defjvp
def _cholesky_jvp(primals: tuple, tangents: tuple) -> tuple:
    factor, well_posed = cholesky_if_well_posed(primals[0])
    left = solve_triangular(factor, tangents[0], lower=True)
    both = solve_triangular(factor, left.T, lower=True).T
    lower = jnp.tril(both, -1) + 0.5 * jnp.diag(jnp.diagonal(both))
    change = jnp.where(well_posed, factor @ lower, jnp.zeros_like(factor))
    return (factor, well_posed), (change, jnp.zeros((), jax.dtypes.float0))


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def solve_within_range(gram: Float[Array, "d d"], right: Float[Array, "d q"], alpha: float) -> Float[Array, "d q"]:
    """``(gram + alpha)^-1 @ right`` within the range of the positive semi-definite ``gram``.

    By eigendecomposition, with eigenvalues that are zero up to rounding left out; for ``alpha = 0`` the minimum-norm
    solution. The derivative is that of the pseudo-inverse at constant rank, not that of the eigenvectors, which is
    undefined for repeated eigenvalues.
    """
    inverse, vectors, _ = _truncated_inverse(gram, alpha)
    return vectors @ (inverse[:, None] * matmul_t(vectors, right))


@solve_within_range.defjvp
def _solve_within_range_jvp(alpha: float, primals: tuple, tangents: tuple) -> tuple:
    gram, right = primals
    inverse, vectors, kept = _truncated_inverse(gram, alpha)

    def apply(weights: Float[Array, " d"], values: Float[Array, "d q"]) -> Float[Array, "d q"]:
        return vectors @ (weights[:, None] * matmul_t(vectors, values))

    solution = apply(inverse, right)
    change = apply(inverse, tangents[1] - tangents[0] @ solution)
    if alpha == 0:  # a rotation of the range turns the minimum-norm solution with it
        change = change + apply(jnp.where(kept, 0.0, 1.0).astype(gram.dtype), tangents[0] @ apply(inverse, solution))
    return solution, change


def _truncated_inverse(
    gram: Float[Array, "d d"], alpha: float
) -> tuple[Float[Array, " d"], Float[Array, "d d"], Bool[Array, " d"]]:
    eigenvalues, vectors = jnp.linalg.eigh(gram)
    cutoff = gram.shape[0] * jnp.finfo(gram.dtype).eps * eigenvalues[-1]
    kept = eigenvalues > jnp.maximum(cutoff, jnp.zeros_like(cutoff))
    safe = jnp.where(kept, eigenvalues, jnp.ones_like(eigenvalues))
    return jnp.where(kept, 1.0 / (safe + alpha), jnp.zeros_like(safe)), vectors, kept
