"""p values and intervals from draws of few units, corrected for what such draws lack, also far out in the tails."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from scipy import special

from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.inference.student import below, quantile
from bsjax.metrics.inference.paired_tests import Alternative, bootstrap_test

# Shares below this are those of a normal tail through the quantile at this share: 25 of 1,000 draws are counted well.
_TAIL = 0.025


def bootstrap_p(draws: np.ndarray, dof: float | None, alternative: Alternative = "two-sided") -> np.ndarray:
    r"""p values of differences from their values in draws, by the share of draws on the other side of zero.

    That share says little where no draw is there, as of 1,000 where 28 pairs of models are corrected for. So a share
    below 0.025 is that of the normal tail through the draws' quantile at 0.025, on their side of the median:
    :math:`\Phi(z_{0.025}\, m / (m - q_{0.025}))` of the median m. At 0.05, two-sided, both agree.

    Draws of n units spread by :math:`\sqrt{(n - 1) / n}` of what the mean of other units would, and their tails are
    those of a normal distribution where Student's are right. Of 8 units, the share alone rejects 12 % at 0.05. The p
    value is the level at which the *expanded* percentile interval ends at zero.

    Args:
        draws: the difference in each draw, ``(draws, differences)``.
        dof: one less than the units that were drawn; None for as many that nothing is lacking.
        alternative: what the difference is if it is not zero.

    Returns:
        p values; NaN where all draws are the same, and not zero.

    Source: Hesterberg 2015, "What teachers should know about the bootstrap"; Davison & Hinkley 1997.

    Example:
        >>> draws = np.linspace(-0.3, 1.2, 1001)[:, None]
        >>> bootstrap_p(draws, None).round(3), bootstrap_p(draws, 9).round(3), bootstrap_p(draws + 2, None) < 1e-8
        (array([0.403]), array([0.448]), array([ True]))
    """
    if alternative == "two-sided":
        sides = [bootstrap_p(draws, dof, side) for side in ("greater", "less")]
        return np.minimum(1.0, 2 * np.minimum(*sides))
    with precision() as dtype:
        counted = np.asarray(compiled(bootstrap_test, alternative=alternative)(jnp.asarray(draws, dtype)), float)
    end, median = np.quantile(draws, [_TAIL if alternative == "greater" else 1 - _TAIL, 0.5], axis=0)
    far = counted < _TAIL
    reach = np.where(far & (median != end), median - end, np.nan)
    z = np.where(far, special.ndtri(_TAIL) * median / reach, special.ndtri(np.where(far, 0.5, counted)))
    return below(z if dof is None else z * np.sqrt(dof / (dof + 1)), dof)


def expanded_interval(draws: np.ndarray, dof: float | None, level: float) -> np.ndarray:
    """Lower and upper ends ``(2, differences)`` of the percentile interval that is expanded for few units.

    Its tails are the shares of a normal distribution beyond :math:`\\sqrt{n / (n - 1)}` times Student's quantile, and
    those below 0.025 are normal, as in :func:`bootstrap_p`: zero is outside where that p value is below 1 - ``level``.

    Args:
        draws, dof: as for :func:`bootstrap_p`.
        level: of the interval.

    Source: Hesterberg 2015.

    Example:
        >>> expanded_interval(np.linspace(0.0, 1.0, 1001)[:, None], 9, 0.95).round(3).ravel()
        array([-0.078,  1.078])
    """
    outer = quantile((1 + level) / 2, dof)
    z = outer if dof is None else outer * np.sqrt((dof + 1) / dof)
    tail = max(special.ndtr(-z), _TAIL)
    low, median, high = np.quantile(draws, [tail, 0.5, 1 - tail], axis=0)
    reach = max(1.0, -z / special.ndtri(_TAIL))
    return median + reach * (np.stack([low, high]) - median)
