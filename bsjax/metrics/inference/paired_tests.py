r"""Tests of differences that were measured on the same stimuli, neuroids or subjects.

They are of any number of differences at a time. Against a value other than zero, that value is taken off first.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bsjax.engine.precision import at_full_precision
from bsjax.metrics.resampling.permutation import permutation_p_value

Alternative = Literal["two-sided", "greater", "less"]
_ROUNDING_ERRORS = 8.0


def bootstrap_test(
    draws: Float[Array, " draws *shape"], *, alternative: Alternative = "two-sided"
) -> Float[Array, "*shape"]:
    r"""p values of differences from their values in draws: how many of B draws are on the other side of zero.

    .. math:: p_> = \frac{1 + \#\{d_b \le 0\}}{1 + B}, \qquad p = 2 \min(p_>, p_<)

    Draws of few units spread too little, and have the tails of a normal distribution: of 8 units, this test rejects
    12 % at 0.05. ``bsjax.inference.bootstrap.bootstrap_p`` corrects for that.

    Args:
        draws: the difference of both scores in each draw; NaN is left out.
        alternative: what the difference is if it is not zero.

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
) -> Float[Array, "*shape"]:
    """p values of mean differences, from those whose units have their signs flipped: one model taken for the other.

    They are exact where the differences are symmetric about zero, whatever their distribution. The mean orders the
    flips as its t value does.

    Args:
        differences: of each unit.
        signs: 1 and -1 for each unit in each flip, see :func:`sign_flips`.
        exact: whether ``signs`` holds every flip once, that of no unit among them. Else it is counted in.
        alternative: what the mean is if it is not zero.

    Returns:
        p values; NaN where a difference is.

    Source: Fisher 1935, "The Design of Experiments".

    Example:
        >>> signs, exact = sign_flips(4)
        >>> print(sign_flip_test(jnp.array([1.0, 2.0, 3.0, 4.0]), jnp.asarray(signs, float), exact=exact))
        0.125
    """
    units = differences.reshape(differences.shape[0], -1)
    total = jnp.sum(units, axis=0)[None]
    flipped = signs @ units
    # Sums of the same numbers in another order are the same.
    rounding = _ROUNDING_ERRORS * float(jnp.finfo(units.dtype).eps) * jnp.sum(jnp.abs(units), axis=0)[None]
    if alternative == "two-sided":
        flipped, total = jnp.abs(flipped), jnp.abs(total)
    elif alternative == "less":
        flipped, total = -flipped, -total
    count = jnp.sum(flipped >= total - rounding, axis=0).astype(units.dtype)
    p = count / len(signs) if exact else (count + 1.0) / (len(signs) + 1.0)
    return jnp.where(jnp.isnan(total[0]), jnp.nan, p).reshape(differences.shape[1:])


def sign_flips(units: int, flips: int = 10_000, seed: int = 0) -> tuple[np.ndarray, bool]:
    """Signs for :func:`sign_flip_test`: every flip if there are no more than asked for, else so many random ones.

    Returns:
        1 and -1, ``(flips, units)`` of dtype int8; whether every flip is there.

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

    What is left of equal scores is rounding, and is set to zero.

    Args:
        covariance: of the scores over draws, which holds what pairing takes off.

    Example:
        >>> print(difference_variances(jnp.array([[2.0, 1.0], [1.0, 4.0]])))
        [[0. 4.]
         [4. 0.]]
    """
    each = jnp.diagonal(covariance, axis1=-2, axis2=-1)
    sums = each[..., :, None] + each[..., None, :]
    found = sums - covariance - jnp.swapaxes(covariance, -1, -2)
    return jnp.where(found <= _ROUNDING_ERRORS * float(jnp.finfo(found.dtype).eps) * sums, 0.0, found)
