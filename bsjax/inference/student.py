"""p values and quantiles of Student's t distribution, for variances estimated from few units."""

import numpy as np
from scipy import special

from bsjax.metrics.inference.paired_tests import Alternative


def t_test(
    difference: np.ndarray, variance: np.ndarray, dof: float | np.ndarray | None, alternative: Alternative = "two-sided"
) -> np.ndarray:
    r"""p values of differences with estimated variances, by :math:`t = d / \sqrt{V}`.

    Args:
        difference: of two scores, or of a score and a constant.
        variance: of the difference, e.g. over draws.
        dof: degrees of freedom of the variance: number of units from which it was estimated minus one; None for a
            known variance.
        alternative: the alternative hypothesis on the difference.

    Returns:
        p values. With zero variance, a difference of exactly zero, as between a model and itself, has t = 0, and any
        other difference gives NaN.

    Source: Student 1908; Schütt et al. 2023 for scores.

    Example:
        >>> t_test(np.array([0.2, 0.0]), np.array([0.01, 0.0]), 9).round(4)
        array([0.0766, 1.    ])
    """
    none = ~(variance > 0)
    t = np.where(none, np.where(difference == 0, 0.0, np.nan), difference / np.sqrt(np.where(none, 1.0, variance)))
    if alternative == "two-sided":
        return 2 * below(-np.abs(t), dof)
    return below(-t if alternative == "greater" else t, dof)


def quantile(level: float, dof: float | np.ndarray | None) -> np.ndarray:
    """Quantile of Student's t distribution, or of the normal distribution if ``dof`` is None."""
    return special.ndtri(level) if dof is None else special.stdtrit(dof, level)


def below(t: np.ndarray, dof: float | np.ndarray | None) -> np.ndarray:
    """Probability of a smaller t, accurate in the lower tail."""
    return special.ndtr(t) if dof is None else special.stdtr(dof, t)
