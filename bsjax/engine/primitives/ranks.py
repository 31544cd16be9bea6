"""Ranks of numbers with rounding errors, by two sorts, and on a CPU by NumPy."""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bsjax.engine.host_calls import host_call
from bsjax.engine.primitives.ordering import Keys, changes, changes_beyond, runs, sort_by_key, sort_in_turn, sortable
from bsjax.engine.primitives.row_pairs import pairs_of_matrix, rows_of_pairs
from bsjax.engine.programs.platforms import primitive

Numbers = Float[Array, "*batch m"]
Counted = Bool[Array, "*batch m"]
RowErrors = Float[Array, "*batch n"]

# Vectors at least twice as long as _PART are ranked in parts of about this length; every _SAMPLED-th number is used to
# choose where parts end.
_PART, _SAMPLED = 1 << 19, 997


@primitive
def ranks(x: Numbers, where: Counted | None = None, errors: RowErrors | None = None) -> Numbers:
    """Ranks along the last axis, from 1; ties share their average rank, and NaN values share the last ranks.

    Ranks are piecewise constant, with a zero gradient.

    Args:
        x: the numbers.
        where: True where a number counts; all if None. Other numbers have the rank 0 and do not affect the ranks.
        errors: rounding errors of the rows whose pairs (``pairs_of_rows``) the numbers are, or a single error for all.
            The error of a number is the sum of those of its two rows. Numbers that are equal within their errors are
            tied: neighbours that differ by at most the sum of their errors are joined, unless the first and the last of
            the joined numbers differ by more than the sum of theirs.

    Returns:
        The shape and dtype of ``x``.

    Example:
        >>> print(ranks(jnp.array([0.5, 2.0, 0.5])))
        [1.5 3.  1.5]
    """
    keys, places, double = _to_rank(x, where, errors)
    twice, _, _ = sort_in_turn(keys, places, double, 2)
    found = 0.5 * twice.astype(x.dtype)
    return found if where is None else jnp.where(where, found, 0.0)


@primitive
def ranks_of_pairs(
    x: Numbers, y: Numbers, where: Counted | None = None, errors: tuple[RowErrors, RowErrors] | None = None
) -> tuple[Numbers, Numbers]:
    """``ranks`` of both numbers of each pair, with the pairs in any order.

    Without errors, this takes two sorts instead of the four of two calls of ``ranks``, because ranks are returned in
    the order of ``y``. Use it only for computations that do not depend on the order of pairs.

    Example:
        >>> import numpy as np
        >>> a, b = ranks_of_pairs(jnp.array([5.0, 4.0, 6.0]), jnp.array([2.0, 2.0, 1.0]))
        >>> print(sorted(zip(np.asarray(a).tolist(), np.asarray(b).tolist())))
        [(1.0, 2.5), (2.0, 2.5), (3.0, 1.0)]
    """
    if errors is None:
        by_x, by_y = (sortable(jax.lax.stop_gradient(side), where) for side in (x, y))
        twice = sort_in_turn(by_x, by_y, _double_ranks, 2)[:2]
    else:
        keys, places, double = _to_rank(x, where, errors[0])
        of_x, _, _ = sort_in_turn(keys, places, double, 2)
        keys, places, double = _to_rank(y, where, errors[1])
        keys, places = sort_by_key(keys, places)
        twice = jnp.take_along_axis(of_x, places, axis=-1), double(keys, places)[0]
    found = [0.5 * side.astype(x.dtype) for side in twice]
    if where is not None:
        # Numbers that do not count are last now.
        counts = jax.lax.broadcasted_iota(int, x.shape, x.ndim - 1) < jnp.sum(where, axis=-1, keepdims=True)
        found = [jnp.where(counts, side, 0.0) for side in found]
    return found[0], found[1]


