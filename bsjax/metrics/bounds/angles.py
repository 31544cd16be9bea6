"""Intervals of the cosine of two vectors that are known up to errors of bounded length."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.tolerances import rounding
from bsjax.metrics.numerics import nonzero


class Within(NamedTuple):
    """The ends of an interval."""

    low: Float[Array, "..."]
    high: Float[Array, "..."]


def cosine_within(
    a: Float[Array, "m ..."], b: Float[Array, "m ..."], off_a: Float[Array, "..."], off_b: Float[Array, "..."]
) -> Within:
    r"""Interval of the cosine of the angle of any two vectors near ``a`` and ``b``, along the first axis.

    A vector :math:`a'` with :math:`\|a' - a\| \le \epsilon < \|a\|` is at an angle of at most :math:`\delta_a =
    \arcsin(\epsilon / \|a\|)` from ``a``: the tangents from the origin to the ball around ``a`` are at this angle.
    Angles are distances on the sphere, so that by the triangle inequality

    .. math:: |\angle(a', b') - \angle(a, b)| \le \delta_a + \delta_b

    Args:
        a, b: vectors, in float64.
        off_a, off_b: upper bounds of the lengths of their errors; not finite if unknown.

    Returns:
        The ends, within [-1, 1]; this whole interval where an error may be as long as its vector.

    Example:
        >>> a, b = jnp.array([1.0, 0.0]), jnp.array([1.0, 1.0])
        >>> low, high = cosine_within(a, b, jnp.array(0.01), jnp.array(0.0))
        >>> print(f"{low:.3f} {high:.3f}")
        0.700 0.714
    """
    lengths = [jnp.sqrt(jnp.sum(side**2, axis=0)) for side in (a, b)]
    shares = [off / nonzero(length) for off, length in zip((off_a, off_b), lengths, strict=True)]
    known = [(share < 1.0) & (length > 0) for share, length in zip(shares, lengths, strict=True)]
    turn = sum(jnp.arcsin(jnp.where(sure, share, 0.0)) for sure, share in zip(known, shares, strict=True))
    turn = jnp.where(known[0] & known[1], turn, jnp.pi)
    cosine = jnp.sum(a * b, axis=0) / (nonzero(lengths[0]) * nonzero(lengths[1]))
    slack = rounding(a, len(a) + 8)  # of the sums
    angle = jnp.arccos(jnp.clip(jnp.where(jnp.isnan(cosine), 0.0, cosine), -1.0, 1.0))
    low = jnp.where(angle + turn < jnp.pi, jnp.cos(angle + turn) - slack, -1.0)
    high = jnp.where(angle > turn, jnp.cos(angle - turn) + slack, 1.0)
    return Within(jnp.maximum(low, -1.0), jnp.minimum(high, 1.0))
