"""Ranks of numbers: by two sorts, and on a CPU by NumPy."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bsjax.engine.host_calls import host_call
from bsjax.engine.platforms import primitive
from bsjax.engine.primitives.ordering import changes, runs, sort_in_turn, sortable

# From here on the order of numbers is found by counting, see ``_order``: fewer are sorted sooner than counted.
_MANY = 1 << 17
# More than twice as many are ranked in parts of about so many, and every so many-th number says where parts end.
_PART, _SAMPLED = 1 << 19, 997


@primitive
def ranks(x: Float[Array, "*batch n"], where: Bool[Array, "*batch n"] | None = None) -> Float[Array, "*batch n"]:
    """Ranks along the last axis, from 1, ties sharing their average rank; NaN sorts last.

    Ranks are piecewise constant: their gradient is zero.

    Args:
        x: the numbers.
        where: True where a number counts; all if None. What does not has rank 0, and moves no rank that counts.

    Example:
        >>> print(ranks(jnp.array([0.5, 2.0, 0.5])))
        [1.5 3.  1.5]
    """
    keys = sortable(jax.lax.stop_gradient(x), where)
    places = jnp.broadcast_to(jnp.arange(x.shape[-1], dtype=keys.dtype), x.shape)
    twice, _, _ = sort_in_turn(keys, places, _double_ranks, 2)
    found = 0.5 * twice.astype(x.dtype)
    return found if where is None else jnp.where(where, found, 0.0)


@primitive
def ranks_of_pairs(
    x: Float[Array, "*batch n"], y: Float[Array, "*batch n"], where: Bool[Array, "*batch n"] | None = None
) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
    """``ranks`` of both numbers of each pair, for what does not depend on the order of the pairs, which may be any.

    Two sorts do, where ``ranks`` of either takes two: the order of ``y`` is the one in which ranks are given.

    Example:
        >>> import numpy as np
        >>> a, b = ranks_of_pairs(jnp.array([5.0, 4.0, 6.0]), jnp.array([2.0, 2.0, 1.0]))
        >>> print(sorted(zip(np.asarray(a).tolist(), np.asarray(b).tolist())))
        [(1.0, 2.5), (2.0, 2.5), (3.0, 1.0)]
    """
    by_x, by_y = (sortable(jax.lax.stop_gradient(side), where) for side in (x, y))
    twice = sort_in_turn(by_x, by_y, _double_ranks, 2)[:2]
    found = [0.5 * side.astype(x.dtype) for side in twice]
    if where is not None:
        # What does not count is last now.
        counts = jnp.arange(x.shape[-1]) < jnp.sum(where, axis=-1, keepdims=True)
        found = [jnp.where(counts, side, 0.0) for side in found]
    return found[0], found[1]


def _double_ranks(ordered: Int[Array, "*batch n"], _: Array) -> tuple[Int[Array, "*batch n"], None]:
    first, last = runs(changes(ordered))
    return (first + last + 2).astype(ordered.dtype), None


@ranks.on("cpu")
def _ranks_by_numpy(
    x: Float[Array, "*batch n"], where: Bool[Array, "*batch n"] | None = None
) -> Float[Array, "*batch n"]:
    (found,) = _by_numpy([x], where)
    return found


@ranks_of_pairs.on("cpu")
def _ranks_of_pairs_by_numpy(
    x: Float[Array, "*batch n"], y: Float[Array, "*batch n"], where: Bool[Array, "*batch n"] | None = None
) -> tuple[Float[Array, "*batch n"], Float[Array, "*batch n"]]:
    first, second = _by_numpy([x, y], where)
    return first, second


def _by_numpy(sides: list[Array], where: Array | None) -> list[Array]:
    """The ranks of each side, by one host call for all: XLA's sort takes ten times as long on a CPU."""
    # stop_gradient and not a custom rule: a host call has no derivative, and a constant tangent never reaches it.
    sides = [jax.lax.stop_gradient(side) for side in sides]
    # What does not count sorts behind everything.
    placed = sides if where is None else [jnp.where(where, side, jnp.inf) for side in sides]
    shape, dtype = placed[0].shape, placed[0].dtype
    # As words of 32 bits, and twice a rank is a whole number, which 32 bits hold.
    words = [jax.lax.bitcast_convert_type(side, jnp.uint32).reshape(*shape[:-1], -1) for side in placed]
    host = _double_ranks_64 if dtype.itemsize == 8 else _double_ranks_32
    twice = host_call(host, *words, shape=(*shape[:-1], len(sides), shape[-1]), dtype=np.int32)
    found = [0.5 * twice[..., side, :].astype(dtype) for side in range(len(sides))]
    return found if where is None else [_of_those_that_count(*one, where) for one in zip(found, sides, strict=True)]