def _to_rank(x: Array, where: Array | None, errors: Array | None) -> tuple[Array, Array, Callable[..., Any]]:
    """Sorting keys, their places, and a function from both, sorted, to doubled ranks."""
    x = jax.lax.stop_gradient(x)
    keys = sortable(x, where)
    places = jnp.broadcast_to(jnp.arange(x.shape[-1], dtype=keys.dtype), x.shape)
    if errors is None:
        return keys, places, _double_ranks
    x = x if where is None else jnp.where(where, x, jnp.nan)
    errors = jax.lax.stop_gradient(errors)
    sums = errors[..., :, None] + errors[..., None, :]
    single = jnp.broadcast_to(sums[..., 0], x.shape) if errors.shape[-1] == 1 else None
    off = jnp.vectorize(pairs_of_matrix, signature="(n,n)->(m)")(sums) if single is None else single

    def double(ordered: Array, places: Array) -> tuple[Array, None]:
        numbers, own = (jnp.take_along_axis(side, places, axis=-1) for side in (x, off))
        first, last = runs(changes_beyond(numbers, own, changes(ordered)))
        return (first + last + 2).astype(ordered.dtype), None

    return keys, places, double


def _double_ranks(ordered: Keys, _: Array) -> tuple[Keys, None]:
    first, last = runs(changes(ordered))
    return (first + last + 2).astype(ordered.dtype), None


@ranks.on("cpu")
def _ranks_by_numpy(x: Numbers, where: Counted | None = None, errors: RowErrors | None = None) -> Numbers:
    (found,) = _by_numpy([x], where, [errors])
    return found


@ranks_of_pairs.on("cpu")
def _ranks_of_pairs_by_numpy(
    x: Numbers, y: Numbers, where: Counted | None = None, errors: tuple[RowErrors, RowErrors] | None = None
) -> tuple[Numbers, Numbers]:
    first, second = _by_numpy([x, y], where, errors or (None, None))
    return first, second


def _by_numpy(sides: list[Array], where: Array | None, errors: Sequence[Array | None]) -> list[Array]:
    """Ranks of each side by a single host call; XLA's sort takes ten times as long on a CPU."""
    shape, dtype = sides[0].shape, sides[0].dtype
    # Doubled ranks are whole numbers, which fit in 32 bits.
    twice = host_call(
        double_ranks, *host_operands(sides, where, errors), shape=(*shape[:-1], len(sides), shape[-1]), dtype=np.int32
    )
    return [0.5 * twice[..., side, :].astype(dtype) for side in range(len(sides))]


def host_operands(sides: Sequence[Array], where: Array | None, errors: Sequence[Array | None]) -> list[Array]:
    """Operands of ``double_ranks``; None becomes an empty array."""
    nothing = jnp.zeros((*sides[0].shape[:-1], 0), sides[0].dtype)
    arrays = [array for pair in zip(sides, errors, strict=True) for array in pair]
    # stop_gradient instead of a custom rule: the host call has no derivative, and a zero tangent never reaches it.
    arrays = [nothing if array is None else jax.lax.stop_gradient(array) for array in arrays]
    return [nothing.astype(bool) if where is None else where, *arrays]


def double_ranks(where: np.ndarray, *arrays: np.ndarray) -> np.ndarray:
    """Doubled ranks of every row of each side, ``(..., sides, m)``; 0 for numbers that do not count.

    Args:
        where: True where a number counts; empty if all do.
        arrays: for each side, the numbers, then the errors of the rows whose pairs they are (may be empty).
    """
    numbers, errors = arrays[::2], arrays[1::2]
    *batch, m = numbers[0].shape
    result = np.empty((*batch, len(numbers), m), np.int32)
    rows = result.reshape(math.prod(batch), len(numbers), m)
    masks = where.reshape(len(rows), where.shape[-1])
    for side, (x, off) in enumerate(zip(numbers, errors, strict=True)):
        # Views: leading axes are merged without a copy.
        offs = off.reshape(len(rows), off.shape[-1])
        for row, own, counts, out in zip(x.reshape(len(rows), m), offs, masks, rows[:, side], strict=True):
            kept = np.flatnonzero(counts) if len(counts) else None
            if kept is None or len(kept) == m:
                _rank_row(row, _Errors(own, None), out)
                continue
            ranked = np.empty(len(kept), np.int32)
            _rank_row(row[kept], _Errors(own, kept), ranked)
            out[:] = 0
            out[kept] = ranked
    return result


