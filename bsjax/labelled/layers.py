"""Many sources against one target: the layers of a model, each scored as by itself, and the choice between them tested.

The best of many scores is too high: what the winner owes to luck counts as its merit. So the choice can be made again
within the training stimuli of every fold and reported on the stimuli that took no part in it (nested
cross-validation).

Source: Varma & Simon 2006, "Bias in error estimation when using cross-validation for model selection"; Cawley &
Talbot 2010, "On over-fitting in model selection and subsequent selection bias in performance evaluation".
"""

import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from sklearn.model_selection import KFold

from bsjax.engine.precision import in_dtype, precision
from bsjax.labelled.aggregate import neuroid_coords, over_splits
from bsjax.labelled.align import two_dimensional
from bsjax.labelled.regression.crossvalidation import CrossRegressedCorrelation, check_sizes
from bsjax.labelled.score import Score
from bsjax.labelled.similarity.representational import (
    CrossValidatedSimilarity,
    RepresentationalSimilarity,
    aligned_values,
    on_subsets,
)
from bsjax.labelled.splits import CrossValidation, Splits
from bsjax.labelled.streaming import Sees

_INNER_SPLITS = 5
_FOLDS = 10

Metric = Callable[[Any, Any], Score]


class Scored(NamedTuple):
    """What one source scores: as a whole, and in each fold on either side of it.

    Attributes:
        score: ``metric(source, target)``.
        within: shape ``(folds,)``: the score of each fold's training stimuli alone, to choose by.
        held_out: shape ``(folds, neuroids)``, or ``(folds,)`` for similarities: on each fold's test stimuli.
        Both are None where the metric knows no folds, or none were asked for.
    """

    score: Score
    within: np.ndarray | None
    held_out: np.ndarray | None


class SharedTarget:
    """A target with all that its comparison with any source needs, made once: rows, splits, splits within splits.

    Regressions (``CrossRegressedCorrelation``) keep their own splits as the outer folds. Within the training stimuli of
    each, the metric is computed by at most five further splits of the same kind; it is what a choice between sources
    goes by. Similarities are computed on the training stimuli and on the test stimuli of ten folds of the stimuli.
    Other metrics have a score and no folds.

    Args:
        metric: ``metric(source, target) -> Score``.
        target: (presentation, neuroid).
        folds: whether to compute what nested choices need, at up to six times the cost.

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

    def __init__(self, metric: Metric, target: xr.DataArray, folds: bool = True) -> None:
        self.metric = metric
        self.target = target
        self._smallest_splits = 0, 0
        self._inner: list[CrossRegressedCorrelation] = []
        self._folds: Splits = []
        if isinstance(metric, CrossRegressedCorrelation):
            self.target = two_dimensional(target, "target")
            splits = metric.crossvalidation.of(self.target)
            self.metric = _with_splits(metric, splits)
            self._smallest_splits = min(len(train) for train, _ in splits), min(len(test) for _, test in splits)
            if folds:
                self._inner = [_with_splits(metric, _splits_within(metric, self.target, train)) for train, _ in splits]
        elif isinstance(metric, RepresentationalSimilarity | CrossValidatedSimilarity):
            self.target = two_dimensional(target, "target")
            n = self.target.sizes["presentation"]
            n_folds = min(_FOLDS, n // metric.min_stimuli)
            if folds and n_folds > 1:
                self._folds = list(KFold(n_folds, shuffle=True, random_state=1).split(np.arange(n)))

    @property
    def sees(self) -> Sees:
        """What the metric depends on, see :mod:`~bsjax.labelled.regression.stimulus_coordinates`."""
        return getattr(self.metric, "sees", "features")

    @property
    def dtype(self) -> str | None:
        """In which the metric computes, None for the default of the device."""
        return getattr(self.metric, "dtype", None)

    def check_width(self, source: xr.DataArray) -> None:
        """Refuses a source with too few features, before it is padded.

        Raises:
            ValueError: the mapping needs more.
        """
        if isinstance(self.metric, CrossRegressedCorrelation):
            check_sizes(self.metric.mapping, source, *self._smallest_splits)

    def __call__(self, source: xr.DataArray) -> Scored:
        """Scores a source, as it is or in stimulus coordinates.

        Raises:
            ValueError: what the metric raises.
        """
        score = self.metric(source, self.target)
        if self._inner:
            within = np.array([float(inner(source, self.target)) for inner in self._inner])
            return Scored(score, within, np.asarray(score.raw, float))
        if self._folds:
            return Scored(score, *self._on_folds(source))
        return Scored(score, None, None)

    def _on_folds(self, source: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
        metric: Any = self.metric
        n = self.target.sizes["presentation"]
        calls = [on_subsets(metric, n, [fold[side] for fold in self._folds]) for side in (0, 1)]
        x, y = aligned_values(metric, two_dimensional(source, "source"), self.target, calls)
        with precision(metric.dtype) as dtype:
            arrays = in_dtype(x, dtype), in_dtype(y, dtype)
            within, held_out = (np.asarray(call.result(*arrays), float) for call in calls)
        return within, held_out


@dataclasses.dataclass(frozen=True)
class Nested:
    """The score of a choice on stimuli that took no part in it.

    Attributes:
        score: as the metric's; ``raw`` has the values of each fold's choice on its test stimuli.
        chosen: the source that each fold chose, "" for a fold in which no source has a score.
    """

    score: Score
    chosen: tuple[str, ...]


def nested_choice(scored: Mapping[str, Scored], target: xr.DataArray) -> Nested | None:
    """Chooses a source for every fold by its training stimuli, and scores the choices by the test stimuli.

    The score is the mean over folds of the median over neuroids, as that of a single source. Ties go to the first.

    Args:
        scored: source -> what it scores.
        target: the target that they were compared with.

    Returns:
        None where the metric knows no folds.
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


@dataclasses.dataclass(frozen=True)
class _GivenSplits(CrossValidation):
    """Splits that are there already."""

    given: Any = ()

    def of(self, assembly: xr.DataArray, what: str = "target") -> Splits:
        return self.given


def _with_splits(metric: CrossRegressedCorrelation, splits: Splits) -> CrossRegressedCorrelation:
    """The metric, with these splits in the place of those that it would draw."""
    changed = copy.copy(metric)
    settings = {f.name: getattr(metric.crossvalidation, f.name) for f in dataclasses.fields(CrossValidation)}
    changed.crossvalidation = _GivenSplits(**settings, given=splits)
    return changed


def _splits_within(metric: CrossRegressedCorrelation, target: xr.DataArray, train: np.ndarray) -> Splits:
    """Splits of the training stimuli of one split, as rows of the whole target."""
    settings = metric.crossvalidation
    inner = dataclasses.replace(settings, splits=min(settings.splits, _INNER_SPLITS))
    try:
        splits = inner.of(target.isel(presentation=train))
    except ValueError as error:
        raise ValueError(
            f"no splits within the {len(train)} training stimuli of a split, which the nested score needs "
            f"(nested=False leaves it out): {error}"
        ) from None
    return [(train[inner_train], train[inner_test]) for inner_train, inner_test in splits]
