"""Quadratic forms of ridge residuals, by partial fractions: two matrix products for all penalties."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bsjax.engine.programs.fallbacks import cond
from bsjax.engine.tolerances import NEAR_POWER, rounding
from bsjax.metrics.numerics import nonzero

Penalties = Float[Array, " penalties"]


def all_penalties(
    columns: Float[Array, "k r"], gram: Float[Array, "k k"], values: Float[Array, " k"], alphas: Penalties
) -> Float[Array, "penalties r"]:
    r"""Sums over all pairs of eigenvalues, for every penalty and column.

    .. math:: f_i(\alpha) = \sum_{kl} \frac{C_{ki}\, G_{kl}\, C_{li}}{(e_k + \alpha)(e_l + \alpha)}

    With :math:`d_k = 1 / (e_k + \alpha)`, a pair of distinct eigenvalues separates as
    :math:`d_k d_l = (d_k - d_l) / (e_l - e_k)`, so the sum over :math:`l` no longer depends on the penalty. For nearly
    equal eigenvalues this difference cancels, and :math:`(d_k^2 + d_l^2) / 2` is used instead. The threshold between
    the two balances their errors, at the rounding error to the power 2/3 (4e-11 in float64, 2e-5 in float32).

    Args:
        columns: C.
        gram: G, symmetric.
        values: eigenvalues e, not negative.
        alphas: penalties, positive.
    """
    values, gram, columns = jnp.asarray(values), jnp.asarray(gram), jnp.asarray(columns)
    distance = values[None, :] - values[:, None]
    middle = 0.5 * (values[None, :] + values[:, None]) + jnp.min(alphas)
    near = jnp.abs(distance) <= rounding(values, power=NEAR_POWER) * middle
    zero = jnp.zeros_like(gram)
    apart = columns * (jnp.where(near, zero, gram / jnp.where(near, jnp.ones_like(distance), distance)) @ columns)
    close = columns * cond(
        jnp.sum(near) > len(values),  # the diagonal is always near
        lambda: jnp.where(near, gram, zero) @ columns,
        lambda: jnp.diagonal(gram)[:, None] * columns,
    )
    inverse = 1.0 / (values[None, :] + alphas[:, None])
    return 2.0 * _differences(inverse, values, alphas, jnp.sum(close, axis=1)) @ apart + inverse**2 @ close


def _differences(
    inverse: Float[Array, "penalties k"], values: Float[Array, " k"], alphas: Penalties, energy: Float[Array, " k"]
) -> Float[Array, "penalties k"]:
    """``d_k - d_c``, with the reference ``c`` a mean eigenvalue weighted by the contributions to the sum."""
    # The constant d_c cancels in all differences. Where the penalty exceeds the eigenvalues, all d_k are nearly equal,
    # and subtracting it preserves the digits in which they differ.
    weight = inverse**2 * jnp.abs(energy)[None, :]
    centre = weight @ values / nonzero(jnp.sum(weight, axis=1))
    return (centre[:, None] - values[None, :]) * inverse / (centre + alphas)[:, None]
