"""Pearson and Spearman correlation over the stimuli, for all units at once."""

from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bsjax.engine.host_calls import host_call
from bsjax.metrics.numerics import is_constant

# From here on the order of numbers is found by counting, see ``_order``: fewer are sorted sooner than counted.
_MANY = 1 << 17
# More than twice as many are ranked in parts of about so many, and every so many-th number says where parts end.
_PART, _SAMPLED = 1 << 19, 997


def pearson(
    x: Float[Array, "*shape"],
    y: Float[Array, "*shape"],
    *,
    axis: int = 0,
    where: Bool[Array, "..."] | None = None,
) -> Float[Array, "..."]:
    r"""Pearson correlation of ``x`` and ``y`` along one axis.

    .. math:: r = \frac{\sum_i (x_i - \bar x)(y_i - \bar y)}{\sqrt{\sum_i (x_i - \bar x)^2 \sum_i (y_i - \bar y)^2}}

    Two passes: the means are taken off first, so that a large offset costs no digits.

    Args:
        x, y: arrays of one shape, usually ``(stimuli, units)``.
        axis: the axis to correlate along; 0 is the stimuli.
        where: True where a value counts; of the rank of ``x``, with lengths that broadcast. All values if None.

    Returns:
        The shape of ``x`` without ``axis``, in the dtype of the inputs. NaN where either side is constant or has fewer
        than two values, with a zero gradient there.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
        >>> print(pearson(x, x).round(3))
        [ 1. nan]
    """

    def counted(values: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
        # Before anything is computed with them: NaN in a gradient does not go away when it is left out.
        return values if where is None else jnp.where(where, values, 0.0)

    def total(values: Float[Array, "*shape"]) -> Float[Array, "..."]:
        return jnp.sum(values, axis=axis, keepdims=True)

    if where is None:
        count = jnp.asarray(x.shape[axis], x.dtype)
    else:
        # Without the axes that `where` leaves to broadcasting, but for the one that is summed over.
        axes = enumerate(zip(x.shape, where.shape, strict=True))
        along = jnp.broadcast_to(where, [n if dim == axis % x.ndim else own for dim, (n, own) in axes])
        count = total(along.astype(x.dtype))
    # Divided by what they are at most: squares of very small or large numbers are no numbers of float32.
    least = float(jnp.finfo(x.dtype).tiny)
    x, y = (counted(values) for values in (x, y))
    sizes = [jnp.max(jnp.abs(values), axis=axis, keepdims=True, initial=least) for values in (x, y)]
    x, y = (values / jax.lax.stop_gradient(size) for values, size in zip((x, y), sizes, strict=True))
    means = [total(values) / jnp.maximum(count, 1.0) for values in (x, y)]
    centred = [counted(values - mean) for values, mean in zip((x, y), means, strict=True)]
    squares = [total(values**2) for values in centred]
    # True as well where fewer than two values count: centred, they are zero.
    undefined = is_constant(squares[0], means[0], count) | is_constant(squares[1], means[1], count)
    lengths = [jnp.sqrt(jnp.where(undefined, 1.0, square)) for square in squares]
    r = total(centred[0] * centred[1]) / (lengths[0] * lengths[1])
    r = jnp.where(undefined, jnp.nan, jnp.clip(r, -1.0, 1.0))
    return jnp.squeeze(r, axis=axis)


def ranks(x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """Ranks along the last axis, from 1, ties sharing their average rank; NaN sorts last.

    XLA sorts slowly on CPU, so that there the ranks are taken by NumPy behind a host call; elsewhere by XLA. Ranks are
    piecewise constant: their gradient is zero.
    """
    # stop_gradient and not a custom rule: a host call has no derivative, and a constant tangent never reaches it.
    return jax.lax.platform_dependent(jax.lax.stop_gradient(x), cpu=_ranks_on_host, default=_ranks_in_xla)


def spearman(
    x: Float[Array, " n"], y: Float[Array, " n"], *, where: Bool[Array, " n"] | None = None
) -> Float[Array, ""]:
    """Spearman correlation of two vectors: the Pearson correlation of their ranks, ties averaged.

    Args:
        x, y: vectors of one length.
        where: True where a pair counts; all if None.

    Returns:
        A scalar in [-1, 1]; NaN where a side is constant or holds a NaN that counts.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{spearman(jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([1.0, 4.0, 9.0, 16.0])):.3f}")
        1.000
    """
    missing = jnp.isnan(x) | jnp.isnan(y)
    if where is not None:
        missing = missing & where
        # What does not count sorts behind everything, so that it moves no rank that counts.
        last = jnp.full_like(x, jnp.inf)
        x, y = jnp.where(where, x, last), jnp.where(where, y, last)
    # Ranks are scaled to at most 1 so that sums over millions of them keep their digits in float32.
    scale = 1.0 / x.shape[0]
    r = pearson(ranks(x) * scale, ranks(y) * scale, where=where)
    return jnp.where(jnp.any(missing), jnp.full_like(r, jnp.nan), r)


def _ranks_on_host(x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    # Twice a rank is a whole number, which 32 bits hold.
    words = jax.lax.bitcast_convert_type(x, jnp.uint32).reshape(*x.shape[:-1], -1)
    host = _numpy_double_ranks_64 if x.dtype.itemsize == 8 else _numpy_double_ranks_32
    return 0.5 * host_call(host, words, shape=x.shape, dtype=np.int32).astype(x.dtype)


def _numpy_double_ranks_64(words: np.ndarray) -> np.ndarray:
    return _numpy_double_ranks(words.view(np.float64))


def _numpy_double_ranks_32(words: np.ndarray) -> np.ndarray:
    return _numpy_double_ranks(words.view(np.float32))


def _numpy_double_ranks(x: np.ndarray) -> np.ndarray:
    rows = x.reshape(-1, x.shape[-1])
    result = np.empty(rows.shape, np.int32)
    for row, out in zip(rows, result, strict=True):
        below = 0
        for places in _parts(row):
            order, new = _order(row[places])
            out[places[order]] = 2 * below + _double_ranks_in_order(new)
            below += len(order)
    return result.reshape(x.shape)


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
    edges = np.quantile(x[::_SAMPLED], np.arange(1, parts) / parts, method="lower") if parts > 1 else np.empty(0)
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


def _ranks_in_xla(x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    flat = x.reshape(-1, x.shape[-1])

    def rank_row(row: Float[Array, " n"]) -> Float[Array, " n"]:
        ordered = jnp.sort(row)
        below = jnp.searchsorted(ordered, row, side="left", method="sort")
        up_to = jnp.searchsorted(ordered, row, side="right", method="sort")
        return 0.5 * (below + up_to + 1).astype(x.dtype)

    return jax.vmap(rank_row)(flat).reshape(x.shape)
