"""Sorting: keys that sort like floats, pairs sorted by either number, runs of equal values, and the largest value."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.programs.fallbacks import in_any_of_a_batch
from bsjax.engine.programs.platforms import primitive

Keys = Int[Array, "*batch n"]
Mask = Bool[Array, "*batch n"]

# From this length on, a GPU sorts several vectors faster one after the other.
_MANY = 1 << 17
# Values per block of which a CPU takes the largest first.
_BLOCK = 8


def sortable(x: Float[Array, "*batch n"], where: Mask | None) -> Keys:
    """Integer keys in the order of the numbers: equal for equal numbers, NaN last, then numbers outside ``where``.

    XLA compiles a sort of integers in half the time of a sort of floats.

    Example:
        >>> order = sortable(jnp.array([jnp.nan, -0.0, jnp.inf, 0.0, -2.0]), None)
        >>> print(jnp.argsort(order, stable=True), order[1] == order[3])
        [4 1 3 2 0] True
    """
    integer = jnp.dtype(f"int{8 * x.dtype.itemsize}")
    largest = jnp.iinfo(integer).max
    bits = jax.lax.bitcast_convert_type(jnp.where(x == 0, 0.0, x), integer)  # -0.0 is 0.0
    keys = jnp.where(bits < 0, bits ^ largest, bits)
    keys = jnp.where(jnp.isnan(x), largest - 1, keys)
    return keys if where is None else jnp.where(where, keys, largest)


def sort_in_turn(
    keys: Keys, others: Keys, of_sorted: Callable[..., tuple[Array, Any]], times: int, *, by_both: bool = False
) -> tuple[Array, Array, Any]:
    """Sorts pairs by one of their two numbers, replaces this number, then sorts by the other, repeatedly.

    A single sort in a loop, because XLA takes up to ten seconds to compile a sort of millions for a TPU.

    Args:
        keys, others: the two numbers of each pair; the pairs are first sorted by ``keys``.
        of_sorted: function of the sorted ``(keys, others)``; returns the replacement of the keys, and a result to keep.
        times: number of sorts.
        by_both: whether pairs with equal keys are sorted by the other number.

    Returns:
        The two numbers of each pair in the last order, with the next key first, and all results kept.

    Example:
        >>> places = jnp.arange(3, dtype=jnp.int32)
        >>> keys = jnp.array([30, 10, 20], jnp.int32)
        >>> print(sort_in_turn(keys, places, lambda keys, others: (places, None), 2)[0])  # the place of each in order
        [2 0 1]
    """

    def step(pair: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], Any]:
        ordered, others = jax.lax.sort(pair, num_keys=2, is_stable=False) if by_both else sort_by_key(*pair)
        instead, kept = of_sorted(ordered, others)
        return (others, instead), kept

    (keys, others), kept = jax.lax.scan(step, (keys, others), None, length=times)
    return keys, others, kept


@primitive
def sort_by_key(keys: Keys, others: Keys) -> tuple[Keys, Keys]:
    """Pairs of numbers along the last axis, sorted by the first.

    Example:
        >>> print(*sort_by_key(jnp.array([3, 1, 2]), jnp.array([30, 10, 20])))
        [1 2 3] [10 20 30]
    """
    ordered, others = jax.lax.sort((keys, others), num_keys=1, is_stable=False)
    return ordered, others


@sort_by_key.on("gpu")
def _one_vector_after_the_other(keys: Keys, others: Keys) -> tuple[Keys, Keys]:
    # XLA calls a library's radix sort for a long vector, with few passes over the memory. For several vectors at once
    # it does so only if they are many; otherwise it uses a merge sort with some hundred passes.
    if keys.shape[-1] < _MANY:
        return sort_by_key.plain(keys, others)
    alone = jax.custom_batching.sequential_vmap(sort_by_key.plain)
    return jnp.vectorize(alone, signature="(n),(n)->(n),(n)")(keys, others)


@primitive
def first_largest(values: Float[Array, "m n"]) -> Int[Array, " m"]:
    """Index of the first of the largest values of each row, without NaN. It has no derivative.

    Example:
        >>> print(first_largest(jnp.array([[1.0, 3.0, 3.0], [2.0, 1.0, 0.0]])))
        [1 0]
    """
    return jax.lax.argmax(jax.lax.stop_gradient(values), 1, jnp.int32)


@first_largest.on("cpu")
def _first_largest_block(values: Float[Array, "m n"]) -> Int[Array, " m"]:
    # XLA's search takes 4 ns per value, and its maxima a tenth of that: it looks for the block, then within the block.
    values, (m, n) = jax.lax.stop_gradient(values), values.shape
    if n <= 2 * _BLOCK:
        return first_largest.plain(values)
    if n % _BLOCK:
        values = jnp.pad(values, ((0, 0), (0, -n % _BLOCK)), constant_values=-jnp.inf)
    blocks = values.reshape(m, -1, _BLOCK)
    block = _first_largest_block(jnp.max(blocks, axis=2))
    within = jnp.take_along_axis(blocks, block[:, None, None], axis=1)[:, 0]
    return _BLOCK * block + first_largest.plain(within)


def runs(new: Mask) -> tuple[Keys, Keys]:
    """First and last index of the run of each element, given the elements that begin a run (the first one must).

    Each step doubles the distance covered, until the longest run is covered.

    Example:
        >>> print(*runs(jnp.array([True, False, False, True])))
        [0 0 0 3] [2 2 2 3]
    """
    n = new.shape[-1]
    places = jnp.broadcast_to(jnp.arange(n, dtype=jnp.int32), new.shape)
    last = jnp.roll(new, -1, axis=-1)

    def further(found: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        shift, first, end = found
        before = jnp.where(places >= shift, jnp.roll(first, shift, axis=-1), -1)
        after = jnp.where(places < n - shift, jnp.roll(end, -shift, axis=-1), n)
        return 2 * shift, jnp.maximum(first, before), jnp.minimum(end, after)

    start = jnp.int32(1), jnp.where(new, places, -1), jnp.where(last, places, n)
    _, first, end = jax.lax.while_loop(lambda found: in_any_of_a_batch(jnp.any(found[1] < 0)), further, start)
    return first, end


def changes(ordered: Keys) -> Mask:
    """Mask of sorted values that differ from the one before; True for the first.

    Example:
        >>> print(changes(jnp.array([1, 1, 4])))
        [ True False  True]
    """
    first = jnp.ones_like(ordered[..., :1], bool)
    return jnp.concatenate([first, ordered[..., 1:] != ordered[..., :-1]], axis=-1)


def changes_beyond(ordered: Float[Array, "*batch n"], errors: Float[Array, "*batch n"], new: Mask) -> Mask:
    """Mask of sorted numbers that differ from the one before by more than their errors.

    Neighbours within their errors are joined to runs. If the ends of a run differ by more than their errors, its
    members count as different numbers.

    Args:
        ordered: the numbers, sorted.
        errors: largest error of each number.
        new: True for numbers that differ from the one before at all.

    Example:
        >>> ordered = jnp.array([1.0, 1.1, 2.0, 2.2, 2.4, 2.6])
        >>> print(changes_beyond(ordered, jnp.full(6, 0.06), jnp.ones(6, bool)))
        [ True False  True  True  True  True]
    """

    def within(later: Array, earlier: Array, off_later: Array, off_earlier: Array) -> Array:
        return later - earlier <= off_later + off_earlier

    near = within(ordered[..., 1:], ordered[..., :-1], errors[..., 1:], errors[..., :-1])
    together = new.at[..., 1:].set(new[..., 1:] & ~near)
    first, last = runs(together)
    ends = (jnp.take_along_axis(side, place, axis=-1) for side in (ordered, errors) for place in (last, first))
    # A run that is wider than the errors of its ends is split into its numbers.
    return jnp.where(within(*ends), together, new)
