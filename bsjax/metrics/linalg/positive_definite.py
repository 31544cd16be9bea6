"""Solving with Gram matrices that may turn out to be rank-deficient, with gradients that stay finite when they do."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.primitives.products import matmul_t
from bsjax.engine.primitives.triangular import cholesky, solve_lower
from bsjax.engine.row_blocks import in_row_blocks, sum_over_row_blocks

# Pivots above this power of the rounding error leave errors of 1e-3 of a solution in float32, and 1e-6 in float64.
_LEAST_PIVOT_POWER = 0.55


@jax.custom_jvp
def cholesky_if_well_posed(matrix: Float[Array, "d d"]) -> tuple[Float[Array, "d d"], Bool[Array, ""]]:
    """Lower Cholesky factor and True, or the identity and False where the matrix is not safely positive definite.

    The pivots tell: one that is NaN, or so small beside the largest that rounding errors of that would show in the
    solution, means a matrix as good as rank-deficient. The identity in place of a failed factor keeps NaN out of what
    is computed beside it and not used.
    """
    factor = cholesky(matrix)
    pivots = jnp.diagonal(factor) ** 2
    eps = float(jnp.finfo(matrix.dtype).eps)
    tolerance = max(matrix.shape[0] * eps, eps**_LEAST_PIVOT_POWER)
    well_posed = jnp.min(pivots, initial=jnp.inf) > tolerance * jnp.max(pivots, initial=0.0)
    return jnp.where(well_posed, factor, jnp.eye(matrix.shape[0], dtype=matrix.dtype)), well_posed


@cholesky_if_well_posed.defjvp
def _cholesky_jvp(primals: tuple, tangents: tuple) -> tuple:
    factor, well_posed = cholesky_if_well_posed(primals[0])
    left = solve_lower(factor, tangents[0])
    both = solve_lower(factor, left.T).T
    lower = jnp.tril(both, -1) + 0.5 * jnp.diag(jnp.diagonal(both))
    change = jnp.where(well_posed, factor @ lower, jnp.zeros_like(factor))
    return (factor, well_posed), (change, jnp.zeros((), jax.dtypes.float0))


@jax.custom_jvp
def solve_within_range(
    gram: Float[Array, "d d"], right: Float[Array, "d q"], alpha: Float[Array, ""]
) -> Float[Array, "d q"]:
    """``(gram + alpha)^-1 @ right`` within the range of the positive semi-definite ``gram``.

    By eigendecomposition, with eigenvalues that are zero up to rounding left out; for ``alpha = 0`` the minimum-norm
    solution. The derivative is that of the pseudo-inverse at constant rank, not that of the eigenvectors, which is
    undefined for repeated eigenvalues.
    """
    factor, _ = _truncated(gram, alpha)
    return factor @ (factor.T @ right)


@solve_within_range.defjvp
def _solve_within_range_jvp(primals: tuple, tangents: tuple) -> tuple:
    gram, right, alpha = primals
    return _with_change(*_truncated(gram, alpha), right, alpha, *tangents)


@jax.custom_jvp
def fit_within_range(x: Float[Array, "n d"], y: Float[Array, "n q"], alpha: Float[Array, ""]) -> Float[Array, "d q"]:
    """``(x.T @ x + alpha)^-1 @ x.T @ y`` within the range of ``x``: as ``solve_within_range``, to more digits.

    By a singular value decomposition of the features and not of their Gram matrix, in which rounding hides directions
    that are weaker than the strongest by a thousandth in float32.
    """
    factor, _ = _of_features(x, alpha)
    return factor @ (factor.T @ sum_over_row_blocks(matmul_t, x, y))


@fit_within_range.defjvp
def _fit_within_range_jvp(primals: tuple, tangents: tuple) -> tuple:
    (x, y, alpha), (x_change, y_change, alpha_change) = primals, tangents
    factor, axes = _of_features(x, alpha)
    half = matmul_t(x, x_change)
    gram_change, right_change = half + half.T, matmul_t(x, y_change) + matmul_t(x_change, y)
    return _with_change(factor, axes, matmul_t(x, y), alpha, gram_change, right_change, alpha_change)


def inverse_factor(
    x: Float[Array, "n d"], axes: Float[Array, "d k"], alpha: Float[Array, ""]
) -> tuple[Float[Array, "d k"], Float[Array, "d k"]]:
    """``F`` with ``F @ F.T`` the inverse of ``x.T @ x + alpha`` within the range of ``x``, and the axes that span that.

    The axes serve to find the range, and need not be exact: along each of them features are measured once more, and
    what is left of their inner products is factorised. Left out are those along which features reach no farther from
    the range of longer ones than rounding takes them, by the rounding that a singular value decomposition has.

    Args:
        x: centred features.
        axes: orthonormal columns, close to the eigenvectors of ``x.T @ x``, or zero. Constants to a derivative: others
            of the same range give the same inverse.
        alpha: the penalty, 0 for none.
    """
    eps = jnp.finfo(x.dtype).eps
    axes = jax.lax.stop_gradient(axes)

    def products(rows: Float[Array, "b d"]) -> Float[Array, "k k"]:
        along = rows @ axes
        return matmul_t(along, along)

    gram = sum_over_row_blocks(products, x)
    squares = jax.lax.stop_gradient(jnp.diagonal(gram))
    longest_first = jnp.argsort(-squares)
    axes, squares, gram = axes[:, longest_first], squares[longest_first], gram[jnp.ix_(longest_first, longest_first)]
    rounding = (max(x.shape) * eps) ** 2 * squares[0]
    kept = squares > rounding
    total = jnp.where(kept, squares + alpha, 1.0)
    scale = jnp.where(kept, 1.0 / jnp.sqrt(total), 0.0)
    scaled = axes * scale[None]
    system, penalty = gram * scale[:, None] * scale[None], jnp.where(kept, alpha / total, 1.0)
    # Enough for the factorisation to get past one that lies in the range of longer ones.
    lengthened = system + jnp.diag(penalty + len(squares) * eps)
    from_longer = jax.lax.stop_gradient(jnp.diagonal(jnp.linalg.cholesky(lengthened))) ** 2 * squares
    kept = (kept & (from_longer > rounding)).astype(x.dtype)
    system = (system + jnp.diag(penalty)) * kept[:, None] * kept[None] + jnp.diag(1.0 - kept)
    return solve_lower(jnp.linalg.cholesky(system), (scaled * kept[None]).T).T, axes * kept[None]


def _with_change(
    factor: Float[Array, "d k"],
    vectors: Float[Array, "d k"],
    right: Float[Array, "d q"],
    alpha: Float[Array, ""],
    gram_change: Float[Array, "d d"],
    right_change: Float[Array, "d q"],
    alpha_change: Float[Array, ""],
) -> tuple[Float[Array, "d q"], Float[Array, "d q"]]:
    """A solution and its derivative; ``vectors`` span the range."""

    def apply(values: Float[Array, "d q"]) -> Float[Array, "d q"]:
        return factor @ (factor.T @ values)

    solution = apply(right)
    change = apply(right_change - gram_change @ solution - alpha_change * solution)
    # A rotation of the range turns the minimum-norm solution with it.
    turned = jnp.where(alpha == 0, gram_change @ apply(solution), jnp.zeros_like(solution))
    return solution, change + turned - vectors @ (vectors.T @ turned)


def _of_features(x: Float[Array, "n d"], alpha: Float[Array, ""]) -> tuple[Float[Array, "d k"], Float[Array, "d k"]]:
    """What ``_truncated`` is of ``x.T @ x``."""

    def with_rows(triangle: Float[Array, "d d"], rows: Float[Array, "b d"]) -> tuple[Float[Array, "d d"], None]:
        return jnp.linalg.qr(jnp.concatenate([triangle, rows]), mode="r"), None

    # Features have the singular values and axes of their triangle, which is as small as may be.
    triangle, _ = jax.lax.scan(with_rows, jnp.zeros((x.shape[1], x.shape[1]), x.dtype), in_row_blocks(x))
    _, lengths, axes = jnp.linalg.svd(triangle, full_matrices=False)
    kept = lengths > max(x.shape) * float(jnp.finfo(x.dtype).eps) * lengths[0]
    axes = axes.T * kept.astype(x.dtype)[None]
    return axes / jnp.sqrt(jnp.where(kept, lengths**2 + alpha, 1.0))[None], axes


def _truncated(gram: Float[Array, "d d"], alpha: Float[Array, ""]) -> tuple[Float[Array, "d d"], Float[Array, "d d"]]:
    """A factor of the inverse of ``gram + alpha``, and the eigenvectors of ``gram``, zero where its eigenvalues are."""
    eigenvalues, vectors = jnp.linalg.eigh(gram)
    cutoff = gram.shape[0] * jnp.finfo(gram.dtype).eps * eigenvalues[-1]
    kept = eigenvalues > jnp.maximum(cutoff, jnp.zeros_like(cutoff))
    vectors = vectors * kept.astype(gram.dtype)[None]
    return vectors / jnp.sqrt(jnp.where(kept, eigenvalues + alpha, 1.0))[None], vectors
