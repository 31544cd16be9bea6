"""How a score is put on the scale of its ceiling. Each benchmark names its own; none clips."""

import math
from dataclasses import replace

from bsjax.labelled.score import Score


def explained_variance(score: Score, ceiling: Score) -> Score:
    r"""Share of the explainable variance that is explained: :math:`\operatorname{sign}(r)\, r^2 / c`.

    For a correlation r and a ceiling c that is the reliability of the data, :math:`r(Y, Y)`. The sign of r is kept: a
    model that predicts the opposite does not score (Brain-Score squares it away).

    The error is that of r and of c carried over by the delta method:
    :math:`\sqrt{(2 r / c)^2 \sigma_r^2 + (r^2 / c^2)^2 \sigma_c^2}`.

    Source: Schoppe et al. 2016; Spearman 1904 (correction for attenuation).

    Example:
        >>> explained_variance(Score(-0.3, error=0.01), Score(0.8))
        Score(-0.1125 ± 0.0075, r²/c)
    """
    r, c = score.value, ceiling.value
    return _normalised(score, ceiling, "r²/c", abs(r) * r, c, 2 * r / c if c else math.nan)


def ceil_score(score: Score, ceiling: Score) -> Score:
    """Score over ceiling, ``r/c``, with errors carried over by the delta method.

    Example:
        >>> ceil_score(Score(0.4), Score(0.8))
        Score(0.5000, r/c)
    """
    c = ceiling.value
    return _normalised(score, ceiling, "r/c", score.value, c, 1 / c if c else math.nan)


def r_over_sqrt_ceiling(score: Score, ceiling: Score) -> Score:
    """Correlation over the highest one that noise in the data allows, ``r/√c``; NaN for a ceiling below 0.

    A model without noise correlates with noisy data by at most the square root of their reliability.

    Source: Spearman 1904.

    Example:
        >>> r_over_sqrt_ceiling(Score(0.4), Score(0.64))
        Score(0.5000, r/√c)
    """
    c = ceiling.value
    root = math.sqrt(c) if c >= 0 else math.nan
    return _normalised(score, ceiling, "r/√c", score.value, root, 1 / root if root else math.nan, power=0.5)


def _normalised(
    score: Score,
    ceiling: Score,
    formula: str,
    numerator: float,
    denominator: float,
    slope: float,
    power: float = 1.0,
) -> Score:
    """``numerator / denominator``; ``slope`` is its derivative by the score, ``-power * value / c`` by the ceiling."""
    value = numerator / denominator if denominator else math.nan
    error = None
    if score.error is not None:
        from_ceiling = power * value / ceiling.value * (ceiling.error or 0.0) if ceiling.value else math.nan
        error = math.hypot(slope * score.error, from_ceiling)
    kind = score.error_kind
    if kind and ceiling.error is not None:
        kind += " and the ceiling's, by the delta method"
    return replace(score, value=value, error=error, error_kind=kind, unceiled=score, ceiling=ceiling, formula=formula)
