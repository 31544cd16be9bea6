"""Scores with their values after permutations of the stimuli, and calibrated by these.

All of it is said of the similarity before its normalisation by a ceiling: the scale of a similarity ends at 1, where
that of a normalised score does not, and a ceiling that is the same for all permutations changes no p value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.core.watching import stage
from bsjax.engine.precision import precision
from bsjax.labelled.provenance import Provenance
from bsjax.labelled.resampling.draws import rerun
from bsjax.labelled.resampling.permutations import Permutation, Permutations, active_permutations, in_permutations
from bsjax.labelled.score import Score
from bsjax.metrics.resampling.permutation import calibrated, null_threshold, permutation_p_value

# The similarity after each permutation: of the permutations of each assembly of a model's, those, and the measurements.
Nulls = Callable[[Sequence[Permutation], Sequence[Any], Sequence[Any]], np.ndarray]

LEVEL = 0.95
_NULL, _DRAW = "null", "draw"
_SAID = ("null_draws", "null_mean", "p_value", "tau", "calibrated")


@dataclass(frozen=True, eq=False)
class Null:
    """What a similarity is by chance.

    Attributes:
        values: the similarity after each permutation, ``("draw", *those of the score)``.
        key: the digest of what decides the permutations: values of one key are paired draw by draw.
        plan: the settings of the plan.
    """

    values: xr.DataArray
    key: str
    plan: Mapping[str, Any]

    def details(self, similarity: float | xr.DataArray) -> dict[str, Any]:
        """What the provenance of a score says of it.

        Args:
            similarity: of the stimuli as they are.
        """
        found = calibrate(similarity, self.values, LEVEL)
        kept = {**self.plan, "level": LEVEL, "key": self.key, "values": self.values}
        mean = np.asarray(self.values.mean(_DRAW))
        plain = {"null_mean": mean.tolist(), **{name: each.tolist() for name, each in found.items()}}
        return {_NULL: kept, "null_draws": self.values.sizes[_DRAW], **plain}


def calibrate(similarity: Any, values: xr.DataArray, level: float) -> dict[str, np.ndarray]:
    """The p value, the threshold ``tau`` and the calibrated similarity, each in the shape of the similarity.

    The threshold, and what is calibrated by it, are NaN for too few permutations.

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
    """How many permutations a threshold takes at the least.

    Example:
        >>> fewest_permutations(0.95), fewest_permutations(0.99)
        (19, 99)
    """
    return math.ceil(1 / (1 - level) - 1e-9) - 1


def null_of(score: Score) -> Null | None:
    """What a score is by chance; None where it was not asked for."""
    kept = score.provenance.details.get(_NULL)
    if not isinstance(kept, Mapping) or not isinstance(kept.get("values"), xr.DataArray):
        return None
    plan = {name: value for name, value in kept.items() if name not in ("values", "key", "level")}
    return Null(kept["values"], str(kept.get("key", "")), plan)


def with_null(score: Score, nulls: Nulls, sources: Sequence[Any], rest: Sequence[Any], plan: Permutations) -> Score:
    """A score that says in its provenance what it is by chance.

    Args:
        score: of the sources and the rest.
        nulls: gives its values after permutations, as :meth:`bsjax.labelled.metric.Metric.nulls` does.
        sources: a model's responses, whose stimuli trade places: assemblies, and lists and dicts of them.
        rest: measurements.
        plan: of the permutations.

    Raises:
        ValueError: there are no stimuli, or what the metric raises.
    """
    permutations = [plan.rows_of(leaf, rest) for leaf in jax.tree.leaves(list(sources))]
    with in_permutations(None):
        values = np.asarray(nulls(permutations, sources, rest), float)
    dims = [_DRAW, *(str(dim) for dim in score.sizes)]
    key = " ".join(dict.fromkeys(permutation.key for permutation in permutations))
    null = Null(xr.DataArray(values, dims=dims), key, asdict(plan))
    return replace(score, provenance=score.provenance.with_details(**null.details(score.value)))


def one_by_one(
    metric: Callable[..., Score], permutations: Sequence[Permutation], sources: Sequence[Any], rest: Sequence[Any]
) -> np.ndarray:
    """The similarity after each permutation, by as many calls of the metric."""
    leaves, tree = jax.tree.flatten(list(sources))
    moved = (
        [permutation.of(leaf, draw) for permutation, leaf in zip(permutations, leaves, strict=True)]
        for draw in range(len(permutations[0].rows))
    )
    calls = ((*jax.tree.unflatten(tree, each), *rest) for each in moved)
    values, _ = rerun(metric, calls, "permutation", len(permutations[0].rows))
    return values


def also_permuted(score: Any, nulls: Nulls, sources: Sequence[Any], rest: Sequence[Any] = ()) -> Any:
    """A score with what it is by chance, where the block asks for that.

    Args:
        score: what is no score, or says that already, stays as it is.
        nulls, sources, rest: see :func:`with_null`.
    """
    plan = active_permutations()
    if plan is None or not sources or not isinstance(score, Score) or null_of(score) is not None:
        return score
    with stage(f"the score after {plan.draws:,} permutations"):
        return with_null(score, nulls, sources, rest, plan)


def provenance_of_mean(scores: Sequence[Score]) -> Provenance:
    """The provenance of the first of scores that are averaged, with what their mean is by chance.

    Where some do not say what they are by chance, nothing is said of the mean.
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