class _Errors:
    """Rounding errors of numbers that are pairs of rows, by place; ``reach`` bounds the error of a difference."""

    def __init__(self, of_rows: np.ndarray, kept: np.ndarray | None) -> None:
        self._of_rows, self._kept = of_rows, kept
        self.reach = 4.0 * float(of_rows.max()) if len(of_rows) else 0.0
        # Errors within a factor of four are replaced by a common bound.
        self._alike = self.reach <= 16.0 * float(of_rows.min(initial=np.inf))

    def __call__(self, places: np.ndarray) -> np.ndarray:
        if self._alike:
            return np.broadcast_to(0.5 * self.reach, places.shape)
        places = places if self._kept is None else self._kept[places]
        left, right = rows_of_pairs(places, len(self._of_rows))
        return self._of_rows[left] + self._of_rows[right]


def _rank_row(row: np.ndarray, errors: _Errors, out: np.ndarray) -> None:
    if len(row) < 2 * _PART:
        order = np.argsort(row)
        out[order] = _double_ranks_in_order(_beyond_errors(row[order], order, errors))
        return
    below = 0
    for places in _parts(row, errors.reach):
        order = places[np.argsort(row[places])]
        out[order] = 2 * below + _double_ranks_in_order(_beyond_errors(row[order], order, errors))
        below += len(order)


def _beyond_errors(ordered: np.ndarray, order: np.ndarray, errors: _Errors) -> np.ndarray:
    """Mask of sorted numbers that differ from the one before by more than their errors, see ``ranks``."""
    new = _changes(ordered)
    if not errors.reach > 0.0:
        return new
    with np.errstate(invalid="ignore"):  # between infinities
        gaps = np.diff(ordered)
    near = new[1:] & (gaps <= errors.reach)
    if not near.any():
        return new
    off = errors(order)
    near &= gaps <= off[1:] + off[:-1]
    together = new.copy()
    together[1:] &= ~near
    first = np.flatnonzero(together)
    last = np.append(first[1:], len(new)) - 1
    with np.errstate(invalid="ignore"):
        several = ~(ordered[last] - ordered[first] <= off[last] + off[first])
    return together | (new & np.repeat(several, last - first + 1)) if several.any() else together


def _double_ranks_in_order(new: np.ndarray) -> np.ndarray:
    """Doubled ranks of sorted numbers, given where a new value begins."""
    if new.all():
        return np.arange(2, 2 * len(new) + 2, 2, dtype=np.int32)
    starts = np.flatnonzero(new)
    ends = np.append(starts[1:], len(new))
    return np.repeat((starts + ends + 1).astype(np.int32), ends - starts)


def _parts(x: np.ndarray, reach: float) -> Iterator[np.ndarray]:
    """Places of the numbers of each part, in ascending order of their values; numbers that may tie share a part."""
    # Ranking part by part limits the temporary memory to the size of a part.
    parts = len(x) // _PART
    # No interpolation, which is undefined between infinities.
    edges = np.quantile(x[::_SAMPLED], np.arange(1, parts) / parts, method="lower")
    edges = np.unique(edges[~np.isnan(edges)])
    above = np.ones(len(x), bool)
    for edge in edges:
        if reach > 0.0:  # moved to the last gap below that is wider than any error
            before = np.append(np.sort(x[(x >= edge - 4.0 * reach) & (x < edge)]), edge)
            gaps = np.flatnonzero(np.diff(before) > reach)
            edge = before[gaps[-1] + 1] if len(gaps) else before[0]
        below = x < edge
        yield np.flatnonzero(above & below)
        above = ~below  # NaN is in the last part
    yield np.flatnonzero(above)


def _changes(ordered: np.ndarray) -> np.ndarray:
    """Mask of sorted values that differ from the one before; NaN values are equal."""
    new = np.ones(len(ordered), bool)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    if len(ordered) and ordered[-1] != ordered[-1]:
        new[np.searchsorted(ordered, np.nan) + 1 :] = False  # NaN ties with NaN
    return new
