"""Benchmarks on recordings with a given split into training and test stimuli."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.base import BenchmarkBase
from bsjax.benchmarks.data_digest import data_digest
from bsjax.benchmarks.descriptions import Paradigm
from bsjax.benchmarks.experiment import (
    TimeBins,
    complete,
    needs_of_recordings,
    placed,
    record,
    single_region,
    squeeze_time,
    stimuli_of,
    timebins_from_assembly,
)
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.data import NeuroidAssembly, StimulusSet, average_repetition
from bsjax.labelled import Score
from bsjax.labelled.aggregate import SPLIT, mean_score, nan_median
from bsjax.labelled.metric import as_metric, scored
from bsjax.labelled.normalise import Normalisation
from bsjax.labelled.regression.crossvalidation import of_neuroids
from bsjax.labelled.resampling.plans import any_plan

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class TrainTestNeuralBenchmark(BenchmarkBase):
    """How well a regression fitted on given training stimuli predicts measured responses to given test stimuli.

    The arguments are those of Brain-Score's class of this name; those after ``per_voxel_ceilings`` are new. The
    assemblies may contain repetitions.

    Args:
        identifier: unique name of the benchmark.
        train_assembly, test_assembly: responses of the same neuroids to training and to test stimuli: assemblies with
            their stimuli, functions without arguments that load them, or ``LazyLoad``; loaded when a score first needs
            them. Repetitions are averaged.
        similarity_metric: ``metric(source_train, source_test, target_train, target_test) -> Score``, e.g.
            ``load_metric("ridge_split")``.
        visual_degrees, number_of_trials, ceiling_func, version, parent, bibtex: as for
            :class:`~bsjax.benchmarks.NeuralBenchmark`.
        alpha_coord: coordinate of the neuroids, usually ``"subject"``. The metric is fitted separately to the neuroids
            of each value, and each result is normalised by the ceiling of these neuroids (the mean over splits of the
            median over neuroids of ``ceiling.raw``). The score is the mean over the values.
        per_voxel_ceilings: whether to normalise each neuroid by its own ceiling and then average over neuroids.
        normalisation, region, time_bins, about: as for :class:`~bsjax.benchmarks.NeuralBenchmark`.

    Raises:
        ValueError: ``ceiling_func`` is missing.

    Example:
        >>> from bsjax import load_ceiling, load_metric, load_model
        >>> from bsjax.benchmarks import Ceiling
        >>> from bsjax.benchmarks.families.simulated.benchmark import assembly
        >>> trials = assembly().isel(time_bin=0)
        >>> ids = trials["stimulus_id"].values
        >>> train, test = (trials.isel(presentation=(ids < ids[120]) == first) for first in (True, False))
        >>> benchmark = TrainTestNeuralBenchmark(
        ...     "Simulated.V1-ridge_split", train, test, load_metric("ridge_split"),
        ...     ceiling_func=Ceiling(load_ceiling("internal_consistency"), test), parent="V1")
        >>> score = benchmark(load_model("gabor-v1"))
        >>> score.formula, 0 < score < 1
        ('r²/c', True)
    """

    def __init__(
        self,
        identifier: str,
        train_assembly: NeuroidAssembly | Callable[[], NeuroidAssembly] | LazyLoad,
        test_assembly: NeuroidAssembly | Callable[[], NeuroidAssembly] | LazyLoad,
        similarity_metric: Callable[..., Score],
        visual_degrees: float | None = None,
        number_of_trials: int = 1,
        ceiling_func: Callable[[], Score] | None = None,
        version: int = 1,
        parent: str = "",
        bibtex: str = "",
        alpha_coord: str | None = None,
        per_voxel_ceilings: bool = False,
        *,
        normalisation: str | Normalisation | None = None,
        region: str | None = None,
        time_bins: TimeBins | None = None,
        about: str = "",
    ) -> None:
        if per_voxel_ceilings:
            normalisation = "neuroid_wise_explained_variance"
        if normalisation is None:
            normalisation = as_metric(similarity_metric).normalisation or "explained_variance"
        super().__init__(identifier, ceiling_func, version, parent, bibtex, normalisation=normalisation)
        self.metric = similarity_metric
        self.visual_degrees = visual_degrees
        self.number_of_trials = number_of_trials
        self.alpha_coord = alpha_coord
        self.region = region
        self.time_bins = None if time_bins is None else list(time_bins)
        self.about = about
        self._load_train, self._load_test = loader(train_assembly), loader(test_assembly)

    @cached_property
    def train(self) -> NeuroidAssembly:
        """Responses to the training stimuli, averaged over repetitions, dims ``(presentation, neuroid)``."""
        return _averaged(self._load_train())

    @cached_property
    def test(self) -> NeuroidAssembly:
        """Responses to the test stimuli, averaged over repetitions, dims ``(presentation, neuroid)``."""
        return _averaged(self._load_test())

    def compared_with(self) -> list[NeuroidAssembly]:
        """The responses to the training and to the test stimuli."""
        return [self.train, self.test]

    @cached_property
    def stimuli(self) -> tuple[StimulusSet, StimulusSet]:
        """The training and the test stimuli."""
        return stimuli_of(self.train, self.identifier), stimuli_of(self.test, self.identifier)

    @cached_property
    def _region(self) -> str:
        return single_region(self.train, self.identifier, single_region(self.test, self.identifier, self.region))

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """The region, the digests of training and test data and of their stimuli, and the numbers of stimuli."""
        return {
            "region": self._region,
            "data": f"{data_digest(self.train)} {data_digest(self.test)}",
            "stimuli": " ".join(map(data_digest, self.stimuli)),
            "n_stimuli": self.test.sizes["presentation"],
            "n_train_stimuli": self.train.sizes["presentation"],
        }

    def ask(self, candidate: BrainModel) -> None:
        """Raise an error if the data lack something, before the model sees any stimulus."""
        for assembly in (self.train, self.test):
            complete(assembly, self.identifier, needs_of_recordings(self.time_bins, as_metric(self.metric)))

    def stimuli_for(self, candidate: BrainModel) -> list[StimulusSet]:
        """The training and the test stimuli as the model sees them."""
        return [placed(stimuli, candidate, self.visual_degrees) for stimuli in self.stimuli]

    def observe(self, candidate: BrainModel, stimuli: list[StimulusSet]) -> list[NeuroidAssembly]:
        """The model's responses to the training and to the test stimuli.

        Raises:
            ValueError: the model cannot record from the region, or the regions or time bins of the data differ from
                each other or from the declared ones.
        """
        time_bins = timebins_from_assembly(self.test, self.time_bins)
        return [record(candidate, self._region, time_bins, part, self.number_of_trials) for part in stimuli]

    def compare(self, observed: list[NeuroidAssembly]) -> Score | dict[str, Score]:
        """The score before normalisation; with ``alpha_coord``, one score for each of its values."""
        if self.alpha_coord is None:
            return scored(self.metric, *observed, self.train, self.test)
        sides, values = (self.train, self.test), self._values()
        if not self._fits_at_once():
            return {str(value): scored(self.metric, *observed, *self._part(value, *sides)) for value in values}
        whole = self.metric(*observed, *sides)
        neuroids = {str(value): np.flatnonzero(self.test[self.alpha_coord].values == value) for value in values}
        return {value: of_neuroids(whole, self.test.isel(neuroid=them), them) for value, them in neuroids.items()}

    def normalise(self, unceiled: Score | dict[str, Score], ceiling: Score | None = None) -> Score:
        """The score on the scale of the ceiling.

        With ``alpha_coord`` it is the mean of the normalised scores of all values, and its error is the standard error
        over them. ``score.ceiling`` is the ceiling of all neuroids together, although each part is normalised by its
        own ceiling. ``score.provenance["scores"]`` has the score of each value.
        """
        if isinstance(unceiled, Score):
            return super().normalise(unceiled, ceiling)
        name = str(self.alpha_coord)
        ceiled = {value: self.normalise(each, self._ceiling_of(value)) for value, each in unceiled.items()}
        score = mean_score(ceiled, name, what=f"values of {name}", ceiling=self.ceiling)
        if score.unceiled is None:
            raise ValueError(
                f"the normalisation of {self.identifier!r} returned a Score without unceiled: set it to the raw score"
            )
        raw = _side_by_side(unceiled, name)
        return replace(score, raw=raw, unceiled=replace(score.unceiled, raw=raw))

    def _fits_at_once(self) -> bool:
        """Whether one regression on all neuroids gives the same predictions as one for each part."""
        train, test = (part[str(self.alpha_coord)].values for part in (self.train, self.test))
        alone = as_metric(self.metric).fits_neuroids_alone
        return alone and not any_plan() and np.array_equal(train, test)

    def _values(self) -> np.ndarray:
        """The values of ``alpha_coord``, which must be the same in training and test data."""
        name = str(self.alpha_coord)
        for what, assembly in (("train", self.train), ("test", self.test)):
            if name not in assembly.coords or assembly[name].dims != ("neuroid",):
                present = [str(key) for key, coord in assembly.coords.items() if coord.dims == ("neuroid",)]
                raise ValueError(
                    f"the {what} data of {self.identifier!r} have no coordinate {name!r} of the neuroids; "
                    f"there are {', '.join(present)}"
                )
        values = np.unique(self.test[name].values)
        others = set(np.unique(self.train[name].values)) ^ set(values)
        if others:
            raise ValueError(
                f"train and test data of {self.identifier!r} differ in {name!r}: {', '.join(map(str, sorted(others)))}"
            )
        return values

    def _part(self, value: Any, *sides: NeuroidAssembly) -> list[NeuroidAssembly]:
        """The neuroids of each assembly with this value of ``alpha_coord``."""
        return [side.isel(neuroid=side[self.alpha_coord].values == value) for side in sides]

    def _ceiling_of(self, value: str) -> Score:
        """The ceiling of the neuroids of one value, from the raw values of the whole ceiling."""
        raw = self.ceiling.raw
        if raw is None or "neuroid" not in raw.dims:
            raise ValueError(
                f"the ceiling of {self.identifier!r} has no raw value per neuroid, which the ceilings of each "
                f"{self.alpha_coord} are taken from"
            )
        name = str(self.alpha_coord)
        ids = self.test["neuroid_id"].values[self.test[name].values.astype(str) == value]
        if name in raw.coords:  # ids may repeat from one subject to the next
            raw = raw.isel(neuroid=raw[name].values.astype(str) == value)
        raw = raw.isel(neuroid=np.isin(raw["neuroid_id"].values, ids))
        if raw.sizes["neuroid"] != len(ids):
            raise ValueError(
                f"the ceiling of {self.identifier!r} has {raw.sizes['neuroid']} of the {len(ids)} neuroids of {value}"
            )
        over_neuroids = xr.DataArray(np.atleast_1d(nan_median(raw.transpose(..., "neuroid").values)), dims=[SPLIT])
        return mean_score(over_neuroids, SPLIT, ddof=0, raw=raw)

    def paradigm(self) -> Paradigm:
        """The stimuli, recording, comparison and normalisation in words; loads no data."""
        by = f", for each {self.alpha_coord} by itself" if self.alpha_coord else ""
        return Paradigm(
            wording.shown("the training and the test stimuli", self.visual_degrees, self.number_of_trials),
            wording.recorded(self.region, self.time_bins),
            f"with {self.about or 'the recordings'}, by {wording.metric_words(self.metric)}{by}",
            wording.normalised(self.ceiling_func, self.normalisation) + (by and f"{by}, then averaged"),
        )


def _averaged(assembly: NeuroidAssembly) -> NeuroidAssembly:
    return squeeze_time(average_repetition(assembly) if "repetition" in assembly.coords else assembly)


def _side_by_side(scores: dict[str, Score], over: str) -> xr.DataArray | None:
    """The raw values of all scores, joined along the neuroids, with their part as a coordinate."""
    raws = [
        score.raw.assign_coords({over: ("neuroid", [name] * score.raw.sizes["neuroid"])}).drop_vars(
            "alpha", errors="ignore"
        )
        for name, score in scores.items()
        if score.raw is not None
    ]
    return xr.concat(raws, "neuroid") if raws else None
