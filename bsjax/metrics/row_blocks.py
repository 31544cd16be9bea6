"""Stimuli x stimuli (or units x units) matrices in blocks of rows."""

from collections.abc import Iterator

import jax.numpy as jnp
from jaxtyping import Array, Shaped

# Three blocks do 2/3 of the work of the whole matrix, and hold a third of it at a time. More would save little of
# either, and each is a matrix product to compile.
_BLOCKS = 3
_FEWEST_ROWS = 64

# Of a matrix that is too large to hold: enough for a matrix product at full speed.
_ROWS_AT_A_TIME = 256


def row_blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Rows, and the columns from the first of them on: together the upper triangle of an ``n`` x ``n`` matrix.

    What lies left of the diagonal is left out, save within the square at the start of each block.

    Example:
        >>> [(rows.start, rows.stop, columns.stop) for rows, columns in row_blocks(300)]
        [(0, 100, 300), (100, 200, 300), (200, 300, 300)]
        >>> len(list(row_blocks(100)))
        1
    """
    blocks = max(1, min(_BLOCKS, n // _FEWEST_ROWS))
    edges = [n * block // blocks for block in range(blocks + 1)]
    for start, stop in zip(edges[:-1], edges[1:], strict=True):
        yield slice(start, stop), slice(start, n)


def in_row_blocks(x: Shaped[Array, "n p"], most: int = _ROWS_AT_A_TIME) -> Shaped[Array, "blocks rows p"]:
    """The rows in equal blocks of at most ``most``, for a loop over them; the last block is filled up with zeros.

    Example:
        >>> in_row_blocks(jnp.ones((600, 2))).shape, in_row_blocks(jnp.ones((100, 2))).shape
        ((3, 200, 2), (1, 100, 2))
    """
    height = rows_at_a_time(x.shape[0], most)
    return jnp.pad(x, ((0, -x.shape[0] % height), (0, 0))).reshape(-1, height, x.shape[1])


def rows_at_a_time(n: int, most: int = _ROWS_AT_A_TIME) -> int:
    """How many of ``n`` rows to take at a time: at most ``most``, in blocks of about the same size.

    Example:
        >>> rows_at_a_time(100), rows_at_a_time(600), rows_at_a_time(257)
        (100, 200, 129)
    """
    blocks = max(1, -(-n // most))
    return max(1, -(-n // blocks))
