"""Models of RDMs that are fitted to training stimuli, and compared with a recording on pairs of held-out stimuli."""

from abc import ABC
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.labelled.aggregate import SPLIT, of_splits, over_splits
from bsjax.labelled.align import STIMULUS, aligned_values, origins, two_dimensional
from bsjax.labelled.kernel_metric import KernelMetric
from bsjax.labelled.metric import CrossValidated, as_metric
from bsjax.labelled.score import Score
from bsjax.labelled.settings import finite_number, keep, whole_number
from bsjax.labelled.splits import CrossValidation
from bsjax.metrics import make_folds
from bsjax.metrics.similarity.rdms.dissimilarities import dissimilarity_named
from bsjax.metrics.similarity.rdms.models import (
    Fit,
    cross_validated_encoding_rdm,
    cross_validated_feature_reweighting,
    cross_validated_rdm_model,
)
from bsjax.metrics.similarity.rdms.rdm_comparison import comparison_named

_LAYER = "layer"
_LEAST = 3
_TESTED = 0.2


class _HeldOutPairs(CrossValidated, KernelMetric, ABC):
    """The base class of models of RDMs; 20 % of the stimuli are tested unless sizes are given."""

    normalisation = "r_over_sqrt_ceiling"
    dissimilarity: str
    comparison: str
    inner_folds: ClassVar[int] = 1  # of the training stimuli

    def __post_init__(self) -> None:
        keep(self, crossvalidation=CrossValidation.from_kwargs(self.crossvalidation_kwargs, test_size=_TESTED))
        dissimilarity_named(self.dissimilarity)
        keep(self, zero_by_chance=comparison_named(self.comparison).zero_by_chance)

    def arrays(self, source: xr.DataArray, target: xr.DataArray) -> Sequence[Any]:
        """Both sides, the folds, and the number of the original of each stimulus in draws."""
        target = two_dimensional(target, "target")
        x, y = aligned_values(source, target)
        splits = self.crossvalidation.of(target)
        fewest = min(min(len(train) // self.inner_folds, len(test)) for train, test in splits)
        if fewest < _LEAST:
            raise ValueError(
                f"{self.identifier} needs at least {_LEAST} stimuli to fit and to test in each split, there are "
                f'{fewest}: give more stimuli, or larger shares, e.g. crossvalidation_kwargs={{"test_size": 0.5}}'
            )
        numbers = pd.factorize(origins(target, STIMULUS, "presentation", "target"))[0].astype(np.int32)
        return x, y, make_folds(len(y), splits), numbers if numbers.max() + 1 < len(numbers) else None

    def summary(self, values: Any, *assemblies: xr.DataArray) -> Score:
        """The mean over splits."""
        return self._over_splits(values[0], {}, assemblies[1])

    def _over_splits(self, raw: np.ndarray, coords: Mapping[str, Any], target: xr.DataArray) -> Score:
        target = two_dimensional(target, "target")
        shared = of_splits(self.crossvalidation.of(target), target[STIMULUS].values)
        return over_splits(raw, coords, self.provenance(), shared=shared)

    @property
    def _by(self) -> dict[str, Any]:
        return {"method": self.comparison, "dissimilarity": self.dissimilarity}


@dataclass(frozen=True)
class WeightedRDM(_HeldOutPairs):
    """A weighted sum of the RDMs of several feature spaces, such as layers, compared with the RDM of a recording.

    Weights are not negative, and fitted to the pairs of training stimuli; see ``bsjax.metrics.rdm_weights``. The
    comparison is over the pairs of which both stimuli are tested. The weights of every split are coordinates of
    ``score.raw``, ``weight_0``, ``weight_1``, ..., or with the names of the layers.

    Args:
        bands: number of features of each space, in the order of the features. By default, features with the same
            ``layer``, a coordinate of the neuroids, form a space, in the order in which layers appear.
        dissimilarity, comparison: as for ``load_metric("rdm")``.
        crossvalidation_kwargs: arguments of ``CrossValidation``; by default ten random splits of 80 % to 20 % of the
            stimuli, stratified by ``object_name``, seed 1.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Raises:
        ValueError: the sizes of the spaces do not sum to the number of features, or too few stimuli.

    Source: Khaligh-Razavi & Kriegeskorte 2014; Schütt et al. 2023.

    Example:
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> early, late = rng.normal(size=(2, 60, 20))
        >>> both = {"bands": (20, 20), "dissimilarity": "sqeuclidean", "metric": "weighted_rdm"}
        >>> score = bsjax.score_arrays(np.hstack([early, late]), np.hstack([early, 2 * late]), **both)
        >>> round(float(score), 3), bool((score.raw["weight_1"] > score.raw["weight_0"]).all())
        (1.0, True)
    """

    identifier = "weighted_rdm"
    fit: ClassVar[Fit] = "weighted"

    bands: Sequence[int] | None = None
    dissimilarity: str = "correlation"
    comparison: str = "corr"
    crossvalidation_kwargs: Mapping[str, Any] | None = field(default=None, hash=False)
    dtype: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.bands is not None:
            keep(self, bands=tuple(whole_number(size, "bands", 1) for size in self.bands))

    def arrays(self, source: xr.DataArray, target: xr.DataArray) -> Sequence[Any]:
        """Both sides, the folds and originals, and the columns of each space with their mask."""
        spaces = list(self._spaces(two_dimensional(source, "source")).values())
        columns = np.zeros((len(spaces), max(map(len, spaces))), np.int32)
        members = np.arange(columns.shape[1]) < np.array([[len(each)] for each in spaces])
        columns[members] = np.concatenate(spaces)
        return *super().arrays(source, target), columns, members

    def kernel(self, *arrays: Any) -> Any:
        """Similarities and weights of every fold."""
        x, y, folds, originals, columns, members = arrays
        return cross_validated_rdm_model(x, y, folds, columns, members, originals, fit=self.fit, **self._by)

    def summary(self, values: Any, *assemblies: xr.DataArray) -> Score:
        """The mean over splits, with the weights."""
        (raw, weights), (source, target) = values, assemblies
        names = self._spaces(two_dimensional(source, "source"))
        coords = {f"weight_{name}": (SPLIT, each) for name, each in zip(names, weights.T, strict=True)}
        return self._over_splits(raw, coords, target)

    def _spaces(self, source: xr.DataArray) -> dict[Any, np.ndarray]:
        """The columns of each space, by name."""
        width = source.sizes["neuroid"]
        if self.bands is not None:
            if sum(self.bands) != width:
                raise ValueError(
                    f"bands {tuple(self.bands)} are {sum(self.bands):,} features, and the source has {width:,}: "
                    "give the number of features of each space"
                )
            return dict(enumerate(np.split(np.arange(width), np.cumsum(self.bands)[:-1])))
        if _LAYER not in source.coords or source[_LAYER].dims != ("neuroid",):
            raise ValueError(
                f"{self.identifier} needs to know which features form a space: give bands=, their numbers in the "
                f"order of the features, e.g. (12, 40), or the source a coordinate {_LAYER!r} on its neuroids"
            )
        codes, names = pd.factorize(source[_LAYER].values)
        return {name: np.flatnonzero(codes == code) for code, name in enumerate(names)}


class SelectedRDM(WeightedRDM):
    """The RDM of the feature space that is best in the training stimuli, compared with the RDM of a recording.

    As ``WeightedRDM``, with a weight of 1 for the chosen space and 0 for the others.
    """

    identifier = "selected_rdm"
    fit = "selected"


class InterpolatedRDM(WeightedRDM):
    """An RDM between those of two neighbouring feature spaces, compared with the RDM of a recording.

    As ``WeightedRDM``, with weights of at most two spaces that follow each other, such as successive layers.
    """

    identifier = "interpolated_rdm"
    fit = "interpolated"


@dataclass(frozen=True)
class FeatureReweightedRDM(_HeldOutPairs):
    """Feature-reweighted RSA: weighted squared differences of features predict the RDM of a recording.

    Each feature has a weight that is not negative, fitted to the pairs of training stimuli; see
    ``bsjax.metrics.feature_weights``. The comparison is over the pairs of which both stimuli are tested.

    Args:
        alpha: penalty on the weights, or several of which each split takes the best by folds of its training stimuli;
            ``score.raw`` then has the coordinate ``alpha``. See ``bsjax.metrics.cross_validated_feature_reweighting``.
        cv: number of these folds.
        dissimilarity: that of the recording; a name as for ``load_metric("rdm")``.
        comparison, crossvalidation_kwargs, dtype: as for ``WeightedRDM``.

    Source: Kaniuth & Hebart 2022.

    Example:
        >>> import bsjax
        >>> x = np.random.default_rng(0).normal(size=(60, 5))
        >>> settings = {"metric": "feature_reweighted_rdm", "dissimilarity": "sqeuclidean", "alpha": 0.001}
        >>> round(float(bsjax.score_arrays(x, x * [3, 1, 1, 0.1, 0.1], **settings)), 2)
        1.0
    """

    identifier = "feature_reweighted_rdm"

    alpha: float | Sequence[float] = 1.0
    dissimilarity: str = "correlation"
    comparison: str = "corr"
    crossvalidation_kwargs: Mapping[str, Any] | None = field(default=None, hash=False)
    dtype: str | None = None
    cv: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.alpha
        several = isinstance(given, Sequence | np.ndarray)
        alpha: Any = tuple(finite_number(each, "alpha") for each in (given if several else [given]))
        keep(self, alpha=alpha if several else alpha[0], cv=whole_number(self.cv, "cv", 2))
        keep(self, inner_folds=self.cv if several else 1)

    def kernel(self, *arrays: Any) -> Any:
        """Similarities, weights and penalties of every fold."""
        return cross_validated_feature_reweighting(*arrays, alpha=self.alpha, cv=self.cv, **self._by)

    def summary(self, values: Any, *assemblies: xr.DataArray) -> Score:
        """The mean over splits, with their penalties if there are several."""
        coords = {"alpha": (SPLIT, values[2])} if isinstance(self.alpha, tuple) else {}
        return self._over_splits(values[0], coords, assemblies[1])


@dataclass(frozen=True)
class EncodingRDM(_HeldOutPairs):
    """Voxel-encoding RSA: the RDM of predicted responses, compared with that of the measured responses.

    The mapping of a regression is fitted to the training stimuli of each split. See
    ``bsjax.metrics.cross_validated_encoding_rdm``.

    Args:
        regression: name of a cross-validated regression, e.g. ``"pls"``, or one made by ``load_metric`` with its own
            settings; only its mapping is used.
        dissimilarity, comparison, crossvalidation_kwargs, dtype: as for ``WeightedRDM``.

    Source: Conwell et al. 2024; Khaligh-Razavi et al. 2017.

    Example:
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(60, 10))
        >>> round(float(bsjax.score_arrays(x, x @ rng.normal(size=(10, 5)), metric="encoding_rdm")), 2)
        1.0
    """

    identifier = "encoding_rdm"

    regression: Any = "ridge"
    dissimilarity: str = "correlation"
    comparison: str = "spearman"
    crossvalidation_kwargs: Mapping[str, Any] | None = field(default=None, hash=False)
    dtype: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        keep(self, mapping=as_metric(self.regression).mapping)
        if self.mapping is None:
            raise ValueError(f"regression must be one with a mapping, e.g. 'ridge', got {self.regression!r}")

    def kernel(self, *arrays: Any) -> Any:
        """Similarities of every fold."""
        return (cross_validated_encoding_rdm(*arrays, mapping=self.mapping, **self._by),)
