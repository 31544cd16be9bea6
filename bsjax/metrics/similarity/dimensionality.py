"""Numbers of dimensions of a representation that code for each factor of the stimuli."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.numerics import deviations


@at_full_precision
def factor_shares(
    a: Float[Array, "n p"], b: Float[Array, "n p"], factor: Int[Array, " n"], *, factors: int
) -> Float[Array, " factors_and_residual"]:
    r"""Share of the dimensions of a representation that code for each factor, and for no factor (the residual).

    Row ``i`` of ``a`` and ``b`` are the responses to a pair of stimuli that agree in factor ``f`` and differ in all
    others. The information about ``f`` is common to both responses. Over the pairs of each factor,

    .. math:: s_f = \frac{\sum_u \mathrm{mean}_i\,(a_{iu} - m_{fu})(b_{iu} - m_{fu})}{\sum_u \mathrm{var}_u}

    where :math:`m_{fu}` is the mean over both sides of these pairs, and :math:`\mathrm{var}_u` is the variance of unit
    :math:`u` over all responses. The shares are the softmax of all :math:`s_f` and of 1 for the residual.

    Args:
        a, b: responses to the first and the second stimulus of each pair, ``(pairs, units)``.
        factor: index of the factor that a pair shares, from 0; pairs with an index of ``factors`` or more are ignored.
        factors: number of factors.

    Returns:
        One share per factor, then that of the residual; they sum to 1. The share of a factor without pairs is NaN and
        is not in the sum. All are NaN where the responses are constant.

    Source: Esser, Rombach & Ommer 2020, section 3.

    Example:
        >>> import jax.numpy as jnp
        >>> a, b = jnp.array([[1.0], [-1.0], [1.0], [-1.0]]), jnp.array([[1.0], [-1.0], [-1.0], [1.0]])
        >>> print([f"{share:.2f}" for share in factor_shares(a, b, jnp.array([0, 0, 1, 1]), factors=2)])
        ['0.47', '0.06', '0.47']
    """
    counted = factor < factors
    # Ignored pairs go to an additional segment, which is dropped.
    segment = jnp.where(counted, factor, factors)

    def per_factor(rows: Float[Array, "n ..."]) -> Float[Array, "f ..."]:
        return jax.ops.segment_sum(rows, segment, factors + 1)

    within = deviations(jnp.concatenate([a, b]), jnp.tile(counted, 2)[:, None], 0)
    a, b = within.values[: len(a)], within.values[len(a) :]
    variance = jnp.sum(within.values**2) / jnp.maximum(within.n[0, 0], 1.0)
    constant = jnp.all(within.constant)

    pairs = per_factor(counted.astype(a.dtype))
    means = 0.5 * per_factor(a + b) / jnp.maximum(pairs, 1.0)[:, None]
    common = jnp.sum((a - means[segment]) * (b - means[segment]), axis=1)
    covariance = (per_factor(jnp.where(counted, common, 0.0)) / jnp.maximum(pairs, 1.0))[:-1]
    score = covariance / jnp.where(constant, 1.0, variance)

    present = jnp.append(pairs[:-1] > 0, True)
    logits = jnp.append(score, jnp.ones_like(score[:1]))
    shares = jax.nn.softmax(jnp.where(present, logits, jnp.full_like(logits, -jnp.inf)))
    return jnp.where(present & ~constant, shares, jnp.full_like(shares, jnp.nan))


def whole_units(shares: Float[Array, " f"], *, units: int) -> Float[Array, " f"]:
    """Rounds shares down to whole numbers of units, divided by ``units``; the last share gets the remainder.

    The result is piecewise constant, with a zero gradient.

    Args:
        shares: ``(factors + 1,)``, which sum to 1; the last one is the residual.
        units: number of units.

    Returns:
        The shape of ``shares``, in its dtype.

    Source: Esser, Rombach & Ommer 2020.

    Example:
        >>> import jax.numpy as jnp
        >>> print(whole_units(jnp.array([0.3, 0.3, 0.4]), units=4))
        [0.25 0.25 0.5 ]
    """
    whole = jnp.floor(shares[:-1] * units)
    rest = units - jnp.nansum(whole, keepdims=True)
    return jnp.append(whole, jnp.where(jnp.isnan(shares[-1:]), shares[-1:], rest)) / units
