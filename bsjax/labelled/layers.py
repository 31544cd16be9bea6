"""Comparison of many sources with one target, e.g. the layers of a model, and unbiased choice between them.

The best of many scores is biased upwards, because the winner also profits from chance. The choice can therefore be
repeated within the training stimuli of every fold, and scored on the stimuli that took no part in it (nested
cross-validation).

Source: Varma & Simon 2006, "Bias in error estimation when using cross-validation for model selection"; Cawley &
Talbot 2010, "On over-fitting in model selection and subsequent selection bias in performance evaluation".
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from bsjax.labelled.aggregate import neuroid_coords, over_splits
from bsjax.labelled.metric import as_metric
from bsjax.labelled.score import Score


class Scored(NamedTuple):
    """The scores of one source: overall, and on the training and the test stimuli of each fold.

    ``within`` and ``held_out`` are None if the metric has no folds or none were requested.

    Attributes:
        score: ``metric(source, target)``.
        within: shape ``(folds,)``: the score within each fold's training stimuli, used for the choice.
        held_out: shape ``(folds, neuroids)``, or ``(folds,)`` for similarities: values on each fold's test stimuli.
    """

    score: Score
    within: np.ndarray | None
    held_out: np.ndarray | None


class SharedTarget:
    """A target, prepared once for comparison with any number of sources: rows, splits, and splits within splits.

    The metric's method ``with_target`` does the preparation. Regressions use their own splits as the outer folds.
    Within the training stimuli of each, the metric is computed by at most five further splits of the same kind; these
    scores decide between sources. Similarities are computed on the training stimuli and on the test stimuli of ten
    folds of the stimuli. Other metrics have a score and no folds.

    Args:
        metric: ``metric(source, target) -> Score``, or its identifier.
        target: (presentation, neuroid).
        folds: whether to compute the folds for nested choices, at up to six times the cost.

    Raises:
        ValueError: too few stimuli for the splits.

    Example:
        >>> import numpy as np, xarray as xr
        >>> from bsjax import load_metric
        >>> values = np.random.default_rng(0).normal(size=(60, 8))
        >>> x = xr.DataArray(values, {"stimulus_id": ("presentation", range(60))}, ["presentation", "neuroid"])
        >>> ridge = load_metric("ridge", crossvalidation_kwargs={"stratification_coord": None})
        >>> scored = SharedTarget(ridge, 2 * x[:, :3])(x)
        >>> scored.score > 0.99, scored.within.shape, scored.held_out.shape
        (True, (10,), (10, 3))
    """

    def __init__(self, metric: str | Callable[[Any, Any], Score], target: xr.DataArray, folds: bool = True) -> None:
        self.metric, self.target, self._on_folds = as_metric(metric).with_target(target, folds)

    def __call__(self, source: xr.DataArray) -> Scored:
        """Scores a source, given as features or in stimulus coordinates.

        Raises:
            ValueError: as raised by the metric.
        """
        return self.of_many([source])[0]

    def of_many(self, sources: Sequence[xr.DataArray]) -> list[Scored]:
        """Scores sources; sources of one shape on a device are scored in one program where the metric supports it.

        Raises:
            ValueError: as raised by the metric.
        """
        scores = self.metric.of_many(sources, self.target)
        if self._on_folds is None:
            return [Scored(score, None, None) for score in scores]
        on_folds = self._on_folds(sources, scores)
        return [Scored(score, *folds) for score, folds in zip(scores, on_folds, strict=True)]


def scored_together(target: SharedTarget, sources: Mapping[str, xr.DataArray]) -> dict[str, Scored | ValueError]:
    """The scores of every source, in one program where possible, or the error of each source that has none.

    Args:
        target: the target of the comparison.
        sources: name -> source.
    """
    if not sources:
        return {}
    try:
        return dict(zip(sources, target.of_many(list(sources.values())), strict=True))
    except ValueError as error:
        if len(sources) == 1:
            return dict.fromkeys(sources, error)
    # At least one source fails: score each one separately to find which.
    alone = [scored_together(target, {name: source}) for name, source in sources.items()]
    return {name: one for each in alone for name, one in each.items()}


@dataclasses.dataclass(frozen=True)
class Nested:
    """The score of a choice on stimuli that took no part in it.

    Attributes:
        score: as the metric's; ``raw`` holds the values of each fold's choice on its test stimuli.
        chosen: the source that each fold chose; "" for a fold in which no source has a score.
    """

    score: Score
    chosen: tuple[str, ...]


def nested_choice(scored: Mapping[str, Scored], target: xr.DataArray) -> Nested | None:
    """Chooses a source for every fold by its training stimuli, and scores the choice on the test stimuli.

    The score is the mean over folds of the median over neuroids, as for a single source. Ties go to the first source.

    Args:
        scored: source -> its scores.
        target: the target that they were compared with.

    Returns:
        None if the metric has no folds.
    """
    names = [name for name, one in scored.items() if one.within is not None]
    if not names:
        return None
    within = np.stack([np.asarray(scored[name].within) for name in names])
    defined = np.isfinite(within)
    best = np.argmax(np.where(defined, within, -np.inf), axis=0)
    held_out = np.stack([np.asarray(scored[name].held_out) for name in names])
    raw = held_out[best, np.arange(within.shape[1])]
    none = ~np.any(defined, axis=0)
    raw[none] = np.nan
    chosen = tuple("" if none[fold] else names[i] for fold, i in enumerate(best))
    coords = neuroid_coords(target) if raw.ndim > 1 else {}
    return Nested(over_splits(raw, coords, scored[names[0]].score.provenance), chosen)
