"""Cholesky factors, solutions of triangular systems, and inverses."""

from functools import partial

import jax
import jax.numpy as jnp
from jax.scipy.linalg import block_diag, solve_triangular
from jaxtyping import Array, Float

from bsjax.engine.primitives.products import matmul_t
from bsjax.engine.programs.platforms import platform, primitive

# A loop over the halves of a smaller matrix takes longer to compile than they do.
_LOOPED = 1024
# Rows per block on a TPU, the size of its matrix unit. XLA's own block loops are unrolled; with more than two blocks,
# programs would take minutes to compile.
_BLOCK = 128
# Below this size, halves of a matrix are not worth products of their own; a TPU inverts so many rows at a time.
_AT_ONCE = 256


@jax.custom_jvp
def without_derivative(x: Array) -> Array:
    """``x``, with an error if a derivative is requested, instead of a silent zero gradient."""
    return x


@without_derivative.defjvp
def _refused(*_: tuple[Array]) -> tuple[Array, Array]:
    raise NotImplementedError(
        "this decomposition has no derivative: define one for what is computed with it (jax.custom_jvp), or take "
        "jax.lax.stop_gradient of the matrix where it makes no difference"
    )


@primitive
def cholesky(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """The lower Cholesky factor; NaN for a matrix that is not positive definite. It is not differentiable.

    Example:
        >>> print(cholesky(jnp.array([[4.0, 2.0], [2.0, 2.0]])))
        [[2. 0.]
         [1. 1.]]
    """
    return jnp.linalg.cholesky(without_derivative(matrix))


@cholesky.on("tpu")
def _cholesky_in_blocks(matrix: Float[Array, "d d"]) -> Float[Array, "d d"]:
    matrix, d = without_derivative(matrix), len(matrix)
    if d <= 2 * _BLOCK:
        return jnp.linalg.cholesky(matrix)
    left = _filled_up(matrix)
    size = len(left)

    def take_off(block: Array, left: Float[Array, "n n"]) -> Float[Array, "n n"]:
        start = block * _BLOCK
        corner = jnp.linalg.cholesky(jax.lax.dynamic_slice(left, (start, start), (_BLOCK, _BLOCK)))
        columns = jax.lax.dynamic_slice(left, (0, start), (size, _BLOCK)) @ _inverse(corner).T
        below = jnp.where((jnp.arange(size) >= start + _BLOCK)[:, None], columns, 0.0)
        columns = jax.lax.dynamic_update_slice(below, corner, (start, 0))
        return jax.lax.dynamic_update_slice(left - below @ below.T, columns, (0, start))

    return jnp.tril(jax.lax.fori_loop(0, size // _BLOCK, take_off, left))[:d, :d]


@primitive
def solve_lower(
    factor: Float[Array, "d d"], right: Float[Array, "d q"], *, transposed: bool = False
) -> Float[Array, "d q"]:
    """``factor^-1 @ right`` for a lower triangular factor, or the same with its transpose.

    Example:
        >>> print(solve_lower(jnp.array([[2.0, 0.0], [1.0, 1.0]]), jnp.array([[2.0], [3.0]])))
        [[1.]
         [2.]]
    """
    return solve_triangular(factor, right, lower=True, trans=int(transposed))


@solve_lower.on("tpu")
def _solve_in_blocks(
    factor: Float[Array, "d d"], right: Float[Array, "d q"], *, transposed: bool = False
) -> Float[Array, "d q"]:
    if len(factor) <= 2 * _BLOCK:
        return solve_triangular(factor, right, lower=True, trans=int(transposed))
    return _solved(factor, right, transposed)


@primitive
def inverse_and_pivots(matrix: Float[Array, "d d"]) -> tuple[Float[Array, "d d"], Float[Array, ""], Float[Array, ""]]:
    """The inverse of a symmetric matrix, and the smallest and the largest squared pivot of its Cholesky factor.

    It is computed by halves, so that most of the work is products. A matrix that is not positive definite gives NaN.

    Example:
        >>> print(*inverse_and_pivots(jnp.array([[4.0, 0.0], [0.0, 1.0]])))
        [[0.25 0.  ]
         [0.   1.  ]] 1.0 4.0
    """
    d = len(matrix)
    if d <= _AT_ONCE:
        factor = cholesky(matrix)
        root, pivots = solve_lower(factor, jnp.eye(d, dtype=matrix.dtype)), jnp.diagonal(factor) ** 2
        return matmul_t(root, root), jnp.min(pivots, initial=jnp.inf), jnp.max(pivots, initial=0.0)
    h = d // 2
    below, corner = matrix[h:, :h], matrix[h:, h:]

    def remainder(first: Float[Array, "h h"], _: Array) -> tuple[Float[Array, "k k"], Float[Array, "k h"]]:
        across = below @ first
        return corner - across @ below.T, across

    def change(last: Float[Array, "k k"], across: Float[Array, "k h"]) -> tuple[Array, Array]:
        mixed = last @ across
        return matmul_t(across, mixed), mixed

    def invert(state: tuple[Array, Array], turn: Array) -> tuple[tuple[Array, Array], tuple[Array, ...]]:
        inverse, *pivots = inverse_and_pivots.plain(state[0])
        return jax.lax.cond(turn == 0, remainder, change, inverse, state[1]), (inverse, *pivots)

    if d % 2 == 0 and d > _LOOPED and platform() == "cpu":  # in a loop, which compiles halves of one size once
        start = matrix[:h, :h], jnp.zeros_like(below)
        (added, mixed), ((first, last), least, most) = jax.lax.scan(invert, start, jnp.arange(2))
        return _of_parts(first + added, mixed, last), jnp.min(least), jnp.max(most)
    first, *pivots = inverse_and_pivots.plain(matrix[:h, :h])
    left, across = remainder(first, below)
    last, least, most = inverse_and_pivots.plain(left)
    added, mixed = change(last, across)
    return _of_parts(first + added, mixed, last), jnp.minimum(pivots[0], least), jnp.maximum(pivots[1], most)


@inverse_and_pivots.on("tpu")
def _inverse_in_turn(matrix: Float[Array, "d d"]) -> tuple[Float[Array, "d d"], Float[Array, ""], Float[Array, ""]]:
    """Replaces block after block by its inverse, in one loop, where halves of halves would each be compiled.

    Source: Goodnight 1979 (the sweep operator).
    """
    matrix, d = without_derivative(matrix), len(matrix)
    left = _filled_up(matrix, _AT_ONCE)
    size, itself = len(left), jnp.eye(_AT_ONCE, dtype=matrix.dtype)

    def sweep(state: tuple[Array, Array, Array], start: Array) -> tuple[tuple[Array, Array, Array], None]:
        # The first block is swept and becomes the last, so that no slice depends on the turn.
        left, least, most = state
        factor = jnp.linalg.cholesky(left[:_AT_ONCE, :_AT_ONCE])
        columns = jnp.concatenate([left[_AT_ONCE:, :_AT_ONCE], -itself]) @ _inverse(factor).T
        left = jax.lax.pad(left, jnp.zeros_like(least), [(-_AT_ONCE, _AT_ONCE, 0)] * 2) - columns @ columns.T
        pivots, given = jnp.diagonal(factor) ** 2, start + jnp.arange(_AT_ONCE) < d
        least = jnp.minimum(least, jnp.min(jnp.where(given, pivots, jnp.inf)))
        return (left, least, jnp.maximum(most, jnp.max(jnp.where(given, pivots, 0.0)))), None

    state = left, jnp.asarray(jnp.inf, left.dtype), jnp.asarray(0.0, left.dtype)
    (left, least, most), _ = jax.lax.scan(sweep, state, jnp.arange(0, size, _AT_ONCE))
    return -left.T[:d, :d], least, most


def _of_parts(first: Float[Array, "h h"], mixed: Float[Array, "k h"], last: Float[Array, "k k"]) -> Float[Array, "d d"]:
    return jnp.block([[first, -mixed.T], [-mixed, last]])


def solve_with_cholesky(factor: Float[Array, "d d"], right: Float[Array, "d q"]) -> Float[Array, "d q"]:
    """Solves a linear system, given the lower Cholesky factor of its matrix."""
    return solve_lower(factor, solve_lower(factor, right), transposed=True)


@partial(jax.custom_jvp, nondiff_argnums=(2,))
def _solved(factor: Float[Array, "d d"], right: Float[Array, "d q"], transposed: bool) -> Float[Array, "d q"]:
    return _in_blocks(factor, right, transposed=transposed)


@_solved.defjvp
def _solved_jvp(transposed: bool, primals: tuple[Array, Array], changes: tuple[Array, Array]) -> tuple[Array, Array]:
    solution, lower = _solved(*primals, transposed), jnp.tril(changes[0])
    residual = changes[1] - (lower.T if transposed else lower) @ solution
    return solution, _in_blocks(primals[0], residual, transposed=transposed)


def _in_blocks(factor: Float[Array, "d d"], right: Float[Array, "d q"], *, transposed: bool) -> Float[Array, "d q"]:
    d, factor = len(factor), _filled_up(factor)
    right = jnp.pad(right, ((0, len(factor) - d), (0, 0)))
    blocks = len(factor) // _BLOCK

    def solve(solved: Float[Array, "n q"], block: Array) -> tuple[Float[Array, "n q"], None]:
        start = block * _BLOCK
        if transposed:
            rows = jax.lax.dynamic_slice(factor, (0, start), (len(factor), _BLOCK)).T
        else:
            rows = jax.lax.dynamic_slice(factor, (start, 0), (_BLOCK, len(factor)))
        inverse = _inverse(jax.lax.dynamic_slice(factor, (start, start), (_BLOCK, _BLOCK)))
        # Rows not solved yet are zero.
        rest = jax.lax.dynamic_slice_in_dim(right, start, _BLOCK) - rows @ solved
        part = (inverse.T if transposed else inverse) @ rest
        return jax.lax.dynamic_update_slice_in_dim(solved, part, start, axis=0), None

    order = jnp.arange(blocks)
    return jax.lax.scan(solve, jnp.zeros_like(right), order[::-1] if transposed else order)[0][:d]


def _inverse(corner: Float[Array, "b b"]) -> Float[Array, "b b"]:
    return solve_triangular(corner, jnp.eye(len(corner), dtype=corner.dtype), lower=True)


def _filled_up(matrix: Float[Array, "d d"], rows: int = _BLOCK) -> Float[Array, "n n"]:
    """The matrix padded to whole blocks, with ones on the diagonal."""
    return block_diag(matrix, jnp.eye(-len(matrix) % rows, dtype=matrix.dtype))
