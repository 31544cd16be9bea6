"""Computations in blocks of rows or columns, for matrices too large to be formed or copied as a whole."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from bsjax.engine.batches import device_memory
from bsjax.engine.programs.platforms import platform

# With three blocks, the upper triangle takes 2/3 of the work of the whole matrix and a third of its memory. More blocks
# would save little, and each is a matrix product to compile.
_BLOCKS = 3
_FEWEST_ROWS = 64

# Rows of a large matrix in memory at a time: enough for a matrix product at full speed on a CPU.
_ROWS_AT_A_TIME = 256

# On other devices, a matrix of up to this fraction (1 / 16) of the memory is held as a whole.
_SHARE = 16

# Rows or columns at a time, where a copy of the whole array would be too large.
_AT_A_TIME = 512


def row_blocks(n: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of rows, with columns from the diagonal on, that cover the upper triangle of an ``n`` x ``n`` matrix.

    Entries below the diagonal are omitted, except within the square at the start of each block.

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
    """Rows divided into equal blocks of at most ``most``, for a loop; the last block is padded with zeros.

    Example:
        >>> in_row_blocks(jnp.ones((600, 2))).shape, in_row_blocks(jnp.ones((100, 2))).shape
        ((3, 200, 2), (1, 100, 2))
    """
    height = rows_at_a_time(x.shape[0], most)
    return jnp.pad(x, ((0, -x.shape[0] % height), (0, 0))).reshape(-1, height, x.shape[1])


def rows_at_a_time(n: int, most: int = _ROWS_AT_A_TIME) -> int:
    """Number of rows per block, out of ``n``: on a CPU at most ``most``, in blocks of about equal size.

    On other devices, as many rows of ``n`` numbers as fit in a sixteenth of the memory, if these are more.

    Example:
        >>> rows_at_a_time(100), rows_at_a_time(600), rows_at_a_time(257)
        (100, 200, 129)
    """
    if platform() != "cpu":
        most = max(most, device_memory() // _SHARE // (8 * max(1, n)))
    blocks = max(1, -(-n // most))
    return max(1, -(-n // blocks))


def sum_over_row_blocks(function: Callable[..., Any], *arrays: Shaped[Array, "n _"], beside: int = 1) -> Any:
    """``function(*arrays)`` for a function that sums over rows, in blocks of at most 256 rows on a CPU.

    Args:
        function: returns an array or a tree of arrays; rows of zeros must add nothing.
        arrays: arrays of the same length.
        beside: memory that ``function`` needs, in multiples of one block; blocks are made smaller by this factor.

    Example:
        >>> print(sum_over_row_blocks(lambda x: jnp.sum(x, axis=0), jnp.ones((600, 2))))
        [600. 600.]
    """
    n = arrays[0].shape[0]
    height = rows_at_a_time(n, max(1, _ROWS_AT_A_TIME // beside))
    if height == n:
        return function(*arrays)

    def of_block(block: Array) -> Any:
        start = jnp.minimum(block * height, n - height)
        rows = [jax.lax.dynamic_slice_in_dim(array, start, height) for array in arrays]
        if n % height:  # the last block overlaps the one before
            new = (start + jnp.arange(height, dtype=jnp.int32) >= block * height)[:, None]
            rows = [jnp.where(new, values, jnp.zeros_like(values)) for values in rows]
        return function(*rows)

    def add(total: Any, block: Array) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, of_block(block)), None

    blocks = jnp.arange(-(-n // height), dtype=jnp.int32)
    zeros = jax.tree.map(lambda one: jnp.zeros(one.shape, one.dtype), jax.eval_shape(of_block, blocks[0]))
    # Recomputed for a gradient, which would otherwise store intermediate results of all blocks.
    return jax.lax.scan(jax.checkpoint(add), zeros, blocks)[0]


def over_blocks(function: Callable[..., Array], *arrays: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    """``function(*arrays)`` for a function that treats rows (or columns) independently, in blocks of at most 512.

    Args:
        function: its result must have as many rows (or columns) as its arguments.
        arrays: arrays of the same length along the axis.
        axis: 0 for rows, -1 for columns.

    Example:
        >>> over_blocks(lambda x: jnp.cumsum(x, axis=0), jnp.ones((2, 600)), axis=-1)[1, -1]
        Array(2., dtype=float32)
    """
    length = arrays[0].shape[axis]
    size = rows_at_a_time(length, _AT_A_TIME)
    if size == length:
        return function(*arrays)

    def of_block(start: Array) -> Float[Array, "..."]:
        return function(*(jax.lax.dynamic_slice_in_dim(array, start, size, axis) for array in arrays))

    def add(block: Array, made: Float[Array, "..."]) -> Float[Array, "..."]:
        start = jnp.minimum(block * size, length - size)  # the last block overlaps the one before
        return jax.lax.dynamic_update_slice_in_dim(made, of_block(start), start, axis)

    one = jax.eval_shape(of_block, 0)
    shape = list(one.shape)
    shape[axis] = length
    return jax.lax.fori_loop(0, -(-length // size), add, jnp.zeros(shape, one.dtype))
