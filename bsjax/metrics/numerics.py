"""Guards against division by zero, shared by every kernel.

An undefined value (a constant unit, an empty half) is NaN, with gradients that stay finite: each guard swaps the
degenerate operand for a harmless one *before* the operation and puts NaN in its place afterwards, because the
gradient of ``where(bad, nan, a / b)`` is itself NaN when ``b`` is zero.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bsjax.engine.primitives.decompositions import qr, qr_coordinates
from bsjax.engine.primitives.products import transposed
from bsjax.engine.tolerances import CANCELLED as CANCELLED
from bsjax.engine.tolerances import CONSTANT, rounding


def divide_or_nan(
    numerator: Float[Array, "*shape"], denominator: Float[Array, "*shape"], undefined: Bool[Array, "*shape"]
) -> Float[Array, "*shape"]:
    """``numerator / denominator``, and NaN with a zero gradient where ``undefined``."""
    quotient = numerator / jnp.where(undefined, jnp.ones_like(denominator), denominator)
    return jnp.where(undefined, jnp.full_like(quotient, jnp.nan), quotient)


def nonzero(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """``x``, and 1 where it is not above zero: a denominator of what is zero there, or is not used."""
    return jnp.where(x > 0, x, jnp.ones_like(x))


def safe_sqrt(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """The square root, 0 with a zero gradient where ``x`` is not above zero, and NaN of NaN with one as well."""
    root = jnp.where(x > 0, jnp.sqrt(nonzero(x)), jnp.zeros_like(x))
    return jnp.where(jnp.isnan(x), jnp.full_like(x, jnp.nan), root)


def inverse_root(x: Float[Array, "*shape"], mask: Bool[Array, "*shape"]) -> Float[Array, "*shape"]:
    """``1 / sqrt(x)`` of what the mask marks, 0 with a zero gradient elsewhere."""
    return jnp.where(mask, 1.0 / jnp.sqrt(jnp.where(mask, x, jnp.ones_like(x))), jnp.zeros_like(x))


def unit_length(vectors: Float[Array, "*batch m"]) -> Float[Array, "*batch m"]:
    """Vectors along the last axis at length one, or as they are where they are zero.

    Scaled by the largest entry first, so that squares of float32 neither overflow nor underflow.
    """
    scaled = vectors / nonzero(jnp.max(jnp.abs(vectors), axis=-1, keepdims=True))
    return scaled / jnp.sqrt(nonzero(jnp.sum(scaled**2, axis=-1, keepdims=True)))


def is_constant(
    sum_of_squares: Float[Array, "*shape"], mean: Float[Array, "*shape"], count: Float[Array, "..."]
) -> Bool[Array, "*shape"]:
    """Whether so many centred values with this sum of squares are constant up to the rounding of their mean.

    An exact test against zero does not do: the mean of ``n`` equal numbers is often off by an ulp, and what is left
    after centring is noise that correlates with nothing.
    """
    return sum_of_squares <= count * (rounding(sum_of_squares, CONSTANT) * jnp.abs(mean)) ** 2


class Deviations(NamedTuple):
    """Values without their mean, exactly zero where they are constant or do not count, and what they are made from."""

    values: Float[Array, "..."]
    squares: Float[Array, "..."]
    mean: Float[Array, "..."]
    n: Float[Array, "..."]
    constant: Bool[Array, "..."]


def deviations(x: Float[Array, "..."], where: Bool[Array, "..."] | None, axis: int) -> Deviations:
    """Deviations from the mean over ``axis``, for all that divides by their length or forms products of them.

    Centring leaves rounding of values that are constant but not exact in binary, such as 0.1. It is set to zero here,
    or the division would make it as large as what varies.

    Args:
        x: the values.
        where: as of ``masked_mean``.
        axis: the axis of what is constant or varies.

    Returns:
        ``values`` in the shape of ``x``; their sums of ``squares``, the ``mean``, how many values count, and which are
        ``constant`` with ``axis`` of length 1.

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
    x: Float[Array, "..."],
    where: Bool[Array, "..."] | None,
    axis: int,
    weights: Float[Array, "..."] | None = None,
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Mean over ``axis`` (kept, of length 1) of the values that ``where`` marks, and how many those are.

    ``where`` and ``weights`` have the rank of ``x`` and lengths that broadcast with it. A weight, from 0 up, says how
    often a value counts; what has none may be anything. The mean of nothing is NaN.

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
    if weights is not None:  # a product by ones would sum equal values in another order, and less exactly
        times = jnp.where(counted, weights, jnp.zeros_like(x))
        terms = times * terms
    count, total = (jnp.sum(each, axis=axis, keepdims=True) for each in (times, terms))
    return divide_or_nan(total, count, count == 0), count


def around_most(x: Float[Array, "n p"], where: Bool[Array, "n 1"] | None) -> Float[Array, "n p"]:
    """Deviations of rows from a centre that is near most of them, zero as in ``deviations``.

    For what depends on the differences of rows alone: the centre has no gradient. A row that is a thousand times the
    others moves their mean far from all of them, which costs their digits. Here each counts by one over the fourth
    power of its distance from the mean.

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


def rotated_to_few_columns(x: Float[Array, "n p"]) -> Float[Array, "n d"]:
    """Responses with the same inner products between stimuli, in at most as many columns as there are stimuli.

    The rounding of every column is then that of the longest row, so what is constant is to be zero before. Gradients
    are those of functions of the inner products, which exist for responses of any rank.
    """
    return x if x.shape[1] <= x.shape[0] else _rotated(x)


@jax.custom_jvp
def _rotated(x: Float[Array, "n p"]) -> Float[Array, "n n"]:
    return qr_coordinates(transposed(x)).T


@_rotated.defjvp
def _rotated_jvp(
    primals: tuple[Float[Array, "n p"]], tangents: tuple[Float[Array, "n p"]]
) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    # To first order a rotation of all rows alike changes no inner product: it is taken as fixed. That of QR itself
    # would divide by the diagonal of R, which has zeros where rows are centred.
    rotation, upper = qr(transposed(primals[0]))
    return upper.T, tangents[0] @ rotation
