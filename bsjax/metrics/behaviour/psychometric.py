"""Psychometric functions: a cumulative Gaussian fitted to the share of correct answers, and its threshold."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.arrays import Mask, Scalar, Values
from bsjax.metrics.behaviour.cumulative_gaussian import CHANCE, fit_cumulative_gaussian
from bsjax.metrics.numerics import divide_or_nan, is_constant, masked_mean

PerLevel = Float[Array, " n"]

_LEAST_R_SQUARED = 0.4
_LEVELS_PER_KEPT_ONE = 3  # at least one third of the levels must be kept


class PsychometricFit(NamedTuple):
    """A fitted psychometric function; every entry is a scalar.

    Attributes:
        threshold: the level at which the function reaches ``level``; NaN where the fit is rejected.
        level: the share of correct answers that defines the threshold.
        alpha, beta, lapse: slope, midpoint and lapse rate.
        r_squared: :math:`R^2` of the fit on the fitted levels; NaN where all their shares are equal.
        correct: share of correct answers in all trials.
        kept: share of the levels that were fitted.
        greatest: the greatest fitted level.
    """

    threshold: Scalar
    level: Scalar
    alpha: Scalar
    beta: Scalar
    lapse: Scalar
    r_squared: Scalar
    correct: Scalar
    kept: Scalar
    greatest: Scalar


def psychometric_cum_gauss(
    x: Values, alpha: Scalar | float, beta: Scalar | float, lambda_: Scalar | float, gamma: float = CHANCE
) -> Values:
    r"""The psychometric function :math:`\gamma + (1 - \gamma - \lambda)\, \Phi(\alpha (x - \beta))`.

    Args:
        x: the independent variable.
        alpha, beta, lambda_: slope, midpoint and lapse rate.
        gamma: share of correct answers at chance.

    Source: Wichmann & Hill 2001, equation 1.

    Example:
        >>> import jax.numpy as jnp
        >>> print([f"{y:.1f}" for y in psychometric_cum_gauss(jnp.array([-9.0, 1.0, 11.0]), 2.0, 1.0, 0.1)])
        ['0.5', '0.7', '0.9']
    """
    return gamma + (1.0 - gamma - lambda_) * ndtr(alpha * (x - beta))


def inverse_psychometric_cum_gauss(
    y: Values, alpha: Values, beta: Values, lambda_: Values, gamma: float = CHANCE
) -> Values:
    """Level at which ``psychometric_cum_gauss`` reaches ``y``; NaN where it never does.

    Example:
        >>> import jax.numpy as jnp
        >>> print(inverse_psychometric_cum_gauss(*map(jnp.array, (0.7, 2.0, 1.0, 0.1))).round(3))
        1.0
    """
    height = 1.0 - gamma - lambda_
    share = divide_or_nan(y - gamma, height, height == 0)
    # Negated comparisons, so that NaN counts as never reached.
    never = ~((share > 0) & (share < 1) & (alpha != 0))
    z = ndtri(jnp.where(never, jnp.full_like(share, 0.5), share))
    return beta + divide_or_nan(z, alpha, never)


@at_full_precision
def psychometric_threshold(
    x: PerLevel,
    correct: PerLevel,
    trials: PerLevel,
    level: Scalar | None = None,
    *,
    required_accuracy: float = 0.6,
) -> PsychometricFit:
    r"""Fits a psychometric function to the share of correct answers per level, and computes its threshold.

    The share :math:`y_i` of correct answers at level :math:`x_i` is modelled as
    :math:`p_i = 0.5 + (0.5 - \lambda)\, \Phi(\alpha (x_i - \beta))`, with a lapse rate between 0.03 and 0.5. The fit
    minimises :math:`-\sum_i y_i \log p_i + (1 - y_i) \log(1 - p_i)`, which weighs all levels equally, whatever their
    number of trials. Descents start from 50 slopes between 0.001 and 10, each with a midpoint at every level; the one
    with the lowest loss is the fit. Shares that jump from one level to the next are fitted equally well by any steep
    slope; a ridge of 1e-7 on the squared slope (per standard deviation of the levels) selects the shallowest. The ridge
    changes the threshold by a fraction of about 1e-6 where the data determine the slope, and of 1e-4 where they barely
    do.

    Before the fit, levels at which performance falls again are dropped: all levels above the last one whose share is
    less than a standard deviation (of all shares) below the best.

    Args:
        x: levels of the independent variable, without repeats, in any order.
        correct: number of correct trials at each level.
        trials: number of trials at each level; levels without trials are ignored.
        level: the share of correct answers that defines the threshold; if None, halfway between the values of the
            fitted function at the lowest and at the highest level.
        required_accuracy: the least share of correct answers in all trials.

    Returns:
        The fit. Its threshold is NaN, with a zero gradient, where the fit is rejected: too few correct answers, the
        same share at all levels, less than a third of the levels kept, an :math:`R^2` below 0.4, a ``level`` that the
        function does not reach, or a threshold above the greatest level kept. Gradients are those of the optimum
        (implicit function theorem).

    Source: Wichmann & Hill 2001.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.metrics import compiled
        >>> x, trials = jnp.arange(10.0), jnp.full(10, 1000.0)
        >>> correct = trials * psychometric_cum_gauss(x, 0.8, 4.0, 0.05)
        >>> fit = compiled(psychometric_threshold)(x, correct, trials, jnp.array(0.75))
        >>> print(f"{fit.threshold:.3f} {fit.alpha:.2f} {fit.beta:.2f} {fit.lapse:.2f}")
        4.175 0.80 4.00 0.05
    """
    measured = trials > 0
    zeros, ones = jnp.zeros_like(x), jnp.ones_like(x)
    x, correct = (jnp.where(measured, v, zeros) for v in (x, correct))
    y = correct / jnp.where(measured, trials, ones)
    total = jnp.sum(jnp.where(measured, trials, zeros))
    accuracy = divide_or_nan(jnp.sum(correct), total, total == 0)

    kept, greatest = _before_the_fall(x, y, measured)
    alpha, beta, lapse = fit_cumulative_gaussian(x, y, kept)
    p = psychometric_cum_gauss(x, alpha, beta, lapse)
    y_mean, n_kept = masked_mean(y, kept, 0)
    squares, residual = (jnp.sum(jnp.where(kept, d, zeros) ** 2, keepdims=True) for d in (y - y_mean, y - p))
    flat = ~(squares > 0) | is_constant(squares, y_mean, n_kept)
    r_squared = (1.0 - divide_or_nan(residual, squares, flat))[0]
    if level is None:
        beyond = jnp.full_like(x, jnp.inf)
        ends = jnp.stack([jnp.argmin(jnp.where(measured, x, beyond)), jnp.argmax(jnp.where(measured, x, -beyond))])
        level = jnp.mean(p[ends])
    threshold = inverse_psychometric_cum_gauss(level, alpha, beta, lapse)

    share_kept = jnp.sum(kept).astype(x.dtype) / jnp.maximum(jnp.sum(measured), 1).astype(x.dtype)
    accepted = (accuracy >= required_accuracy) & (_LEVELS_PER_KEPT_ONE * jnp.sum(kept) >= jnp.sum(measured))
    accepted &= (r_squared >= _LEAST_R_SQUARED) & (threshold <= greatest)
    threshold = jnp.where(accepted, threshold, jnp.full_like(threshold, jnp.nan))
    return PsychometricFit(threshold, level, alpha, beta, lapse, r_squared, accuracy, share_kept, greatest)


def _before_the_fall(x: PerLevel, y: PerLevel, measured: Mask) -> tuple[Mask, Scalar]:
    """The levels before performance falls for good (as a mask), and the greatest of them."""
    lowest = jnp.full_like(x, -jnp.inf)
    mean, _ = masked_mean(y, measured, 0)
    sd = jnp.sqrt(masked_mean((y - mean) ** 2, measured, 0)[0])
    high = measured & (jnp.max(jnp.where(measured, y, lowest)) - y < sd)
    greatest = jax.lax.stop_gradient(jnp.max(jnp.where(high, x, lowest)))
    return measured & (x <= greatest), greatest
