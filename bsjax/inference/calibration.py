"""Calibration of scores by permutations, for a single score and for the best of many."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from bsjax.labelled.resampling.calibration import LEVEL, Null, calibrate, fewest_permutations, null_of, similarity_of
from bsjax.labelled.score import Score

FORMULA = "max(0, (s-τ)/(1-τ))"


def calibrated(score: Score, level: float = LEVEL) -> Score:
    r"""The similarity above the permutation threshold, rescaled to the range from 0 to 1.

    .. math:: \max\left(0, \frac{s - \tau}{1 - \tau}\right)

    The similarity s is taken before ceiling normalisation, because its scale ends at 1. The threshold τ is the
    smallest value that a share of at most ``1 - level`` of the permutations exceeds, where the original order counts
    as one of them. Without any relation, the calibrated similarity is therefore above 0 with a probability of at most
    ``1 - level``, and s exceeds τ exactly if its p value is at most ``1 - level``.

    Args:
        score: with permutations, e.g. from ``bsjax.score(model, benchmark, null=1000)``.
        level: of the threshold, between 0 and 1.

    Returns:
        The calibrated similarity. ``unceiled`` is the similarity, ``formula`` the formula, and ``provenance`` has the
        ``p_value`` and ``tau``. It has no error, because that of the threshold is unknown.

    Raises:
        ValueError: the score has no permutations, or fewer than ``1/(1 - level) - 1``; or the level is invalid.

    Source: Gröger, Wen & Brbić 2026, "Revisiting the Platonic Representation Hypothesis: An Aristotelian View".

    Example:
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> x, noise = rng.normal(size=(20, 50)), rng.normal(size=(20, 50))
        >>> by_chance, alike = (bsjax.score_arrays(x, y, metric="cka_biased", null=199) for y in (noise, x + noise))
        >>> by_chance > 0.5, alike > 0.5
        (True, True)
        >>> float(calibrated(by_chance)), calibrated(alike)
        (0.0, Score(0.3908, max(0, (s-τ)/(1-τ))))
    """
    null, similarity = _null(score, "the score"), similarity_of(score)
    found = calibrate(similarity.value, null.values, level)
    draws, fewest = null.values.sizes["draw"], fewest_permutations(level)
    if draws < fewest:
        raise ValueError(f"a threshold at the level {level:g} needs at least {fewest} permutations, got {draws}")
    details = {**null.details(similarity.value), **{name: each.tolist() for name, each in found.items()}}
    details["null"] = {**details["null"], "level": level}
    value = found["calibrated"]
    like = similarity.value.copy(data=value) if isinstance(similarity.value, xr.DataArray) else float(value)
    return Score(
        like,
        unceiled=similarity,
        formula=FORMULA,
        n_units=score.n_units,
        n_undefined=score.n_undefined,
        provenance=replace(score.provenance, details={**score.provenance.details, **details}),
    )


@dataclass(frozen=True, eq=False)
class Maximum:
    """The best of many scores, compared with the best of them by chance.

    Attributes:
        best: the name of the score with the highest similarity.
        p_value: of the best: how often a permutation gives a best similarity that is at least as high.
        tau: the threshold of the best; NaN for too few permutations for the level.
        calibrated: the best similarity, calibrated by it.
        p_values: of each score, corrected for multiple comparisons: if all are at chance, one of them is at most 0.05
            with a probability of at most 0.05.
        null: the highest similarity after each permutation.
    """

    best: str
    p_value: float
    tau: float
    calibrated: float
    p_values: dict[str, float]
    null: xr.DataArray


def calibrated_maximum(scores: Mapping[str, Score], level: float = LEVEL) -> Maximum:
    """The best of several scores, such as a model's layers on one benchmark, calibrated for its selection.

    The best of many similarities is biased upwards by the selection. It is therefore compared with the best of all of
    them after each permutation. All scores must share the same permutations.

    Args:
        scores: by name, each with permutations. NaN scores are excluded.
        level: of the threshold, between 0 and 1.

    Raises:
        ValueError: no score is defined, one has no permutations or others than the rest, or the level is invalid.

    Source: Westfall & Young 1993, "Resampling-Based Multiple Testing" (the maximum).

    Example:
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> y = rng.normal(size=(30, 10))
        >>> layers = {f"layer{n}": rng.normal(size=(30, 10)) for n in range(12)}
        >>> scores = {name: bsjax.score_arrays(x, y, metric="cka", null=199) for name, x in layers.items()}
        >>> found = calibrated_maximum(scores)
        >>> found.p_value > scores[found.best].provenance["p_value"], found.p_value == min(found.p_values.values())
        (True, True)
    """
    defined = {name: float(similarity_of(score)) for name, score in scores.items() if not np.isnan(float(score))}
    if not defined:
        raise ValueError(f"cannot choose the best of {len(scores)} scores: all of them are undefined (NaN)")
    nulls = {name: _null(scores[name], name) for name in defined}
    keys: dict[str, str] = {}
    for name, null in nulls.items():
        keys.setdefault(null.key, name)
    if len(keys) > 1:
        one, other, *_ = keys.values()
        raise ValueError(
            f"{one} and {other} have different permutations: score them on the same stimuli with the same null=..."
        )
    best = max(defined, key=lambda name: defined[name])  # the first of equal ones
    highest = np.fmax.reduce([null.values.values for null in nulls.values()])
    null = xr.DataArray(highest, dims=["draw"])
    found = calibrate(defined[best], null, level)
    p_values = {name: float(calibrate(value, null, level)["p_value"]) for name, value in defined.items()}
    number: dict[str, Any] = {name: float(each) for name, each in found.items()}
    return Maximum(best=best, p_values=p_values, null=null, **number)


def _null(score: Score, what: str) -> Null:
    null = null_of(score)
    if null is None:
        raise ValueError(
            f"{what} has no permutations of the stimuli: score again with them, bsjax.score(..., null=1000) or "
            "bsjax.score_arrays(..., null=1000)"
        )
    return null
