"""Sums of products of the Gram matrices of two sets of rows; on a CPU, large ones are never formed as a whole."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.programs.platforms import primitive
from bsjax.engine.row_blocks import over_blocks, row_blocks, sum_over_row_blocks

Sums = tuple[Float[Array, ""], Float[Array, ""], Float[Array, ""]]


@primitive
def sums_of_gram_products(x: Float[Array, "n p"], y: Float[Array, "n q"]) -> Sums:
    r"""Frobenius inner products of the Gram matrices of ``(x, y)``, ``(x, x)`` and ``(y, y)``.

    .. math:: \sum_{ij} K_{ij} L_{ij} = \lVert X^T Y \rVert^2, \quad K = X X^T,\ L = Y Y^T

    The side of this equation with the smaller matrices is computed.

    Example:
        >>> x = jnp.array([[1.0], [2.0], [3.0]])
        >>> print([f"{total:.0f}" for total in sums_of_gram_products(x, 2.0 * x)])
        ['784', '196', '3136']
    """
    if x.shape[1] + y.shape[1] <= x.shape[0]:
        return jnp.sum((x.T @ y) ** 2), jnp.sum((x.T @ x) ** 2), jnp.sum((y.T @ y) ** 2)

    def of_rows(a: Float[Array, "r p"], b: Float[Array, "r q"]) -> Sums:
        k, ell = a @ x.T, b @ y.T
        return jnp.sum(k * ell), jnp.sum(k**2), jnp.sum(ell**2)

    return sum_over_row_blocks(of_rows, x, y)


def row_sums_of_gram_products(x: Float[Array, "n p"], y: Float[Array, "n q"]) -> Float[Array, "3 n"]:
    """Contribution of each row to ``sums_of_gram_products``: the products of its inner products with all rows.

    Example:
        >>> x = jnp.array([[1.0], [2.0], [3.0]])
        >>> print(row_sums_of_gram_products(x, 2.0 * x).sum(axis=1))
        [ 784.  196. 3136.]
    """
    if x.shape[1] + y.shape[1] <= x.shape[0]:
        x, y = (jax.lax.optimization_barrier(side.T) for side in (x, y))
        return jnp.stack([jnp.sum(((x @ y.T).T @ x) * y, axis=0), _squares_by_row(x), _squares_by_row(y)])

    def of_rows(a: Float[Array, "r p"], b: Float[Array, "r q"]) -> Float[Array, "r 3"]:
        k, ell = a @ x.T, b @ y.T
        return jnp.stack([jnp.vecdot(k, ell), jnp.vecdot(k, k), jnp.vecdot(ell, ell)], axis=1)

    return over_blocks(of_rows, x, y, axis=0).T


@sums_of_gram_products.on("cpu")
def _of_columns_by_blocks(x: Float[Array, "n p"], y: Float[Array, "n q"]) -> Sums:
    if x.shape[1] + y.shape[1] > x.shape[0]:
        return sums_of_gram_products.plain(x, y)
    # Transposed copies: products of transposed operands are up to 1.8 times slower.
    x, y = (jax.lax.optimization_barrier(side.T) for side in (x, y))
    return jnp.sum((x @ y.T) ** 2), _sum_of_squares(x), _sum_of_squares(y)


def _sum_of_squares(by_column: Float[Array, "p n"]) -> Float[Array, ""]:
    """Sum of the squared inner products of all pairs of columns, with each unordered pair computed about once."""
    total = jnp.zeros((), by_column.dtype)
    for rows, columns in row_blocks(len(by_column)):
        total = total + _both_halves((by_column[rows] @ by_column[columns].T) ** 2)
    return total


def _squares_by_row(by_column: Float[Array, "p n"]) -> Float[Array, " n"]:
    """Contribution of each row of the original matrix to ``_sum_of_squares``."""
    total = jnp.zeros(by_column.shape[1], by_column.dtype)
    for rows, columns in row_blocks(len(by_column)):
        some, rest = by_column[rows], by_column[columns]
        products = some @ rest.T
        on_diagonal = products[:, : len(some)].T @ some
        total = total + 2 * jnp.sum((products.T @ some) * rest, axis=0) - jnp.sum(on_diagonal * some, axis=0)
    return total


def _both_halves(block: Float[Array, "r c"]) -> Float[Array, ""]:
    """Sum of a block of rows of a symmetric matrix, from the diagonal on, and of its mirror image."""
    return 2 * jnp.sum(block) - jnp.sum(block[:, : block.shape[0]])
