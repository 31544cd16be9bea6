"""p values and quantiles by Student's distribution, for differences whose variance was estimated from few units."""

from __future__ import annotations

import numpy as np
from scipy import special

from bsjax.metrics.inference.paired_tests import Alternative


def t_test(
    difference: np.ndarray, variance: np.ndarray, dof: float | np.ndarray | None, alternative: Alternative = "two-sided"
) -> np.ndarray:
    r"""p values of differences whose variances were estimated, by :math:`t = d / \sqrt{V}`.

    Args:
        difference: of two scores, or of a score and a constant.
        variance: of the difference, e.g. over draws.
        dof: degrees of freedom of the variance: one less than the units that it was estimated from; None for a
            variance that is known.
        alternative: what the difference is if it is not zero.

    Returns:
        p values. A difference that is exactly zero with variance zero, as of a model with itself, has t = 0; any other
        with variance zero has no p value but NaN.

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
    """Of Student's distribution; of the normal one without degrees of freedom."""
    return special.ndtri(level) if dof is None else special.stdtrit(dof, level)


def below(t: np.ndarray, dof: float | np.ndarray | None) -> np.ndarray:
    """Probability of a smaller t, with all digits where it is small."""
    return special.ndtr(t) if dof is None else special.stdtr(dof, t)
