"""Pearson and Spearman correlation over the stimuli, for all units at once."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.primitives.ranks import ranks_of_pairs
from bsjax.engine.tolerances import CANCELLED, rounding
from bsjax.metrics.arrays import Mask, PerStimulus, Scalar, Values
from bsjax.metrics.numerics import deviations, divide_or_nan, is_constant

Units = Float[Array, "n u"]
UnitMask = Bool[Array, "n u"]


@at_full_precision
def pearson(
    x: Values,
    y: Values,
    *,
    axis: int = 0,
    where: Bool[Array, "..."] | None = None,
    weights: Float[Array, "..."] | None = None,
) -> Float[Array, "..."]:
    r"""Pearson correlation of ``x`` and ``y`` along one axis.

    .. math:: r = \frac{\sum_i (x_i - \bar x)(y_i - \bar y)}{\sqrt{\sum_i (x_i - \bar x)^2 \sum_i (y_i - \bar y)^2}}

    The means are subtracted in a first pass, so a large offset costs no precision.

    Args:
        x, y: arrays of the same shape, usually ``(stimuli, units)``.
        axis: the axis to correlate along; by default the first, that of the stimuli.
        where: True where a value counts; all values if None. It has as many axes as ``x`` and broadcasts to its shape.
        weights: non-negative weight of each value; 1 if None. It has as many axes as ``x`` and broadcasts to its shape.
            See :func:`weighted_pearson` for many sets of weights of the same values.

    Returns:
        The shape of ``x`` without ``axis``, in the dtype of the inputs. NaN where either side is constant or has fewer
        than two values, with a zero gradient there.

    Source: Pearson 1895.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[1.0, 1.0], [2.0, 1.0], [3.0, 1.0]])
        >>> print(pearson(x, x).round(3))
        [ 1. nan]
    """
    if weights is not None:
        where = (weights > 0) if where is None else (weights > 0) & where

    def counted(values: Values) -> Values:
        # Masked before any computation: masking later does not remove NaN from a gradient.
        return values if where is None else jnp.where(where, values, 0.0)

    def total(values: Values) -> Float[Array, "..."]:
        return jnp.sum(values if weights is None else weights * values, axis=axis, keepdims=True)

    if where is None:
        count = jnp.asarray(x.shape[axis], x.dtype)
    else:
        # Axes of length 1 in `where` stay so, except the one that is summed over.
        axes = enumerate(zip(x.shape, where.shape, strict=True))
        along = jnp.broadcast_to(where, [n if dim == axis % x.ndim else own for dim, (n, own) in axes])
        count = total(along.astype(x.dtype))
    # Divided by their maximum: squares of very small or very large numbers underflow or overflow in float32.
    least = float(jnp.finfo(x.dtype).tiny)
    x, y = (counted(values) for values in (x, y))
    sizes = [jnp.max(jnp.abs(values), axis=axis, keepdims=True, initial=least) for values in (x, y)]
    x, y = (values / jax.lax.stop_gradient(size) for values, size in zip((x, y), sizes, strict=True))
    means = [total(values) / jnp.maximum(count, 1.0) for values in (x, y)]
    centred = [counted(values - mean) for values, mean in zip((x, y), means, strict=True)]
    squares = [total(values**2) for values in centred]
    # Also true where fewer than two values count: centred, they are zero.
    undefined = is_constant(squares[0], means[0], count) | is_constant(squares[1], means[1], count)
    lengths = [jnp.sqrt(jnp.where(undefined, 1.0, square)) for square in squares]
    r = total(centred[0] * centred[1]) / (lengths[0] * lengths[1])
    r = jnp.where(undefined, jnp.nan, jnp.clip(r, -1.0, 1.0))
    return jnp.squeeze(r, axis=axis)


def weighted_pearson(
    x: Units, y: Units, weights: Float[Array, "draws n"], *, where: UnitMask | None = None
) -> Float[Array, "draws u"]:
    r"""Pearson correlation over the stimuli with many sets of weights, such as the counts of bootstrap draws.

    Values are centred on their mean over all stimuli; matrix products then compute the moments of all sets at once.

    Args:
        x, y: responses ``(stimuli, units)``.
        weights: non-negative weights of the stimuli, one row per draw.
        where: True where a value counts; all if None. Other values are ignored.

    Returns:
        ``(draws, units)`` in the dtype of ``x``. NaN where either side is constant over the stimuli with weight.

    Example:
        >>> import jax.numpy as jnp
        >>> x = jnp.array([[1.0], [2.0], [4.0]])
        >>> weights = jnp.array([[1.0, 1.0, 1.0], [2.0, 0.0, 1.0], [3.0, 0.0, 0.0]])
        >>> print(weighted_pearson(x, x, weights).round(3).ravel())
        [ 1.  1. nan]
    """
    mask = jnp.any(weights > 0, axis=0)[:, None] & (jnp.ones_like(x, bool) if where is None else where)
    total = weights @ mask.astype(x.dtype)
    empty = total <= 0
    total = jnp.where(empty, 1.0, total)
    sides = []
    for values in (x, y):
        centred = deviations(values, mask, axis=0).values
        largest = jnp.max(jnp.abs(centred), axis=0, keepdims=True, initial=float(jnp.finfo(x.dtype).tiny))
        sides.append(centred / jax.lax.stop_gradient(largest))
    means = [weights @ side / total for side in sides]
    squares = [weights @ side**2 / total for side in sides]
    variances = [square - mean**2 for square, mean in zip(squares, means, strict=True)]
    constant = [
        variance <= rounding(x, CANCELLED) * square for variance, square in zip(variances, squares, strict=True)
    ]
    undefined = empty | constant[0] | constant[1]
    lengths = [jnp.sqrt(jnp.where(undefined, 1.0, variance)) for variance in variances]
    covariance = weights @ (sides[0] * sides[1]) / total - means[0] * means[1]
    return jnp.clip(divide_or_nan(covariance, lengths[0] * lengths[1], undefined), -1.0, 1.0)


@at_full_precision
def spearman(x: PerStimulus, y: PerStimulus, *, where: Mask | None = None) -> Scalar:
    """Spearman correlation of two vectors: the Pearson correlation of their ranks, ties averaged.

    Args:
        x, y: vectors of the same length.
        where: True where a pair counts; all if None.

    Returns:
        A scalar in [-1, 1]; NaN where a side is constant or holds a NaN that counts.

    Source: Spearman 1904.

    Example:
        >>> import jax.numpy as jnp
        >>> print(f"{spearman(jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.array([1.0, 4.0, 9.0, 16.0])):.3f}")
        1.000
    """
    missing = jnp.isnan(x) | jnp.isnan(y)
    if where is not None:
        missing = missing & where
    x, y = ranks_of_pairs(x, y, where)
    # Ranks are scaled to at most 1 so that sums over millions of them keep their digits in float32.
    scale = 1.0 / x.shape[0]
    r = pearson(x * scale, y * scale, where=None if where is None else x > 0)
    return jnp.where(jnp.any(missing), jnp.full_like(r, jnp.nan), r)


def spearman_brown(r: Values, *, factor: float = 2.0) -> Values:
    r"""Spearman-Brown prediction of the reliability of ``factor`` times as much data: :math:`k r / (1 + (k - 1) r)`.

    Args:
        r: reliability, e.g. the correlation between two halves of the data.
        factor: ratio k of the amounts of data; 2 from halves to the whole.

    Returns:
        The shape of ``r``; NaN where the denominator is not positive (``r = -1`` for halves).

    Source: Spearman 1910; Brown 1910.

    Example:
        >>> print(f"{spearman_brown(jnp.array(0.5)):.3f}")
        0.667
    """
    denominator = 1.0 + (factor - 1.0) * r
    return divide_or_nan(factor * r, denominator, denominator <= 0)
