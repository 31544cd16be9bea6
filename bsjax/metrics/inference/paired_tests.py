r"""Tests of paired differences, measured on the same stimuli, neuroids or subjects.

Each function tests any number of differences at once, against zero. To test against another value, subtract it first.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.engine.tolerances import CONSTANT, rounding
from bsjax.metrics.arrays import Values
from bsjax.metrics.resampling.permutation import permutation_p_value

Alternative = Literal["two-sided", "greater", "less"]


def bootstrap_test(draws: Float[Array, " draws *shape"], *, alternative: Alternative = "two-sided") -> Values:
    r"""Bootstrap test of differences: p values from the number of draws on the other side of zero.

    For B draws :math:`d_b`:

    .. math:: p_> = \frac{1 + \#\{d_b \le 0\}}{1 + B}, \qquad p = 2 \min(p_>, p_<)

    With few units the test is too liberal, because draws spread too little and have the tails of a normal
    distribution: with 8 units, it rejects 12 % of true null hypotheses at 0.05.
    ``bsjax.inference.bootstrap.bootstrap_p`` corrects for this.

    Args:
        draws: the difference of the two scores in each draw; NaN is ignored.
        alternative: the alternative hypothesis.

    Returns:
        p values of at least 1 / (B + 1); NaN where no draw is defined.

    Source: Davison & Hinkley 1997, "Bootstrap Methods and their Application", section 4.4.

    Example:
        >>> draws = jnp.concatenate([jnp.full(4, -0.1), jnp.linspace(0.1, 1.0, 195)])
        >>> print(bootstrap_test(draws), bootstrap_test(draws, alternative="greater"))
        0.05 0.025
    """
    p = permutation_p_value(jnp.zeros_like(draws[0]), -draws, alternative=alternative)
    return jnp.where(jnp.all(jnp.isnan(draws), axis=0), jnp.nan, p)


@at_full_precision
def sign_flip_test(
    differences: Float[Array, " units *shape"],
    signs: Float[Array, "flips units"],
    *,
    exact: bool,
    alternative: Alternative = "two-sided",
) -> Values:
    """Sign-flip test of mean differences: each flip exchanges the two models in some units.

    The p values are exact where the differences are symmetric about zero, whatever their distribution. A test of the
    t value would give the same p values, because it orders the flips as the mean does.

    Args:
        differences: differences of each unit, ``(units, ...)``.
        signs: 1 and -1 for each unit in each flip, see :func:`sign_flips`.
        exact: True if ``signs`` holds every flip exactly once, including the identity. Otherwise the identity is added.
        alternative: the alternative hypothesis.

    Returns:
        p values; NaN where a difference is NaN.

    Source: Fisher 1935, "The Design of Experiments".

    Example:
        >>> signs, exact = sign_flips(4)
        >>> print(sign_flip_test(jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.asarray(signs, float), exact=exact))
        0.125
    """
    units = differences.reshape(differences.shape[0], -1)
    total = jnp.sum(units, axis=0)[None]
    flipped = signs @ units
    # Sums that differ only by rounding count as equal.
    least = rounding(units, CONSTANT) * jnp.sum(jnp.abs(units), axis=0)[None]
    if alternative == "two-sided":
        flipped, total = jnp.abs(flipped), jnp.abs(total)
    elif alternative == "less":
        flipped, total = -flipped, -total
    count = jnp.sum(flipped >= total - least, axis=0).astype(units.dtype)
    p = count / len(signs) if exact else (count + 1.0) / (len(signs) + 1.0)
    return jnp.where(jnp.isnan(total[0]), jnp.nan, p).reshape(differences.shape[1:])


def sign_flips(units: int, flips: int = 10_000, seed: int = 0) -> tuple[np.ndarray, bool]:
    """Signs for :func:`sign_flip_test`: all flips if there are at most ``flips`` of them, else random ones.

    Returns:
        Signs 1 and -1, ``(flips, units)`` of dtype int8, and whether they are all possible flips.

    Example:
        >>> signs, exact = sign_flips(3)
        >>> signs.shape, exact, signs[0].tolist()
        ((8, 3), True, [1, 1, 1])
    """
    if units < 63 and 2**units <= flips:
        which = np.arange(2**units)[:, None] >> np.arange(units) & 1
        return (1 - 2 * which).astype(np.int8), True
    return np.random.default_rng(seed).choice(np.array([-1, 1], np.int8), (flips, units)), False


def difference_variances(covariance: Float[Array, "*shape m m"]) -> Float[Array, "*shape m m"]:
    """Variances of the differences between all pairs of scores: V_i + V_j - 2 C_ij.

    Variances within rounding error of zero, as between equal scores, are set to zero.

    Args:
        covariance: covariance of the scores over draws, ``(..., scores, scores)``.

    Example:
        >>> print(difference_variances(jnp.array([[2.0, 1.0], [1.0, 4.0]])))
        [[0. 4.]
         [4. 0.]]
    """
    each = jnp.diagonal(covariance, axis1=-2, axis2=-1)
    sums = each[..., :, None] + each[..., None, :]
    found = sums - covariance - jnp.swapaxes(covariance, -1, -2)
    return jnp.where(found <= rounding(found, CONSTANT) * sums, 0.0, found)
