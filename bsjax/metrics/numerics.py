"""Guarded arithmetic shared by all kernels: division, means, deviations, and tests for constant values.

An undefined value (of a constant unit, or an empty half) is NaN, and gradients stay finite. Each guard replaces the
degenerate operand by a harmless one *before* the operation and inserts NaN afterwards, because the gradient of
``where(bad, nan, a / b)`` is itself NaN when ``b`` is zero.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.primitives.decompositions import qr, qr_coordinates
from bsjax.engine.primitives.products import transposed
from bsjax.engine.tolerances import CANCELLED as CANCELLED
from bsjax.engine.tolerances import CONSTANT, rounding
from bsjax.metrics.arrays import Features, Values


def divide_or_nan(numerator: Values, denominator: Values, undefined: Bool[Array, "*shape"]) -> Values:
    """``numerator / denominator``, and NaN with a zero gradient where ``undefined``."""
    quotient = numerator / jnp.where(undefined, jnp.ones_like(denominator), denominator)
    return jnp.where(undefined, jnp.full_like(quotient, jnp.nan), quotient)


def nonzero(x: Values) -> Values:
    """``x`` where it is positive, else 1: a denominator where the numerator is zero, or the quotient is not used."""
    return jnp.where(x > 0, x, jnp.ones_like(x))


def safe_sqrt(x: Values) -> Values:
    """The square root; 0 where ``x`` is not positive and NaN where it is NaN, both with a zero gradient."""
    root = jnp.where(x > 0, jnp.sqrt(nonzero(x)), jnp.zeros_like(x))
    return jnp.where(jnp.isnan(x), jnp.full_like(x, jnp.nan), root)


def inverse_root(x: Values, mask: Bool[Array, "*shape"]) -> Values:
    """``1 / sqrt(x)`` where the mask is True; elsewhere 0, with a zero gradient."""
    return jnp.where(mask, 1.0 / jnp.sqrt(jnp.where(mask, x, jnp.ones_like(x))), jnp.zeros_like(x))


def of_order_one(x: Float[Array, "..."], axis: int | None = None) -> Float[Array, "..."]:
    """Values divided by the largest along an axis, so that squares in float32 neither overflow nor underflow.

    For results that do not depend on the scale, so that no gradient passes through the largest value. The derivative of
    a maximum is NaN where a compiler computes the values twice, with other rounding.
    """
    return x / nonzero(jax.lax.stop_gradient(jnp.max(jnp.abs(x), axis=axis, keepdims=axis is not None)))


def unit_length(vectors: Float[Array, "*batch m"]) -> Float[Array, "*batch m"]:
    """Vectors along the last axis, scaled to unit length; zero vectors stay zero."""
    scaled = of_order_one(vectors, axis=-1)
    return scaled / jnp.sqrt(nonzero(jnp.sum(scaled**2, axis=-1, keepdims=True)))


def squared_distances(a: Float[Array, "r p"], b: Float[Array, "c p"]) -> Float[Array, "r c"]:
    """Between all rows of ``a`` and of ``b``; exactly 0 where rows differ by no more than rounding errors of sums."""
    sizes = jnp.sum(a**2, axis=1)[:, None] + jnp.sum(b**2, axis=1)[None, :]
    found = sizes - 2.0 * a @ b.T
    return jnp.where(found <= 2.0 * rounding_of_sums(a) * sizes, 0.0, found)


def rounding_of_sums(x: Float[Array, "n p"]) -> float:
    """Largest relative error of a sum of squares over the ``p`` columns, or of products of two rows."""
    return rounding(x, CONSTANT + float(x.shape[1]) ** 0.5)


def is_constant(sum_of_squares: Values, mean: Values, count: Float[Array, "..."]) -> Bool[Array, "*shape"]:
    """Whether ``count`` values are constant up to the rounding error of their mean, from their centred sum of squares.

    An exact test against zero is not sufficient: the mean of ``n`` equal numbers is often off by an ulp, which leaves
    meaningless residuals after centring.
    """
    return sum_of_squares <= count * (rounding(sum_of_squares, CONSTANT) * jnp.abs(mean)) ** 2


class Deviations(NamedTuple):
    """Centred values, exactly zero where constant or masked, with their moments; see ``deviations``."""

    values: Float[Array, "..."]
    squares: Float[Array, "..."]
    mean: Float[Array, "..."]
    n: Float[Array, "..."]
    constant: Bool[Array, "..."]


def deviations(x: Float[Array, "..."], where: Bool[Array, "..."] | None, axis: int) -> Deviations:
    """Deviations from the mean over ``axis``, safe to divide by their length.

    Centring constant values that are not exact in binary, such as 0.1, leaves rounding errors. They are set to zero
    here; otherwise a division by their length would scale them up to the size of real variation.

    Args:
        x: the values.
        where: as in ``masked_mean``.
        axis: the axis to average over.

    Returns:
        ``values`` in the shape of ``x``. With ``axis`` of length 1: their sums of ``squares``, the ``mean``, the number
        ``n`` of values that count, and whether they are ``constant``.

    Example:
        >>> x = jnp.array([[0.1, 1.0], [0.1, 2.0], [0.1, 3.0]])
        >>> print(deviations(x, None, 0).values)
        [[ 0. -1.]
         [ 0.  0.]
         [ 0.  1.]]
    """
    mean, count = masked_mean(x, where, axis)
    values = x - mean
    if where is not None:
        values = jnp.where(where, values, jnp.zeros_like(values))
    squares = jnp.sum(values**2, axis=axis, keepdims=True)
    constant = is_constant(squares, mean, count)
    values = jnp.where(constant, jnp.zeros_like(values), values)
    return Deviations(values, squares, mean, count, constant)


def masked_mean(
    x: Float[Array, "..."], where: Bool[Array, "..."] | None, axis: int, weights: Float[Array, "..."] | None = None
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Mean over ``axis`` (kept, of length 1) of the values where ``where`` is True, and their number.

    ``where`` and ``weights`` have as many axes as ``x`` and broadcast to its shape. Weights are not negative; values
    of weight 0 are ignored, and with weights the number is the sum of the weights. The mean of no values is NaN.

    Example:
        >>> x = jnp.array([1.0, 4.0, jnp.nan])
        >>> mean, count = masked_mean(x, None, 0, jnp.array([2.0, 1.0, 0.0]))
        >>> print(mean, count)
        [2.] [3.]
    """
    if where is None and weights is None:
        count = jnp.full_like(jnp.sum(x, axis=axis, keepdims=True), x.shape[axis])
        return jnp.mean(x, axis=axis, keepdims=True), count
    counted = jnp.bool_(True) if where is None else where
    if weights is not None:
        counted = counted & (weights > 0)
    counted = jnp.broadcast_to(counted, x.shape)
    times, terms = counted.astype(x.dtype), jnp.where(counted, x, jnp.zeros_like(x))
    if weights is not None:  # multiplying by ones instead would sum in another order, and less exactly
        times = jnp.where(counted, weights, jnp.zeros_like(x))
        terms = times * terms
    count, total = (jnp.sum(each, axis=axis, keepdims=True) for each in (times, terms))
    return divide_or_nan(total, count, count == 0), count


