"""Concordant and discordant pairs of two vectors (Kendall's tau), by sorting, and on a CPU by SciPy."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.batches import batched_map
from bsjax.engine.host_calls import host_call
from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.ordering import changes, runs, sort_in_turn, sortable
from bsjax.engine.primitives.ranks import double_ranks, host_operands, ranks
from bsjax.engine.programs.platforms import primitive


class _Sorted(NamedTuple):
    others: Int[Array, " n"]
    tied: Float[Array, ""]
    tied_in_both: Float[Array, ""]


@primitive
def net_concordance(
    a: Float[Array, " m"],
    b: Float[Array, " m"],
    where: Bool[Array, " m"] | None = None,
    errors: tuple[Float[Array, " n"], Float[Array, " n"]] | None = None,
) -> Float[Array, ""]:
    r"""Number of concordant minus number of discordant pairs of elements.

    .. math:: \sum_{i<j} \mathrm{sgn}(a_i - a_j)\,\mathrm{sgn}(b_i - b_j)

    Tied pairs are neither. Discordant pairs are those that are out of order in ``b`` after sorting by ``a``. The result
    is piecewise constant, with a zero gradient.

    Args:
        a, b: vectors of the same length, without NaN.
        where: True where an element counts; all if None.
        errors: rounding errors of the rows whose pairs the elements are, as for ``ranks``.

    Returns:
        A scalar in the dtype of ``a``, rounded to its precision.

    Source: Knight 1966 (by sorting).

    Example:
        >>> print(net_concordance(jnp.array([1.0, 2.0, 3.0]), jnp.array([1.0, 3.0, 2.0])))
        1.0
    """
    if errors is not None:
        a, b = (ranks.plain(side, where, off) for side, off in zip((a, b), errors, strict=True))
    count = jnp.int32(a.shape[0]) if where is None else jnp.sum(where, dtype=jnp.int32)
    places = jnp.arange(a.shape[0], dtype=jnp.int32)

    def of_sorted(keys: Int[Array, " n"], others: Int[Array, " n"]) -> tuple[Int[Array, " n"], _Sorted]:
        differs = changes(keys)

        def tied(new: Bool[Array, " n"]) -> Float[Array, ""]:
            # Elements that do not count come last.
            beside = jnp.where(places < count, places - runs(new)[0], 0)
            return jnp.sum(beside.astype(a.dtype))

        return places.astype(keys.dtype), _Sorted(others, tied(differs), tied(differs | changes(others)))

    by_a, by_b = (sortable(jax.lax.stop_gradient(side), where) for side in (a, b))
    # Sorts by a, then by b (with the positions in the order of a), then by these positions.
    places_by_b, _, steps = sort_in_turn(by_a, by_b, of_sorted, 3, by_both=True)
    size = count.astype(a.dtype)
    untied = size * (size - 1.0) / 2.0 - steps.tied[0] - steps.tied[1] + steps.tied_in_both[0]
    return untied - 2.0 * _inversions(steps.others[1], places_by_b, a.dtype)


@at_full_precision
def _inversions(places: Int[Array, " n"], inverse: Int[Array, " n"], dtype: Any) -> Float[Array, ""]:
    """Number of inversions of a permutation, by sqrt(n) blocks of sqrt(n) places and values."""
    # Pairs within a block of places or of values are compared directly. Other pairs are counted from the number of
    # elements in each combination of a block of places and a block of values.
    n = places.shape[0]
    size = math.isqrt(max(n - 1, 0)) + 1
    rest = jnp.arange(n, size * size, dtype=places.dtype)  # padding in its final place, at the end
    by_place, by_value = (jnp.concatenate([order, rest]).reshape(size, size) for order in (places, inverse))
    earlier = jnp.arange(size)[:, None] < jnp.arange(size)[None, :]
    blocks = jnp.arange(size, dtype=places.dtype)

    def compared(block: Int[Array, " s"]) -> Int[Array, ""]:
        return jnp.sum(earlier & (block[:, None] > block[None, :]), dtype=jnp.int32)

    def of_block(block: tuple[Array, Array]) -> tuple[Array, Array, Array]:
        values, places = block
        numbers = jnp.sum((values // size)[:, None] == blocks[None, :], axis=0, dtype=jnp.int32)
        return compared(values), compared(places // size), numbers

    in_place, in_value, numbers = batched_map(of_block, (by_place, by_value))
    numbers = numbers.astype(dtype)
    before = earlier.astype(dtype)
    apart = jnp.sum(numbers * (before.T @ numbers @ before.T))
    return jnp.sum((in_place + in_value).astype(dtype)) + apart


@net_concordance.on("cpu")
def _net_concordance_by_scipy(
    a: Float[Array, " m"],
    b: Float[Array, " m"],
    where: Bool[Array, " m"] | None = None,
    errors: tuple[Float[Array, " n"], Float[Array, " n"]] | None = None,
) -> Float[Array, ""]:
    # A 64-bit count leaves the host call as two 32-bit halves.
    halves = host_call(_halves, *host_operands((a, b), where, errors or (None, None)), shape=(2,), dtype=np.int32)
    return halves[0].astype(a.dtype) * 2.0**31 + halves[1].astype(a.dtype)


def _halves(*operands: np.ndarray) -> np.ndarray:
    """Concordant minus discordant pairs of every two vectors, as (high, low 31 bits), both signed as the count."""
    ranked = double_ranks(*operands)
    net = np.array([_by_scipy(*(p[p > 0] for p in pair)) for pair in ranked.reshape(-1, 2, ranked.shape[-1])], np.int64)
    # Otherwise a small negative count would be the difference of two large numbers, which float32 cannot resolve.
    halves = np.sign(net)[:, None] * np.stack([abs(net) >> 31, abs(net) & (2**31 - 1)], axis=-1)
    return halves.astype(np.int32).reshape(*ranked.shape[:-2], 2)


def _by_scipy(a: np.ndarray, b: np.ndarray) -> int:
    """Concordant minus discordant pairs of two vectors of doubled ranks."""
    from scipy.stats import kendalltau  # imported here because it takes as long to import as all kernels

    if len(a) < 3:  # SciPy has no statistic for these
        return int(np.sign(a[1] - a[0]) * np.sign(b[1] - b[0])) if len(a) == 2 else 0
    untied = np.sqrt(float(_untied(a))) * np.sqrt(float(_untied(b)))
    # SciPy returns tau-b, which is divided by the number of untied pairs; if all are tied, none is concordant.
    result: Any = kendalltau(a, b, method="asymptotic") if untied > 0 else None
    return 0 if result is None else round(result.statistic * untied)


def _untied(ranked: np.ndarray) -> int:
    counts = np.bincount(ranked)
    return (len(ranked) * (len(ranked) - 1) - int((counts * (counts - 1)).sum())) // 2
