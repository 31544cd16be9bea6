"""Normalisations of a score by its ceiling, by name. Each benchmark names its own.

The delta method carries the errors of the score and of the ceiling over. If both have draws of the same stimuli,
neuroids or subjects, each draw is normalised by its own ceiling. A time-resolved score is divided by the ceiling of
each time bin, or by one ceiling for all.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.labels import remedy
from bsjax.core.registry import UnknownIdentifier
from bsjax.labelled.aggregate import error_over, mean_score, nan_mean
from bsjax.labelled.align import coordinate, listed, more_than_once
from bsjax.labelled.score import Score, as_score
from bsjax.labelled.uncertainty import Function, as_value, carried_over, derivatives

Normalisation = Callable[[Score, Score], Score]


def _signed_square_over(r: Any, c: Any) -> Any:
    return abs(r) * r / c


class Limit(NamedTuple):
    """A formula of normalisation by the ceiling c, and the unnormalised score of a perfect model.

    Attributes:
        words: the unnormalised score that becomes 1: "c", or "√c" if the ceiling is a reliability.
        power: exponent of the growth of that score with the ceiling; NaN if it depends on more than the ceiling.
        of: the normalised score as a function of a score and a positive ceiling, both measured from chance.
        by_neuroid: whether each neuroid is normalised by its own ceiling, so that ``raw`` holds normalised values.

    Example:
        >>> LIMITS["r²/c"].before(0.64), LIMITS["r²/c"].of(0.5, 0.5)
        (0.8, 0.5)
    """

    words: str
    power: float
    of: Function
    by_neuroid: bool = False

    def before(self, ceiling: Any) -> Any:
        """The unnormalised score that becomes 1, for a ceiling or an array of ceilings; NaN below 0."""
        known = np.where(np.less(ceiling, 0), math.nan, ceiling)
        found = np.sqrt(known) if self.words == "√c" else known
        return found if np.ndim(ceiling) else float(found)


LIMITS = {
    "r/c": Limit("c", 1.0, lambda r, c: r / c),
    "(r/c)²": Limit("c", 2.0, lambda r, c: abs(r / c) * r / c),
    "(r-k)/(c-k)": Limit("c", math.nan, lambda r, c: r / c),
    "r²/c": Limit("√c", 1.0, _signed_square_over),
    "mean of r²/c": Limit("√c", 1.0, _signed_square_over, by_neuroid=True),
    "r/√c": Limit("√c", 0.5, lambda r, c: r / c**0.5),
}
"""Limits by the formula of the score."""


def explained_variance(score: Score, ceiling: Score) -> Score:
    r"""Share of the explainable variance that is explained: :math:`\operatorname{sign}(r)\, r^2 / c`.

    Here r is a correlation and the ceiling c is the reliability of the data, :math:`r(Y, Y)`. The sign of r is kept, so
    that a model which predicts the opposite does not score (Brain-Score squares the sign away). The score is NaN for a
    ceiling of 0 or below, which would flip the sign.

    The error is that of r and of c carried over by the delta method:
    :math:`\sqrt{(2 r / c)^2 \sigma_r^2 + (r^2 / c^2)^2 \sigma_c^2}`.

    Source: Schoppe et al. 2016; Spearman 1904 (correction for attenuation).

    Example:
        >>> explained_variance(Score(-0.3, error=0.01), Score(0.8))
        Score(-0.1125 ± 0.0075, r²/c)
    """
    return _normalised(score, ceiling, "r²/c")


def ceil_score(score: Score, ceiling: Score) -> Score:
    """Score over ceiling, ``r/c``; NaN for a ceiling of 0 or below, which would flip the sign.

    Args:
        score: the score before normalisation.
        ceiling: its ceiling.

    Example:
        >>> ceil_score(Score(0.4), Score(0.8))
        Score(0.5000, r/c)
    """
    return _normalised(score, ceiling, "r/c")


def r_over_sqrt_ceiling(score: Score, ceiling: Score) -> Score:
    """Correlation over the highest correlation that noise in the data allows, ``r/√c``; NaN for a ceiling <= 0.

    A noise-free model correlates with noisy data by at most the square root of their reliability.

    Source: Spearman 1904.

    Example:
        >>> r_over_sqrt_ceiling(Score(0.4), Score(0.64))
        Score(0.5000, r/√c)
    """
    return _normalised(score, ceiling, "r/√c")


def squared_ceil_score(score: Score, ceiling: Score) -> Score:
    r"""Square of score over ceiling, :math:`\operatorname{sign}(r)\, (r/c)^2`; NaN for a ceiling of 0 or below.

    This is the share of explained variance if the ceiling c is itself a correlation with the noise-free response, such
    as a leave-one-out RSA ceiling.

    Example:
        >>> squared_ceil_score(Score(0.4), Score(0.8))
        Score(0.2500, (r/c)²)
    """
    return _normalised(score, ceiling, "(r/c)²")


def chance_corrected(score: Score, ceiling: Score, *, chance: float) -> Score:
    r"""Score over ceiling, both measured from chance: :math:`(r - k) / (c - k)`; NaN for a ceiling at chance or below.

    Args:
        chance: the score of guessing, e.g. 1/3 for the odd one out of three.

    Example:
        >>> chance_corrected(Score(0.5), Score(2 / 3), chance=1 / 3)
        Score(0.5000, (r-k)/(c-k))
    """
    return _normalised(score, ceiling, "(r-k)/(c-k)", chance)


def neuroid_wise_explained_variance(score: Score, ceiling: Score) -> Score:
    r"""Mean over neuroids of the explained variance of each, :math:`\operatorname{sign}(r_i)\, r_i^2 / c_i`.

    :math:`r_i` and :math:`c_i` are the means over splits of the neuroid's raw values, matched by ``neuroid_id``. A
    neuroid without a correlation, or with a ceiling of 0 or below, is left out and counted in ``n_undefined``. A
    time-resolved score has one mean per time bin.

    Returns:
        A score whose ``raw`` has one value per neuroid, and whose error is the standard error of their mean.

    Raises:
        ValueError: raw values are missing, the neuroids or time bins of the two differ, or a ``neuroid_id`` repeats.

    Example:
        >>> import xarray as xr
        >>> neuroids = {"neuroid_id": ("neuroid", ["a", "b"])}
        >>> r = Score(0.5, raw=xr.DataArray([0.4, 0.6], coords=neuroids, dims=["neuroid"]))
        >>> c = Score(0.8, raw=xr.DataArray([[0.8, 0.9]], coords=neuroids, dims=["split", "neuroid"]))
        >>> neuroid_wise_explained_variance(r, c)
        Score(0.3000 ± 0.1000 [-0.9706, 1.5706], mean of r²/c)
    """
    r, c = _by_neuroid(score, ceiling)
    made: dict[str, Any] = {
        "unceiled": score,
        "ceiling": ceiling,
        "n_units": r.sizes["neuroid"],
        "provenance": score.provenance,
    }
    each = LIMITS["mean of r²/c"].of(r.values, _positive(c.values))
    return mean_score(r.copy(data=each), "neuroid", formula="mean of r²/c", **made)


def noise_corrected_explained_variance(score: Score, ceiling: Score) -> Score:
    r"""Median over neuroids of the explained variance of each, with r² corrected for noise as well.

    .. math:: \operatorname{sign}(r_i)\, \frac{r_i^2 - b_i}{c_i}, \qquad b_i = \frac{1 - c_i}{m_i - 1}

    :math:`r_i` is the mean over splits of the correlation of the predictions with the trial averages of m stimuli, and
    :math:`c_i` is the reliability of these averages. Noise adds :math:`b_i` to :math:`r^2`, whatever the prediction, so
    that r²/c is too large; this matters with few stimuli and strong noise. For one prediction of all stimuli, this is
    the estimator of Pospisil & Bair, with the sign of r kept. For a mean over splits it is the same, up to how often
    each stimulus is tested.

    A correlation that noise alone explains has no reliable sign. Where :math:`r_i^2 < 2 b_i`, the score is therefore
    the line from there to the origin, :math:`r_i \sqrt{b_i / 2} / c_i`, so that a higher correlation never scores
    lower. Nothing is clipped.

    Args:
        score: with correlations per neuroid in ``raw``.
        ceiling: from ``load_ceiling("noise_ceiling_snr")``, for as many trials as the score averages; its ``raw``
            holds :math:`c_i`, with :math:`m_i` as the coordinate ``n_stimuli``.

    Returns:
        A score whose ``raw`` has one value per neuroid, and whose error is that of their median by a bootstrap over
        neuroids. A neuroid without a correlation, or with a ceiling of 0 or below, is left out and counted in
        ``n_undefined``.

    Raises:
        ValueError: raw values or ``n_stimuli`` are missing, the neuroids or time bins of the two differ, or a
            ``neuroid_id`` repeats.

    Source: Pospisil & Bair 2021, "The unbiased estimation of the fraction of variance explained by a model".

    Example:
        >>> neuroids = {"neuroid_id": ("neuroid", ["a", "b"])}
        >>> r = Score(0.5, raw=xr.DataArray([0.4, 0.6], coords=neuroids, dims=["neuroid"]))
        >>> neuroids["n_stimuli"] = ("neuroid", [11, 11])
        >>> c = Score(0.8, raw=xr.DataArray([0.8, 0.9], coords=neuroids, dims=["neuroid"]))
        >>> noise_corrected_explained_variance(r, c).raw.values.round(4).tolist()
        [0.175, 0.3889]
    """
    r, c = _by_neuroid(score, ceiling)
    if "n_stimuli" not in c.coords:
        raise ValueError(
            "noise_corrected_explained_variance needs a ceiling that says how many stimuli each neuroid has (the "
            "coordinate 'n_stimuli' of its raw values): take load_ceiling('noise_ceiling_snr')"
        )
    reliable = _positive(c.values)
    by_noise = (1 - reliable) / (c["n_stimuli"].values - 1)
    square, line = r.values**2, r.values * np.sqrt(by_noise / 2)
    each = np.where(square < 2 * by_noise, line, np.sign(r.values) * (square - by_noise)) / reliable
    made: dict[str, Any] = {
        "unceiled": score,
        "ceiling": ceiling,
        "n_units": r.sizes["neuroid"],
        "provenance": score.provenance,
    }
    how: dict[str, Any] = {"center": "median", "kind": "bootstrap", "formula": "median of (r²-(1-c)/(m-1))/c"}
    return mean_score(r.copy(data=each), "neuroid", **how, **made)


def each_split_over_sqrt_ceiling(score: Score, ceiling: Score) -> Score:
    r"""Mean over splits of :math:`r_s / \sqrt{c_s}`, each with the ceiling of the same split.

    Splits without a value are left out. Splits with a ceiling of 0 or below cannot be left out, because the ceilings of
    the others would be too high on average. If there is one, the means over splits are normalised instead, as by
    ``r_over_sqrt_ceiling``.

    Args:
        score, ceiling: with one value per split in ``raw``.

    Returns:
        A score whose ``raw`` holds the ratios, and whose error is their population standard deviation, as in
        Brain-Score. Random halves of the same trials are not independent estimates, so that it has an interval only in
        draws: that of the mean over splits, normalised as by ``r_over_sqrt_ceiling``.

    Raises:
        ValueError: raw values are missing, or are of other splits.

    Source:
        Spearman (1904), American Journal of Psychology.

    Example:
        >>> def splits(*values):
        ...     return Score(sum(values) / 2, raw=xr.DataArray([*values], dims=["split"], coords={"split": [0, 1]}))
        >>> each_split_over_sqrt_ceiling(splits(0.4, 0.3), splits(0.64, 0.36))
        Score(0.5000 ± 0.0000, mean of r/√c)
    """
    raw = []
    for each, what in ((score, "the score"), (ceiling, "the ceiling")):
        if each.raw is None or each.raw.dims != ("split",):
            raise ValueError(f"{what} needs one raw value a split; its raw is {getattr(each.raw, 'dims', None)}")
        raw.append(each.raw)
    r, c = raw
    if r.sizes != c.sizes or not np.array_equal(r["split"].values, c["split"].values):
        raise ValueError(f"score and ceiling have other splits: {r['split'].values} and {c['split'].values}")
    of_means = r_over_sqrt_ceiling(score, ceiling)
    if (c.values <= 0).any():
        return of_means
    ratios = r.values / np.sqrt(c.values)
    value, known = float(nan_mean(ratios)), of_means.uncertainty
    spread = error_over(ratios, "splits of the trials", kind="standard deviation")
    if known is not None and known.draws is not None:
        moved = known.draws + (value - float(of_means))
        spread = {"error": None, "error_kind": "", "uncertainty": replace(known, draws=moved)}
    return replace(
        score,
        value=value,
        **spread,
        raw=r.copy(data=ratios),
        unceiled=score,
        ceiling=ceiling,
        formula="mean of r/√c",
    )


def bound_score(score: Score, *, lower: float = 0.0, upper: float = 1.0) -> Score:
    """The score, clipped to ``[lower, upper]``.

    The formula names the bounds, and ``provenance.details["unbounded"]`` keeps the original value. bsjax never bounds a
    score by default. NaN stays NaN.

    Example:
        >>> score = bound_score(Score(1.2, formula="r/c"))
        >>> score, score.provenance["unbounded"]
        (Score(1.0000, r/c, bounded to [0, 1]), 1.2)
    """
    return replace(
        score,
        value=np.clip(score.value, lower, upper),
        formula=f"{score.formula}, bounded to [{lower:g}, {upper:g}]".removeprefix(", "),
        provenance=score.provenance.with_details(unbounded=np.asarray(score.value).tolist()),
    )


NORMALISATIONS: dict[str, Normalisation] = {
    "explained_variance": explained_variance,
    "neuroid_wise_explained_variance": neuroid_wise_explained_variance,
    "noise_corrected_explained_variance": noise_corrected_explained_variance,
    "ceil_score": ceil_score,
    "r_over_sqrt_ceiling": r_over_sqrt_ceiling,
    "squared_ceil_score": squared_ceil_score,
    "each_split_over_sqrt_ceiling": each_split_over_sqrt_ceiling,
}


def normalisation_named(name: str) -> Normalisation:
    """A normalisation by its name.

    Raises:
        KeyError: an unknown name; the message lists the known ones.

    Example:
        >>> normalisation_named("ceil_score") is ceil_score
        True
    """
    if name not in NORMALISATIONS:
        raise UnknownIdentifier(f"unknown normalisation {name!r}; there are {', '.join(NORMALISATIONS)}")
    return NORMALISATIONS[name]


def _numbers(score: Score, ceiling: Score) -> tuple[np.ndarray, np.ndarray]:
    """Values of both as arrays; a ceiling without time bins applies to all."""
    if ceiling.sizes and ceiling.sizes != score.sizes:
        raise ValueError(f"the ceiling has {ceiling.sizes}, the score has {score.sizes or 'a single value'}")
    if isinstance(score.value, xr.DataArray) and isinstance(ceiling.value, xr.DataArray):
        for name in set(score.value.coords) & set(ceiling.value.coords):
            if not np.array_equal(score.value[name].values, ceiling.value[name].values):
                raise ValueError(
                    f"score and ceiling differ in {name!r}: {score.value[name].values.tolist()} and "
                    f"{ceiling.value[name].values.tolist()}"
                )
    return np.asarray(score.value, float), np.asarray(ceiling.value, float)


def _positive(ceiling: np.ndarray) -> np.ndarray:
    """The ceilings, NaN where they are 0 or below."""
    return np.where(ceiling > 0, ceiling, np.nan)


def _per_neuroid(score: Score, what: str) -> xr.DataArray:
    """Raw values ``([time_bin,] neuroid)``: the mean over splits."""
    if score.raw is None or "neuroid" not in score.raw.dims:
        raise ValueError(f"{what} has no raw value per neuroid; its raw is {getattr(score.raw, 'dims', None)}")
    others = [dim for dim in score.raw.dims if dim not in ("neuroid", *score.sizes)]
    return (score.raw.mean(others) if others else score.raw).transpose(..., "neuroid")


def _by_neuroid(score: Score, ceiling: Score) -> tuple[xr.DataArray, xr.DataArray]:
    """Raw values of both per neuroid (and time bin), in the order of the score's neuroids."""
    _numbers(score, ceiling)  # refuses other time bins
    r, c = _per_neuroid(score, "the score"), _per_neuroid(ceiling, "the ceiling")
    ids, theirs = (coordinate(raw, "neuroid_id", "neuroid", "raw") for raw in (r, c))
    if np.array_equal(ids, theirs):
        return r, c
    names = ("the score's raw", "the ceiling's")
    if repeated := more_than_once(ids, theirs, names, "neuroid_id"):
        raise ValueError(f"neuroids cannot be matched with their ceilings by neuroid_id: {'; '.join(repeated)}")
    at = pd.Index(theirs).get_indexer(pd.Index(ids))
    if (missing := ids[at < 0]).size:
        what_to_do = remedy(ids, theirs, names, "neuroid_id")
        raise ValueError(f"the ceiling has no value for {listed(missing, 'neuroid_id')}. {what_to_do}")
    return r, c.isel(neuroid=at)


