"""Comparison of two RDMs with stimuli sharded over devices.

Stimuli are divided into shares of equal size. The patterns rotate around the shares, and each share computes its
dissimilarities to half of the others. Then the sorted dissimilarities rotate, and each share counts how many are
smaller than its own, which gives their ranks. Arrays are global, with shares along the first axis; XLA partitions them
and turns each rotation into communication between devices.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Features, Mask, Scalar, Targets
from bsjax.metrics.numerics import divide_or_nan, safe_sqrt
from bsjax.metrics.similarity.rdms.dissimilarities import dissimilarity_named
from bsjax.metrics.similarity.rdms.rdm import known_patterns


@at_full_precision
def rdm_similarity_in_shares(x: Features, y: Targets, where: Mask, *, shares: int) -> Scalar:
    """``rdm_similarity`` with default settings, with the stimuli divided into shares.

    Args:
        x, y: responses ``(stimuli, units)``; the number of stimuli is a multiple of ``shares``.
        where: True where a stimulus counts.
        shares: number of shares.

    Example:
        >>> x = jnp.array([[0.0, 1.0, 5.0], [1.0, 3.0, 2.0], [2.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
        >>> print(f"{rdm_similarity_in_shares(x, 3.0 * x + 1.0, jnp.ones(4, bool), shares=2):.2f}")
        1.00
    """
    mask = _pairs_that_count(where, shares)
    (a, lost), (b, also_lost) = (_centred_ranks(values, mask) for values in (x, y))
    squares = jnp.sum(a**2) * jnp.sum(b**2)
    undefined = (squares == 0) | jnp.any((lost | also_lost) & where)
    return divide_or_nan(jnp.sum(a * b), safe_sqrt(squares), undefined)


def _pairs_that_count(where: Mask, shares: int) -> Bool[Array, "shares steps r r"]:
    """Mask of the pairs of each share with itself and with the next half of the shares; every pair occurs once."""
    of_shares = where.reshape(shares, -1)
    height = of_shares.shape[1]
    row, column = jnp.arange(height)[:, None], jnp.arange(height)[None, :]
    first = (jnp.arange(shares) < shares // 2)[:, None, None]

    def at_step(step: int) -> Bool[Array, "shares r r"]:
        both = of_shares[:, :, None] & jnp.roll(of_shares, -step, axis=0)[:, None, :]
        if step == 0:
            return both & (row < column)[None]
        if 2 * step == shares:  # two shares meet twice: each takes half of the pairs
            return both & jnp.where(first, (row <= column)[None], (row < column)[None])
        return both

    return jnp.stack([at_step(step) for step in range(shares // 2 + 1)], axis=1)


def _centred_ranks(x: Features, mask: Bool[Array, "shares steps r r"]) -> tuple[Float[Array, "shares m"], Mask]:
    """Centred ranks of the dissimilarities, 0 for pairs that do not count, and a mask of undefined stimuli."""
    measure, count = dissimilarity_named("correlation"), jnp.sum(mask, dtype=jnp.int32)
    patterns, lost = known_patterns(x, measure)
    shares = len(mask)
    of_shares = patterns.reshape(shares, -1, x.shape[1])
    errors = measure.errors(x, patterns).reshape(shares, -1)

    def at_step(visiting: tuple[Array, Array], mask: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        found = jax.vmap(measure.between)(of_shares, visiting[0])
        off = errors[:, :, None] + visiting[1][:, None, :]
        return jax.tree.map(lambda side: jnp.roll(side, -1, axis=0), visiting), (jnp.where(mask, found, jnp.inf), off)

    _, found = jax.lax.scan(at_step, (of_shares, errors), jnp.swapaxes(mask, 0, 1))
    values, off = (jnp.swapaxes(side, 0, 1).reshape(shares, -1) for side in found)
    centred = (_twice_ranks(values, off) - (count + 1)).astype(x.dtype) / count.astype(x.dtype)
    return jnp.where(mask.reshape(shares, -1), centred, jnp.zeros_like(centred)), lost


def _twice_ranks(values: Float[Array, "shares m"], errors: Float[Array, "shares m"]) -> Int[Array, "shares m"]:
    """Twice the rank of each value among all shares, ascending, ties averaged."""

    # Values within twice the error of a value tie with it, because no device has all values in order.
    def below(sorted_values: Array, wanted: Array, off: Array) -> Array:
        less = jnp.searchsorted(sorted_values, wanted - 2.0 * off, side="left")
        no_more = jnp.searchsorted(sorted_values, wanted + 2.0 * off, side="right")
        return less.astype(jnp.int32) + no_more.astype(jnp.int32)

    def with_visitor(_: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        visiting, counted = carry
        return jnp.roll(visiting, -1, axis=0), counted + jax.vmap(below)(visiting, values, errors)

    start = jnp.sort(values, axis=1), jnp.zeros(values.shape, jnp.int32)
    return 1 + jax.lax.fori_loop(0, len(values), with_visitor, start)[1]
