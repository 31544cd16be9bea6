"""Null distributions of scores under permutations of the stimuli, and scores calibrated by them.

All of it concerns the similarity before normalisation by a ceiling. A similarity is at most 1, but a normalised score
has no such limit, and a ceiling that is the same for all permutations does not change a p value.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.core.watching import stage
from bsjax.engine.precision import precision
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.resampling.permutations import Permutations
from bsjax.labelled.score import Score
from bsjax.metrics.resampling.permutation import calibrated, null_threshold, permutation_p_value

LEVEL = 0.95
_NULL, _DRAW = "null", "draw"
_SAID = ("null_draws", "null_mean", "p_value", "tau", "calibrated")


@dataclass(frozen=True, eq=False)
class Null:
    """The null distribution of a similarity.

    Attributes:
        values: the similarity after each permutation, ``("draw", *those of the score)``.
        key: the digest of the plan and the stimuli; values with the same key are paired draw by draw.
        plan: the settings of the plan.
    """

    values: xr.DataArray
    key: str
    plan: Mapping[str, Any]

    def details(self, similarity: float | xr.DataArray) -> dict[str, Any]:
        """The entries for the provenance of a score.

        Args:
            similarity: the similarity without permutation.
        """
        found = calibrate(similarity, self.values, LEVEL)
        kept = {**self.plan, "level": LEVEL, "key": self.key, "values": self.values}
        mean = np.asarray(self.values.mean(_DRAW))
        plain = {"null_mean": mean.tolist(), **{name: each.tolist() for name, each in found.items()}}
        return {_NULL: kept, "null_draws": self.values.sizes[_DRAW], **plain}


def calibrate(similarity: Any, values: xr.DataArray, level: float) -> dict[str, np.ndarray]:
    """The p value, the threshold ``tau`` and the calibrated similarity, each in the shape of the similarity.

    The threshold and the calibrated similarity are NaN if there are too few permutations.

    Raises:
        ValueError: the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"the level of a threshold must be between 0 and 1, got {level!r}")
    with precision("float64") as dtype:
        observed = jnp.asarray(np.asarray(similarity, float), dtype)
        null = jnp.asarray(np.asarray(values.transpose(_DRAW, ...).values, float), dtype)
        found = dict.fromkeys(("tau", "calibrated"), np.full(observed.shape, np.nan))
        if len(null) >= fewest_permutations(level):
            false_positives = 1 - level
            found["tau"] = np.asarray(null_threshold(null, level=false_positives))
            found["calibrated"] = np.asarray(calibrated(observed, null, level=false_positives))
        return {"p_value": np.asarray(permutation_p_value(observed, null)), **found}


def fewest_permutations(level: float) -> int:
    """The smallest number of permutations that a threshold needs.

    Example:
        >>> fewest_permutations(0.95), fewest_permutations(0.99)
        (19, 99)
    """
    return math.ceil(1 / (1 - level) - 1e-9) - 1


def null_of(score: Score) -> Null | None:
    """The null distribution in the provenance of a score; None if there is none."""
    kept = score.provenance.details.get(_NULL)
    if not isinstance(kept, Mapping) or not isinstance(kept.get("values"), xr.DataArray):
        return None
    plan = {name: value for name, value in kept.items() if name not in ("values", "key", "level")}
    return Null(kept["values"], str(kept.get("key", "")), plan)


def with_null(
    score: Score,
    nulls: Callable[..., Mapping[str, Any]],
    sources: Sequence[Any],
    rest: Sequence[Any],
    plan: Permutations,
) -> Score:
    """A score with its null distribution in its provenance.

    Args:
        score: the score of the sources and the rest.
        nulls: computes values after permutations, as :meth:`bsjax.labelled.metric.Metric.permuted_values` does.
        sources: a model's responses, whose stimuli are permuted: assemblies, and lists and dicts of them.
        rest: measurements.
        plan: the plan of the permutations.

    Raises:
        ValueError: there are no stimuli, or as raised by the metric.
    """
    permuted = plan.sample(sources, rest)
    with Permutations.within(None):
        values = nulls(permuted, *sources, *rest)["values"]
    null = Null(values, permuted.key, asdict(plan))
    return replace(score, provenance=score.provenance.with_details(**null.details(score.value)))


def also_permuted(
    score: Any, nulls: Callable[..., Mapping[str, Any]], sources: Sequence[Any], rest: Sequence[Any] = ()
) -> Any:
    """A score with its null distribution, in a block with permutations.

    Args:
        score: returned as it is if it is not a ``Score`` or already has a null distribution.
        nulls, sources, rest: see :func:`with_null`.
    """
    plan = Permutations.active()
    if plan is None or not sources or not isinstance(score, Score) or null_of(score) is not None:
        return score
    with stage(f"the score after {plan.draws:,} permutations"):
        return with_null(score, nulls, sources, rest, plan)


def provenance_of_mean(scores: Sequence[Score]) -> Provenance:
    """The provenance of the first of several averaged scores, with the null distribution of their mean.

    The mean has no null distribution if any of the defined scores has none.
    """
    first = scores[0].provenance
    if _NULL not in first.details:
        return first
    defined = [score for score in scores if np.isfinite(similarity_of(score).value).all()] or [scores[0]]
    nulls = [null for score in defined if (null := null_of(score)) is not None]
    values = [null.values for null in nulls]
    if len(nulls) < len(defined) or len({tuple(each.sizes.items()) for each in values}) > 1 or values[0].ndim > 1:
        kept = {name: value for name, value in first.details.items() if name not in (_NULL, *_SAID)}
        return replace(first, details=kept)
    mean = values[0].copy(data=np.mean([each.values for each in values], axis=0))
    key = " ".join(dict.fromkeys(null.key for null in nulls))
    of_mean = Null(mean, key, nulls[0].plan)
    return first.with_details(**of_mean.details(float(np.mean([float(similarity_of(score)) for score in defined]))))


def similarity_of(score: Score) -> Score:
    """A score before its normalisation by a ceiling.

    Example:
        >>> similarity_of(Score(0.5, unceiled=Score(0.4)))
        Score(0.4000)
    """
    return score if score.unceiled is None else score.unceiled
