"""Similarity of the distributions of single-neuron properties in a model and in a recording."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from bsjax.engine.sharding import Shards
from bsjax.labelled.aggregate import mean_and_deviation, spread_or_none
from bsjax.labelled.align import coordinate, with_dims
from bsjax.labelled.metric import Metric
from bsjax.labelled.score import Score
from bsjax.labelled.settings import whole_number
from bsjax.labelled.uncertainty import DRAW, of_draws
from bsjax.metrics.tuning.distributions import bootstrapped_similarity, ks_similarity

_NEUROID, _PROPERTY = "neuroid", "neuroid_property"
_UNDEFINED_DRAWS = 0.1


@dataclass(frozen=True)
class BootstrapDistributionSimilarity(Metric):
    """Similarity of the distributions of a single-neuron property in a model and in a recording.

    As many neurons as were recorded are drawn from the model with replacement, ``ns`` times. The histogram of each draw
    is compared with that of the recording. The score is the mean over draws, its error their standard deviation, and
    ``raw`` holds all values. The recording provides the bins of the histograms
    (``target.attrs[property_name + "_bins"]``); values beyond them count in the outermost bins.

    NaN marks a neuron without a value, e.g. a surround diameter without suppression. Such neurons are drawn like any
    other but count in no bin, so that a model with few defined neurons has small samples and a large error.
    ``n_undefined`` of ``n_units`` model neurons have no value. A draw without any value is undefined. The score is NaN
    if more than a tenth of the draws are undefined, and otherwise the mean of the defined ones.

    Args:
        property_name: name of the property, an entry of the coordinate ``neuroid_property``.
        similarity_func: a function, in JAX, of two histograms with sum 1: that of the draw and that of the recording.
        ns: number of draws.
        seed: seed of the draws, which equal those of ``numpy.random.seed(seed)`` in Brain-Score.
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Marques, Schrimpf & DiCarlo 2021.

    Example:
        >>> values = xr.DataArray(
        ...     [[0.1], [0.4], [0.6], [0.9]], dims=["neuroid", "neuroid_property"],
        ...     coords={"neuroid_property": ["osi"]}, attrs={"osi_bins": [0.0, 0.5, 1.0]})
        >>> BootstrapDistributionSimilarity("osi")(values, values)
        Score(0.6135 ± 0.3238 [-0.0215, 1.2485], 1 - KS/max)
    """

    identifier = "ks_similarity"
    zero_by_chance = False
    normalisation = "ceil_score"

    property_name: str
    similarity_func: Callable[..., Any] = ks_similarity
    ns: int = 1000
    seed: int = 0
    dtype: str | None = None

    def __post_init__(self) -> None:
        whole_number(self.ns, "ns", 1)

    def __call__(self, source: xr.DataArray, target: xr.DataArray) -> Score:
        """Compares the property of a model's neurons with that of recorded neurons.

        Args:
            source: (neuroid, neuroid_property) of the model.
            target: (neuroid, neuroid_property) of the recording, with the bins among its attributes.

        Raises:
            ValueError: the property, its bins or its values are missing.
        """
        ours, theirs = self._values(source, "source"), self._values(target, "target")
        edges = self._bins(target)
        if np.isnan(theirs).all():
            raise ValueError(f"target has no neuron with a value of {self.property_name!r} among {len(theirs)}")
        draws = np.random.RandomState(self.seed).randint(0, len(ours), (self.ns, len(theirs)))
        shards = Shards((None, None, None, 0), repeats=0)
        raw = self.run_kernel(
            bootstrapped_similarity, ours, theirs, edges, draws, shards=shards, similarity=self.similarity_func
        ).astype(float)
        undefined = {"target_units_undefined": int(np.isnan(theirs).sum()), "draws_undefined": int(np.isnan(raw).sum())}
        enough = np.isnan(raw).sum() <= _UNDEFINED_DRAWS * len(raw)
        drawn = xr.DataArray(raw if enough else np.full_like(raw, np.nan), dims=["bootstrap"])
        words = f"{self.ns} bootstrap draws"
        return mean_and_deviation(
            drawn,
            "bootstraps of the model's neurons",
            "1 - KS/max",
            self.provenance(details={"target_units": len(theirs), **undefined}),
            raw=xr.DataArray(raw, {"bootstrap": np.arange(self.ns)}, ["bootstrap"]),
            n_units=len(ours),
            n_undefined=int(np.isnan(ours).sum()),
            uncertainty=of_draws(0.0, drawn.rename(bootstrap=DRAW), ("neuroids",), words, kind="t") if enough else None,
        )

    def _values(self, assembly: xr.DataArray, what: str) -> np.ndarray:
        assembly = with_dims(assembly, what, _NEUROID, _PROPERTY)
        names = coordinate(assembly, _PROPERTY, _PROPERTY, what)
        column = np.flatnonzero(names == self.property_name)
        if len(column) != 1 or not assembly.sizes[_NEUROID]:
            raise ValueError(
                f"{what} must have the property {self.property_name!r} once, and neurons; it has "
                f"{assembly.sizes[_NEUROID]} neurons and: {', '.join(map(str, names))}"
            )
        return np.asarray(assembly.values[:, column[0]], float)

    def _bins(self, target: xr.DataArray) -> np.ndarray:
        name = f"{self.property_name}_bins"
        if name not in target.attrs:
            bins = [str(key) for key in target.attrs if str(key).endswith("_bins")]
            raise ValueError(f"target has no attribute {name!r}; bins are there for: {', '.join(bins) or 'nothing'}")
        edges = np.asarray(target.attrs[name], float).ravel()
        if len(edges) < 3 or not (np.diff(edges) > 0).all():
            raise ValueError(f"{name!r} must be the ascending edges of two bins or more, got {edges.tolist()}")
        return edges


@dataclass(frozen=True)
class NeuronalPropertyCeiling(Metric):
    """Similarity of a recording to bootstrap draws from it: the ceiling of a property's similarity.

    Args:
        similarity_metric: the ``BootstrapDistributionSimilarity`` to estimate the ceiling of.

    Source: Marques, Schrimpf & DiCarlo 2021.
    """

    identifier = "property_ceiling"

    similarity_metric: BootstrapDistributionSimilarity

    def __post_init__(self) -> None:
        if not isinstance(self.similarity_metric, BootstrapDistributionSimilarity):
            raise ValueError(
                "similarity_metric must be a similarity of properties such as load_metric('ks_similarity', ...), "
                f"got {type(self.similarity_metric).__name__}"
            )

    def __call__(self, assembly: xr.DataArray) -> Score:
        """The similarity of a recording to bootstrap draws from it.

        Args:
            assembly: (neuroid, neuroid_property) with the bins among its attributes.
        """
        score = spread_or_none(self.similarity_metric(assembly, assembly), "draws of neuroids")
        made = {"metric": self.identifier, "settings": self.own_settings(), "seeds": {}}
        if (score.n_units or 0) - score.n_undefined < 2:
            score = replace(score, value=math.nan, error=None, uncertainty=None)
            made["reason"] = "draws of a single neuroid are that neuroid, and say nothing of how alike draws are"
        return replace(score, provenance=replace(score.provenance, **made))