def around_most(x: Features, where: Bool[Array, "n 1"] | None) -> Features:
    """Deviations of rows from a robust centre; zero where constant or masked, as in ``deviations``.

    The mean is far from most rows if one row is a thousand times larger than the others, which costs precision. Here
    each row has a weight of one over the fourth power of its distance from the mean. The centre has no gradient, so
    use this only for functions of differences between rows.

    Example:
        >>> print(around_most(jnp.array([[1.0], [2.0], [3.0], [4.0], [1000.0]]), None).round().ravel())
        [ -2.  -1.  -0.   1. 997.]
    """
    found = deviations(jax.lax.stop_gradient(x), where, axis=0)
    squares = jnp.sum(found.values**2, axis=1)
    share = squares / jnp.maximum(jnp.mean(squares), jnp.finfo(x.dtype).tiny)
    weights = 1.0 / (share**2 + rounding(x))
    weights = weights if where is None else jnp.where(where[:, 0], weights, 0.0)
    from_mean = (weights / jnp.maximum(jnp.sum(weights), jnp.finfo(x.dtype).tiny)) @ found.values
    nothing = found.constant if where is None else found.constant | ~where
    return jnp.where(nothing, 0.0, x - (found.mean + from_mean[None]))


def rotated_to_few_columns(x: Features) -> Float[Array, "n d"]:
    """Responses with the same inner products between stimuli, in at most as many columns as there are stimuli.

    Every column then has the rounding error of the longest row, so constant values must be set to zero before.
    Gradients are valid for functions of the inner products, for responses of any rank.
    """
    return x if x.shape[1] <= x.shape[0] else _rotated(x)


@jax.custom_jvp
def _rotated(x: Features) -> Float[Array, "n n"]:
    return qr_coordinates(transposed(x)).T


@_rotated.defjvp
def _rotated_jvp(
    primals: tuple[Features], tangents: tuple[Features]
) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    # The rotation is treated as fixed, because a common rotation of all rows changes no inner product. The derivative
    # of QR itself would divide by the diagonal of R, which has zeros where rows are centred.
    rotation, upper = qr(transposed(primals[0]))
    return upper.T, tangents[0] @ rotation
