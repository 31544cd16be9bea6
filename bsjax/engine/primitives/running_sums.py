"""Cumulative sums over rows."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Shaped

from bsjax.engine.programs.platforms import primitive


@primitive
def running_sums(rows: Shaped[Array, "n d"]) -> Shaped[Array, "n d"]:
    """Cumulative sums over rows, in the dtype of the rows.

    Example:
        >>> print(running_sums(jnp.array([[1, 2], [3, 4], [5, 6]])))
        [[ 1  2]
         [ 4  6]
         [ 9 12]]
    """
    return jnp.cumsum(rows, axis=0, dtype=rows.dtype)


@running_sums.on("cpu")
def _row_after_row(rows: Shaped[Array, "n d"]) -> Shaped[Array, "n d"]:
    # XLA's cumulative sum takes several passes, each covering twice the distance of the one before.
    def add(total: Array, row: Array) -> tuple[Array, Array]:
        total = total + row
        return total, total

    return jax.lax.scan(add, jnp.zeros_like(rows[0]), rows)[1]
