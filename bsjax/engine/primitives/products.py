"""Matrix products in layouts and blocks that suit the device."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.programs.platforms import primitive
from bsjax.engine.row_blocks import in_row_blocks, row_blocks

# Multiple to which the columns of a product are padded.
_FILLED = 16
# With more than this many times as many rows as columns, a product with a transposed operand is as fast as with a copy.
_MUCH_LONGER = 16
# Rows per block of a product on a TPU.
_ROWS = 512


@primitive
def transposed(a: Float[Array, "n p"]) -> Float[Array, "p n"]:
    """``a.T``, as an operand of a product or a triangular solve.

    On a CPU it is a copy, because products with a transposed view take up to 1.8 times as long. Matrices that are much
    longer than wide are not copied: their transposed views are as fast.

    Example:
        >>> print(transposed(jnp.array([[1.0, 2.0]])))
        [[1.]
         [2.]]
    """
    return a.T


@transposed.on("cpu")
def _transposed_copy(a: Float[Array, "n p"]) -> Float[Array, "p n"]:
    return a.T if a.shape[0] > _MUCH_LONGER * a.shape[1] else jax.lax.optimization_barrier(a.T)


def matmul_t(a: Float[Array, "n p"], b: Float[Array, "n q"]) -> Float[Array, "p q"]:
    """``a.T @ b``"""
    return cross_products(a, b)[0]


@primitive
def cross_products(a: Float[Array, "n p"], *others: Float[Array, "n _"]) -> tuple[Float[Array, "p _"], ...]:
    """``a.T @ b`` for each ``b`` of the others.

    Example:
        >>> print(*cross_products(jnp.ones((2, 1)), jnp.array([[1.0], [2.0]]), jnp.array([[3.0], [4.0]])))
        [[3.]] [[7.]]
    """
    rows = transposed(a)
    return tuple(rows @ b for b in others)


@cross_products.on("tpu")
def _summed_over_rows(a: Float[Array, "n p"], *others: Float[Array, "n _"]) -> tuple[Float[Array, "p _"], ...]:
    # XLA unrolls a product over many rows, which takes seconds to compile.
    if len(a) <= _ROWS:
        return tuple(a.T @ b for b in others)
    blocks = [in_row_blocks(array, _ROWS) for array in (a, *others)]

    def add(totals: list[Array], rows: list[Array]) -> tuple[list[Array], None]:
        return [total + rows[0].T @ b for total, b in zip(totals, rows[1:], strict=True)], None

    nothing = [jnp.zeros((a.shape[1], b.shape[1]), a.dtype) for b in others]
    return tuple(jax.lax.scan(add, nothing, blocks)[0])


@primitive
def symmetric_product(x: Float[Array, "n p"]) -> Float[Array, "n n"]:
    """``x @ x.T``; on a CPU from its upper triangle by blocks, which is two thirds of the work.

    Example:
        >>> print(symmetric_product(jnp.array([[1.0], [2.0]])))
        [[1. 2.]
         [2. 4.]]
    """
    return x @ x.T


@symmetric_product.on("cpu")
def _mirrored_blocks(x: Float[Array, "n p"]) -> Float[Array, "n n"]:
    blocks = [(rows, x[rows] @ x[columns].T) for rows, columns in row_blocks(len(x))]
    upper = jnp.triu(jnp.concatenate([jnp.pad(block, ((0, 0), (rows.start, 0))) for rows, block in blocks]))
    return upper + jnp.triu(upper, 1).T


@primitive
def product(a: Float[Array, "n p"], b: Float[Array, "p q"]) -> Float[Array, "n q"]:
    """``a @ b``

    Example:
        >>> print(product(jnp.ones((1, 2)), jnp.ones((2, 1))))
        [[2.]]
    """
    return a @ b


@product.on("tpu")
def _row_by_row(a: Float[Array, "n p"], b: Float[Array, "p q"]) -> Float[Array, "n q"]:
    if len(a) <= _ROWS:
        return a @ b
    made = jax.lax.map(lambda rows: rows @ b, in_row_blocks(a, _ROWS))
    return made.reshape(-1, b.shape[1])[: len(a)]


@primitive
def skinny_product(rows: Float[Array, "k p"], x: Float[Array, "n p"]) -> Float[Array, "k n"]:
    """``rows @ x.T`` for few rows.

    On a CPU, rows are padded to a multiple of 16, for which XLA's product is fastest even with the additional zeros.

    Example:
        >>> print(skinny_product(jnp.ones((1, 2)), jnp.array([[1.0, 2.0], [3.0, 4.0]])))
        [[3. 7.]]
    """
    return rows @ x.T


@skinny_product.on("cpu")
def _filled_up(rows: Float[Array, "k p"], x: Float[Array, "n p"]) -> Float[Array, "k n"]:
    k = rows.shape[0]
    filled = jnp.pad(rows, ((0, -k % _FILLED), (0, 0))) if k > _FILLED // 2 else rows
    return (x @ filled.T)[:, :k].T
