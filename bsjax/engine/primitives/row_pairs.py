"""Symmetric functions of all unordered pairs of rows, without forming the whole matrix if it is large.

The order of the pairs depends on the platform, and is the same in all functions here.
"""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Shaped

from bsjax.engine.batches import batched_map
from bsjax.engine.programs.platforms import primitive
from bsjax.engine.row_blocks import rows_at_a_time


@primitive
def pairs_of_rows(rows: Float[Array, "n p"], *, function: Callable[[Array, Array], Array]) -> Float[Array, " m"]:
    """A symmetric function of every pair of rows: ``pairs_of_matrix(function(rows, rows))``.

    Args:
        rows: the rows.
        function: symmetric function of rows ``(r, p)`` and rows ``(c, p)``; returns the values of all pairs ``(r, c)``.

    Example:
        >>> print(pairs_of_rows(jnp.array([[1.0], [2.0], [4.0]]), function=lambda a, b: a @ b.T).sum())
        14.0
    """
    n = rows.shape[0]
    height = rows_at_a_time(n)
    if height == n:
        return pairs_of_matrix(function(rows, rows))
    half = n // 2

    def of_block(columns: Int[Array, " c"]) -> Float[Array, "r c"]:
        first, last = (function(rows, rows[places]) for places in (columns, n - 1 - columns))
        return _folded(first[1:], last[::-1][:-1], columns)

    columns = jnp.minimum(jnp.arange(-(-half // height) * height, dtype=jnp.int32), n - 1).reshape(-1, height)
    folded = jnp.moveaxis(batched_map(of_block, columns), 0, 1).reshape(n - 1, -1)[:, :half]
    return _with_the_middle(folded, function(rows, rows[half : half + 1])[:, 0])


@primitive
def pairs_of_matrix(matrix: Shaped[Array, "n n"]) -> Shaped[Array, " m"]:
    """The entries of a symmetric matrix for every unordered pair of different rows, as a vector.

    The entries form a rectangle, which needs no gather: the first half of the columns below the diagonal, and in place
    of the entries above the diagonal, the last columns in reverse order.

    Example:
        >>> print(pairs_of_matrix(jnp.array([[0, 1, 2], [1, 0, 3], [2, 3, 0]])).sum())
        6
    """
    n = matrix.shape[0]
    half = n // 2
    folded = _folded(matrix[1:, :half], matrix[::-1, ::-1][:-1, :half], jnp.arange(half, dtype=jnp.int32))
    return _with_the_middle(folded, matrix[:, half])


@pairs_of_matrix.on("tpu")
def _one_matrix_after_the_other(matrix: Shaped[Array, "n n"]) -> Shaped[Array, " m"]:
    # XLA takes five seconds to compile how several matrices become vectors, and half a second for a single one.
    return _pairs_in_turn(matrix)


@jax.custom_jvp
@jax.custom_batching.sequential_vmap
def _pairs_in_turn(matrix: Shaped[Array, "n n"]) -> Shaped[Array, " m"]:
    return pairs_of_matrix.plain(matrix)


@_pairs_in_turn.defjvp
def _pairs_in_turn_jvp(primals: tuple[Array], changes: tuple[Array]) -> tuple[Array, Array]:
    return _pairs_in_turn(*primals), pairs_of_matrix.plain(*changes)


def _folded(below: Array, opposite: Array, columns: Array) -> Array:
    rows = jnp.arange(below.shape[0], dtype=jnp.int32)
    return jnp.where(rows[:, None] < columns[None, :], opposite, below)


def _with_the_middle(folded: Array, middle: Array) -> Array:
    n = middle.shape[0]
    return jnp.concatenate([folded.reshape(-1), middle[n // 2 + 1 :]]) if n % 2 else folded.reshape(-1)


@pairs_of_rows.on("cpu")
def _rows_of_half_the_matrix(
    rows: Float[Array, "n p"], *, function: Callable[[Array, Array], Array]
) -> Float[Array, " m"]:
    """Pairs of each row with the half of the others that follow it, in blocks: half of the products and memory."""
    n = rows.shape[0]
    once, most = (n - 1) // 2, n // 2
    height = rows_at_a_time(n)
    if height == n:
        return _right_of_all_diagonal(function(rows, rows))

    def of_block(found: tuple[Array, Array], start: Array) -> tuple[tuple[Array, Array], None]:
        following = rows[(start + jnp.arange(height + most)) % n]
        beside = _right_of_diagonal(function(following[:height], following), most)
        vector = jax.lax.dynamic_update_slice(found[0], beside[:, :once].reshape(-1), (start * once,))
        return (vector, jax.lax.dynamic_update_slice(found[1], beside[:, -1], (start,))), None

    # The last block overlaps the one before if fewer rows are left.
    starts = jnp.minimum(jnp.arange(0, n, height), n - height)
    zero = 0.0 * rows[0, 0]  # specific to this matrix: XLA would copy constant zeros shared by two loops
    nothing = jnp.full(n * (n - 1) // 2, zero), jnp.full(n, zero)
    (vector, opposite), _ = jax.lax.scan(of_block, nothing, starts)
    return vector if n % 2 else vector.at[n * once :].set(opposite[:most])


@pairs_of_matrix.on("cpu")
def _right_of_all_diagonal(matrix: Shaped[Array, "n n"]) -> Shaped[Array, " m"]:
    """Pairs ``(i, (i + d) mod n)`` for ``d`` from 1 to ``n / 2``, as slices of the matrix concatenated with itself."""
    n = matrix.shape[0]
    pairs = _right_of_diagonal(jnp.concatenate([matrix, matrix], axis=1), (n - 1) // 2).reshape(-1)
    # For even n, pairs at the distance n / 2 are added once.
    return pairs if n % 2 else jnp.concatenate([pairs, jnp.diagonal(matrix, n // 2)])


def numbers_of_pairs(n: int) -> tuple[Int[Array, " m"], Int[Array, " m"]]:
    """Indices of the two rows of each pair.

    Example:
        >>> left, right = numbers_of_pairs(4)
        >>> sorted({tuple(sorted(pair)) for pair in zip(left.tolist(), right.tolist())})
        [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    first = jnp.broadcast_to(jnp.arange(n, dtype=jnp.int32)[:, None], (n, n))
    return pairs_of_matrix(first), pairs_of_matrix(first.T)


def matrix_of_pairs(pairs: Shaped[Array, " m"]) -> Shaped[Array, "n n"]:
    """The symmetric matrix with zeros on its diagonal whose ``pairs_of_matrix`` are given.

    Example:
        >>> print(matrix_of_pairs(jnp.array([5])))
        [[0 5]
         [5 0]]
    """
    n = (1 + math.isqrt(1 + 8 * len(pairs))) // 2
    left, right = numbers_of_pairs(n)
    return jnp.zeros((n, n), pairs.dtype).at[left, right].set(pairs).at[right, left].set(pairs)


def rows_of_pairs(places: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of the two rows of the pairs at ``places``, in the CPU order: ``numbers_of_pairs(n)[...][places]``."""
    once = max((n - 1) // 2, 1)
    left = places // once
    right = (left + 1 + places - left * once) % n
    opposite = places >= n * ((n - 1) // 2)
    rest = places - n * ((n - 1) // 2)
    return np.where(opposite, rest, left), np.where(opposite, rest + n // 2, right)


def _right_of_diagonal(rows: Shaped[Array, "r c"], count: int) -> Shaped[Array, "r count"]:
    """The ``count`` entries of each row that follow its diagonal entry."""
    height, width = rows.shape
    one_longer = jnp.concatenate([rows.reshape(-1), jnp.zeros(height, rows.dtype)]).reshape(height, width + 1)
    return one_longer[:, 1 : count + 1]
