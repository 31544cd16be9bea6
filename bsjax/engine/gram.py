"""Gram matrices of stimuli, accumulated over blocks of features that are never in memory together.

The stimuli x stimuli matrix is stored as tiles of its upper triangle, possibly on several devices. This halves the
products and the memory, and no device has to hold the whole matrix. All computations are in float64.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations_with_replacement
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy
from jaxtyping import Array, Float

from bsjax.engine.tolerances import LEFT_OF_GRAM, rounding
from bsjax.engine.transfers import to_host


class Gram:
    """Gram matrix: sums of ``a @ b.T`` for every pair of tiles of stimuli. Requires JAX to compute in float64.

    Args:
        rows: the stimuli of each tile; together all stimuli, in order.
        devices: devices that store the pairs of tiles, in turn.

    Example:
        >>> with jax.enable_x64(True):
        ...     gram = Gram([slice(0, 2), slice(2, 3)], jax.devices()[:1])
        ...     for _ in range(2):  # two blocks of one feature, which is 1, 2, 3
        ...         gram.add({0: jnp.array([[1.0], [2.0]]), 1: jnp.array([[3.0]])})
        ...     print(gram.dense())
        [[ 2.  4.  6.]
         [ 4.  8. 12.]
         [ 6. 12. 18.]]
    """

    def __init__(self, rows: Sequence[slice], devices: Sequence[Any]) -> None:
        self.rows = list(rows)
        self._device = {
            pair: devices[k % len(devices)]
            for k, pair in enumerate(combinations_with_replacement(range(len(self.rows)), 2))
        }
        sizes = [part.stop - part.start for part in self.rows]
        self.tiles = {
            (i, j): jax.device_put(np.zeros((sizes[i], sizes[j])), device) for (i, j), device in self._device.items()
        }

    def add(self, a: dict[int, Float[Array, "r b"]], b: dict[int, Float[Array, "s b"]] | None = None) -> None:
        """Adds the products of a block of features.

        Args:
            a: tile -> values of these features for its stimuli; products of all pairs of tiles are added.
            b: the same for further tiles; then only pairs of a tile in ``a`` and a tile in ``b`` are added.
        """
        jax.block_until_ready(self.tiles)  # at most one block is queued
        pairs = combinations_with_replacement(sorted(a), 2) if b is None else ((i, j) for i in a for j in b)
        sides = a if b is None else {**a, **b}
        for pair in pairs:
            i, j = sorted(pair)
            device = self._device[i, j]
            left, right = jax.device_put(sides[i], device), jax.device_put(sides[j], device)
            self.tiles[i, j] = _add(self.tiles[i, j], left, right)

    def dense(self) -> np.ndarray:
        """The whole matrix, ``(stimuli, stimuli)``."""
        n = self.rows[-1].stop
        whole = np.empty((n, n))
        for (i, j), tile in self.tiles.items():
            values = to_host(tile)
            whole[self.rows[i], self.rows[j]] = values
            whole[self.rows[j], self.rows[i]] = values.T
        return whole

    def centre(self) -> None:
        """Centres the matrix: afterwards, it holds the inner products of features centred over stimuli."""
        sums = np.zeros(self.rows[-1].stop)
        of_tiles = {pair: (jnp.sum(tile, axis=1), jnp.sum(tile, axis=0)) for pair, tile in self.tiles.items()}
        for (i, j), (of_rows, of_columns) in to_host(of_tiles).items():  # sums on all devices in parallel
            sums[self.rows[i]] += of_rows
            if i != j:
                sums[self.rows[j]] += of_columns
        means = sums / len(sums)
        left = means - means.mean() / 2
        for (i, j), device in self._device.items():
            parts = (jax.device_put(left[self.rows[k]], device) for k in (i, j))
            self.tiles[i, j] = _less(self.tiles[i, j], *parts)

    def diagonal(self) -> np.ndarray:
        """The squared length of every stimulus."""
        return np.concatenate(to_host([jnp.diagonal(self.tiles[i, i]) for i in range(len(self.rows))]))

    def inner(self, other: "Gram") -> float:
        """Frobenius inner product with ``other``: the sum of products of corresponding entries."""
        sums = {pair: _inner(tile, other.tiles[pair]) for pair, tile in self.tiles.items()}
        return sum(float(total) * (1 if i == j else 2) for (i, j), total in to_host(sums).items())


def centred(gram: np.ndarray) -> np.ndarray:
    """Centres a Gram matrix in place: inner products of features centred over stimuli."""
    means = gram.mean(axis=1)
    gram -= means[:, None]
    gram -= means[None, :] - means.mean()
    return gram


def factor(gram: np.ndarray) -> np.ndarray:
    r"""Factor of a Gram matrix of any rank: ``(n, n)`` with :math:`F F^T = K`; columns beyond the rank are zero.

    It uses a Cholesky decomposition with pivoting, which stops when the remainder is at rounding level. It runs on the
    CPU in about n^3 / 3 operations, and overwrites ``gram``.

    Source: Higham 1990.

    Example:
        >>> print(factor(np.array([[4.0, 2.0], [2.0, 1.0]])))
        [[2. 0.]
         [1. 0.]]
    """
    # The transpose of a symmetric matrix in C order is the same matrix in Fortran order, which LAPACK overwrites.
    least = rounding(gram, LEFT_OF_GRAM) * len(gram) * np.diagonal(gram).max()
    pivoted_cholesky: Any = scipy.linalg.get_lapack_funcs("pstrf", (gram,))
    lower, order, rank, _ = pivoted_cholesky(gram.T, tol=least, lower=1, overwrite_a=1)
    for column in range(len(lower)):
        lower[: column if column < rank else None, column] = 0
    rows = np.empty((len(lower), len(lower)))
    rows[order - 1] = lower
    return rows


@partial(jax.jit, donate_argnums=0)
def _add(tile: Float[Array, "r s"], a: Float[Array, "r b"], b: Float[Array, "s b"]) -> Float[Array, "r s"]:
    return tile + a @ b.T


@partial(jax.jit, donate_argnums=0)
def _less(tile: Float[Array, "r s"], a: Float[Array, " r"], b: Float[Array, " s"]) -> Float[Array, "r s"]:
    return tile - a[:, None] - b[None, :]


@jax.jit
def _inner(a: Float[Array, "r s"], b: Float[Array, "r s"]) -> Float[Array, ""]:
    return jnp.sum(a * b)
