"""Matrix products whose operands a CPU reads faster in another layout."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.platforms import primitive

# Columns that a product is filled up to.
_FILLED = 16
# From so many times as many rows as columns on, a product reads a transposed operand where it lies as fast as a copy.
_MUCH_LONGER = 16


@primitive
def transposed(a: Float[Array, "n p"]) -> Float[Array, "p n"]:
    """``a.T``, for a product or a triangular solve to read.

    On a CPU it is an array of its own: products of a transposed operand take up to 1.8 times as long. Not of one much
    longer than wide, which is read where it lies as fast.

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
    return transposed(a) @ b


@primitive
def skinny_product(rows: Float[Array, "k p"], x: Float[Array, "n p"]) -> Float[Array, "k n"]:
    """``rows @ x.T`` for few rows.

    XLA's product on a CPU is fastest at a multiple of sixteen columns, even where some are zero.

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