def _of_those_that_count(found: Array, x: Array, where: Array) -> Array:
    # What does not count ties with infinity.
    finite, infinite = (
        jnp.sum(where & those, axis=-1, keepdims=True).astype(x.dtype) for those in (x < jnp.inf, x == jnp.inf)
    )
    found = jnp.where(x == jnp.inf, finite + 0.5 * (infinite + 1.0), found)
    return jnp.where(where, found, 0.0)


def _double_ranks_64(*words: np.ndarray) -> np.ndarray:
    return _double_ranks_of(*(side.view(np.float64) for side in words))


def _double_ranks_32(*words: np.ndarray) -> np.ndarray:
    return _double_ranks_of(*(side.view(np.float32) for side in words))


def _double_ranks_of(*sides: np.ndarray) -> np.ndarray:
    """Twice the ranks of every row of each side, ``(..., sides, n)``."""
    *batch, n = sides[0].shape
    result = np.empty((*batch, len(sides), n), np.int32)
    for side, x in enumerate(sides):
        # A view: the leading axes are merged without a copy, and then the sides are picked.
        for row, out in zip(x.reshape(-1, n), result.reshape(-1, len(sides), n)[:, side], strict=True):
            _rank_row(row, out)
    return result


def _rank_row(row: np.ndarray, out: np.ndarray) -> None:
    if len(row) < 2 * _PART:
        order, new = _order(row)
        out[order] = _double_ranks_in_order(new)
        return
    below = 0
    for places in _parts(row):
        order, new = _order(row[places])
        out[places[order]] = 2 * below + _double_ranks_in_order(new)
        below += len(order)


def _double_ranks_in_order(new: np.ndarray) -> np.ndarray:
    """Twice the ranks of ordered numbers, given where a new value begins."""
    if new.all():
        return np.arange(2, 2 * len(new) + 2, 2, dtype=np.int32)
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(new))
    return np.repeat((starts + ends + 1).astype(np.int32), ends - starts)


def _parts(x: np.ndarray) -> Iterator[np.ndarray]:
    """Where the numbers of each part are, from the smallest part to the largest; equal numbers are in one part.

    What ranks take besides themselves is then in proportion to a part.
    """
    parts = len(x) // _PART
    # No interpolation: between infinities there is nothing.
    edges = np.quantile(x[::_SAMPLED], np.arange(1, parts) / parts, method="lower")
    edges = np.unique(edges[~np.isnan(edges)])
    above = np.ones(len(x), bool)
    for edge in edges:
        below = x < edge
        yield np.flatnonzero(above & below)
        above = ~below  # NaN is in the last part
    yield np.flatnonzero(above)


def _order(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``np.argsort(x)``, and where in that order a new value begins. Counts where there is much to sort.

    The numbers are cut into 2^32 steps between the smallest and the largest, and two counting sorts by 16 bits each
    bring them into the order of the steps. Numbers that share a step are then sorted, by a sort that takes what is in
    order already in its stride. So the order is exact, and where the steps are too coarse it only takes longer.
    """
    steps = _steps(x) if len(x) >= _MANY else None
    if steps is None:
        order = np.argsort(x)
        return order, _changes(x[order])
    keys = np.left_shift(steps, np.uint64(32), out=steps)
    keys |= np.arange(len(x), dtype=np.uint32)
    for digit in (2, 3):
        keys = _counting_sort(keys, digit)
    new = _changes(keys.view("<u4")[1::2])
    keys &= np.uint64(0xFFFFFFFF)
    order = keys.view(np.int64)
    shared = np.flatnonzero(~(new & np.append(new[1:], True)))
    values = x[order[shared]]
    exact = np.argsort(values, kind="stable")
    order[shared] = order[shared][exact]
    new[shared] = _changes(values[exact])
    return order, new


def _steps(x: np.ndarray) -> np.ndarray | None:
    """The step of each number, from 0 to 2^32 - 1; None where numbers cannot be cut into steps."""
    low, high = float(x.min()), float(x.max())
    if high == np.inf:  # what a mask has put behind everything shares the last step
        high = float(np.max(x, where=x < np.inf, initial=x.dtype.type(low)))
    width = high - low
    if not 0.0 < width < np.inf:
        return None
    steps = np.subtract(x, low, dtype=np.float64)
    steps *= (2.0**32 - 1.0) / width
    return np.minimum(steps, 2.0**32 - 1.0, out=steps).astype(np.uint64)


def _counting_sort(keys: np.ndarray, digit: int) -> np.ndarray:
    """``keys`` in the order of one of their four digits of 16 bits, counted from the lowest.

    SciPy groups the entries of a sparse matrix by their columns in that way.
    """
    from scipy.sparse import csr_array  # when it is needed: it takes long to import

    digits = keys.astype("<u8", copy=False).view("<u2")[digit::4].astype(np.int32)
    return csr_array((keys, digits, [0, len(keys)]), shape=(1, 1 << 16)).tocsc().data


def _changes(ordered: np.ndarray) -> np.ndarray:
    """Where a value differs from the one before it."""
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return new