def _normalised(score: Score, ceiling: Score, formula: str, chance: float = 0.0) -> Score:
    """The formula applied to a score and its ceiling, and to each of their draws, with both errors carried over."""
    score, ceiling = as_score(score, "the score"), as_score(ceiling, "the ceiling")
    of = LIMITS[formula].of

    def function(r: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.asarray(of(r - chance, _positive(c - chance)))

    r, c = _numbers(score, ceiling)
    value, known, of_ceiling = as_value(score.value, function(r, c)), score.uncertainty, ceiling.sampling_uncertainty
    made: dict[str, Any] = {"error": None, "error_kind": score.error_kind, "uncertainty": None}
    if known is not None:
        by_either = derivatives(of, r - chance, _positive(c - chance))
        if score.error is not None:
            errors = (np.asarray(0.0 if side.error is None else side.error, float) for side in (score, ceiling))
            carried = (by * error for by, error in zip(by_either, errors, strict=True))
            made["error"] = as_value(score.value, np.hypot(*carried))
            if score.error_kind and ceiling.error is not None:
                made["error_kind"] += " and the ceiling's, by the delta method"
        if known.over:
            made["uncertainty"] = carried_over(value, function, by_either, (r, known), (c, of_ceiling))
            if known.draws is not None:  # their spread is the error
                made |= {"error": None, "error_kind": ""}
    if score.provenance.reason is None and not (c > chance).any() and not np.isnan(r).all():
        undefined = "undefined" if np.isnan(c).all() else f"not above {'chance' if chance else '0'}"
        why = f"the ceiling is {undefined}" + (f": {ceiling.provenance.reason}" if ceiling.provenance.reason else "")
        made["provenance"] = replace(score.provenance, reason=why)
    return replace(score, value=value, unceiled=score, ceiling=ceiling, formula=formula, **made)
