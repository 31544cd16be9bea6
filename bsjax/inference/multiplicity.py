"""Correction of p values for multiple tests."""

from typing import Literal

import numpy as np
import scipy

Correction = Literal["holm", "fdr", "none"]


def corrected(p: np.ndarray, correction: Correction) -> np.ndarray:
    """Correct the p values of a family of tests.

    Args:
        p: of each test. NaN entries are kept and not counted as tests.
        correction: ``"holm"``: see :func:`holm`; ``"fdr"``: controls the expected share of false claims (Benjamini &
            Hochberg 1995); ``"none"``.

    Example:
        >>> corrected(np.array([0.01, 0.04, 0.03, np.nan]), "fdr")
        array([0.03, 0.04, 0.04,  nan])
    """
    found = np.array(p, float)
    defined = ~np.isnan(found)
    if correction == "holm":
        found[defined] = holm(found[defined])
    elif correction == "fdr" and defined.any():
        found[defined] = scipy.stats.false_discovery_control(found[defined])
    return found


def holm(p: np.ndarray) -> np.ndarray:
    r"""p values corrected by Holm's method, which bounds the probability of any false claim by :math:`\alpha`.

    The k-th smallest of m is multiplied by m - k + 1, and none is smaller than one before it. The tests may depend on
    each other in any way.

    Source: Holm 1979, "A simple sequentially rejective multiple test procedure".

    Example:
        >>> holm(np.array([0.01, 0.04, 0.03]))
        array([0.03, 0.06, 0.06])
    """
    order = np.argsort(p)
    found = np.empty(len(p))
    found[order] = np.minimum(1.0, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return found
