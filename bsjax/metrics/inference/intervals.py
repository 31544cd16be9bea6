"""Bootstrap confidence intervals: percentile, bias-corrected and accelerated (BCa), and studentised."""

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float

from bsjax.metrics.arrays import Draws, Value
from bsjax.metrics.numerics import divide_or_nan


def percentile_interval(draws: Draws, *, level: float = 0.95) -> Float[Array, "2 ..."]:
    """Percentile interval: equal-tailed quantiles of a statistic over bootstrap draws.

    The interval has the skewness and the bias of the draws: where draws are lower than the statistic, it is too low.

    Args:
        draws: the statistic in each draw; NaN is ignored.
        level: share of the draws inside the interval.

    Returns:
        Lower and upper end, in the dtype of the draws; NaN where no draw is defined.

    Source: Efron & Tibshirani 1993, "An Introduction to the Bootstrap", chapter 13.

    Example:
        >>> print(percentile_interval(jnp.arange(101.0), level=0.9))
        [ 5. 95.]
    """
    return jnp.nanquantile(draws, _tails(draws, level), axis=0)


def bca_interval(value: Value, draws: Draws, acceleration: Value, *, level: float = 0.95) -> Float[Array, "2 ..."]:
    r"""BCa interval: percentiles corrected for the bias of the draws and for a spread that depends on the value.

    With :math:`z_0` the normal quantile of the share of draws below the value, and :math:`a` the acceleration, the
    quantile :math:`\alpha` is replaced by :math:`\Phi\bigl(z_0 + (z_0 + z_\alpha) / (1 - a (z_0 + z_\alpha))\bigr)`.

    Args:
        value: the statistic.
        draws: the statistic in each draw; NaN is ignored.
        acceleration: see :func:`acceleration`.
        level: confidence level.

    Returns:
        Lower and upper end; NaN where the value is outside the range of the draws, so that the correction is undefined.

    Source: Efron 1987, "Better bootstrap confidence intervals".

    Example:
        >>> ends = bca_interval(jnp.array(50.0), jnp.arange(101.0), jnp.array(0.0), level=0.9)
        >>> print(ends.round(2))
        [ 5. 95.]
    """
    defined = ~jnp.isnan(draws)
    count = jnp.sum(defined, axis=0).astype(draws.dtype)
    below = jnp.sum((draws < value[None]) & defined, axis=0).astype(draws.dtype)
    at_most = jnp.sum((draws <= value[None]) & defined, axis=0).astype(draws.dtype)
    share = divide_or_nan(0.5 * (below + at_most), count, count == 0)
    outside = ~((share > 0.0) & (share < 1.0))
    bias = ndtri(jnp.where(outside, 0.5, share))[None]
    tails = ndtri(_tails(draws, level)).reshape(2, *(1,) * value.ndim)
    moved = bias + tails
    levels = ndtr(bias + moved / (1.0 - acceleration[None] * moved))
    ends = _quantiles(draws, jnp.where(jnp.isnan(levels), 0.5, levels))
    return jnp.where(outside[None] | jnp.isnan(levels), jnp.nan, ends)


def studentised_interval(
    value: Value, error: Value, draws: Draws, errors: Draws, *, level: float = 0.95
) -> Float[Array, "2 ..."]:
    r"""Studentised (bootstrap-t) interval.

    It reaches from :math:`\hat\theta - q_{1 - \alpha/2}\,\hat\sigma` to :math:`\hat\theta - q_{\alpha/2}\,\hat\sigma`,
    with quantiles q of :math:`(\theta_b - \hat\theta) / \sigma_b`. Its coverage is second-order accurate, even where
    draws are biased.

    Args:
        value, error: the statistic and its standard error.
        draws, errors: both in each draw; draws without a positive standard error are ignored.
        level: confidence level.

    Returns:
        Lower and upper end.

    Source: Efron & Tibshirani 1993, section 12.5; Davison & Hinkley 1997.

    Example:
        >>> draws = jnp.linspace(-1.0, 1.0, 101)
        >>> ends = studentised_interval(jnp.array(0.0), jnp.array(1.0), draws, jnp.ones(101), level=0.9)
        >>> print(ends.round(2))
        [-0.9  0.9]
    """
    pivots = divide_or_nan(draws - value[None], errors, ~(errors > 0.0))
    low, high = percentile_interval(pivots, level=level)
    return jnp.stack([value - high * error, value - low * error])


def acceleration(influence: Float[Array, "units ..."]) -> Value:
    r"""Acceleration of a BCa interval: :math:`\sum U^3 / 6 (\sum U^2)^{3/2}`.

    It is the rate at which the standard error of a statistic changes with its value.

    Args:
        influence: influence U of each sampling unit on the statistic, by a jackknife or by derivatives, up to a
            common factor.

    Returns:
        The acceleration; 0 where all influences are zero.

    Source: Efron 1987.

    Example:
        >>> print(acceleration(jnp.array([-1.0, 0.0, 1.0])))
        0.0
    """
    squares = jnp.sum(influence**2, axis=0)
    nothing = squares <= 0.0
    length = jnp.where(nothing, 1.0, squares) ** 1.5
    return jnp.where(nothing, 0.0, jnp.sum(influence**3, axis=0) / (6.0 * length))


def _tails(draws: Array, level: float) -> Array:
    return jnp.array([(1.0 - level) / 2.0, (1.0 + level) / 2.0], draws.dtype)


def _quantiles(draws: Draws, levels: Float[Array, "2 ..."]) -> Float[Array, "2 ..."]:
    """Quantiles along the first axis, at separate levels for each element."""
    of_each = jax.vmap(jnp.nanquantile, (1, 1), 1)
    return of_each(draws.reshape(len(draws), -1), levels.reshape(2, -1)).reshape(levels.shape)
