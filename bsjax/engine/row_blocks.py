"""Blocks of rows or columns, for what is too large to be formed or copied as a whole."""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Shaped

from bsjax.engine.batches import device_memory
from bsjax.engine.programs.platforms import platform

# Three blocks do 2/3 of the work of the whole matrix, and hold a third of it at a time. More would save little of
# either, and each is a matrix product to compile.
_BLOCKS = 3
_FEWEST_ROWS = 64

# Of a matrix that is too large to hold: enough for a matrix product at full speed on a CPU.
_ROWS_AT_A_TIME = 256

# Elsewhere a matrix that takes no more of the device's memory is held as a whole.
_SHARE = 16

# Of arrays of which a copy would be too many.
_AT_A_TIME = 512


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
    """How many of ``n`` rows to take at a time: on a CPU at most ``most``, in blocks of about the same size.

    Elsewhere as many, each of ``n`` numbers, as a sixteenth of the device's memory has room for.

    Example:
        >>> rows_at_a_time(100), rows_at_a_time(600), rows_at_a_time(257)
        (100, 200, 129)
    """
    if platform() != "cpu":
        most = max(most, device_memory() // _SHARE // (8 * max(1, n)))
    blocks = max(1, -(-n // most))
    return max(1, -(-n // blocks))


def sum_over_row_blocks(function: Callable[..., Any], *arrays: Shaped[Array, "n _"], beside: int = 1) -> Any:
    """``function(*arrays)`` of one that sums over rows, of at most 256 of them at a time on a CPU.

    Args:
        function: gives an array or a tree of them; rows of zeros must add nothing.
        arrays: of one length.
        beside: how many times as much as for one block ``function`` has in memory.

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
        if n % height:  # the last block begins among the rows of the one before
            new = (start + jnp.arange(height, dtype=jnp.int32) >= block * height)[:, None]
            rows = [jnp.where(new, values, jnp.zeros_like(values)) for values in rows]
        return function(*rows)

    def add(total: Any, block: Array) -> tuple[Any, None]:
        return jax.tree.map(jnp.add, total, of_block(block)), None

    blocks = jnp.arange(-(-n // height), dtype=jnp.int32)
    zeros = jax.tree.map(lambda one: jnp.zeros(one.shape, one.dtype), jax.eval_shape(of_block, blocks[0]))
    # Recomputed for a gradient: what it would keep of all blocks is what is to be spared.
    return jax.lax.scan(jax.checkpoint(add), zeros, blocks)[0]


def over_blocks(function: Callable[..., Array], *arrays: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    """``function(*arrays)`` of one that treats rows (or columns) by themselves, at most 512 of them in memory.

    Args:
        function: its result has as many rows (or columns) as its arguments.
        arrays: of one length along the axis.
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
        start = jnp.minimum(block * size, length - size)  # the last block repeats some of the one before
        return jax.lax.dynamic_update_slice_in_dim(made, of_block(start), start, axis)

    one = jax.eval_shape(of_block, 0)
    shape = list(one.shape)
    shape[axis] = length
    return jax.lax.fori_loop(0, -(-length // size), add, jnp.zeros(shape, one.dtype))
