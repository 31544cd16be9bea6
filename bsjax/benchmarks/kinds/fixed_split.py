"""Comparison of a model with recordings that come with their own split into training and test stimuli."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.base import BenchmarkBase, Paradigm
from bsjax.benchmarks.data_digest import assembly_digest
from bsjax.benchmarks.experiment import TimeBins, on_screen, record, single_region, squeeze_time, timebins_from_assembly
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.data import NeuroidAssembly, average_repetition
from bsjax.labelled import Score
from bsjax.labelled.aggregate import SPLIT, nan_median, over
from bsjax.labelled.normalise import normalisation_named
from bsjax.labelled.padding import compare, fits_neuroids_alone, of_neuroids

if TYPE_CHECKING:
    from bsjax.models import BrainModel


class TrainTestNeuralBenchmark(BenchmarkBase):
    """How well a regression fitted on given training stimuli predicts measured responses to given test stimuli.

    The arguments are those of Brain-Score's class of this name; those after ``per_voxel_ceilings`` are new, and the
    assemblies may keep their repetitions.

    Args:
        identifier: unique name of the benchmark.
        train_assembly, test_assembly: responses of the same neuroids to training and to test stimuli: assemblies, each
            with its stimuli, functions without arguments that load them, or ``LazyLoad``; loaded when a score first
            needs them. Repetitions are averaged.
        similarity_metric: ``metric(source_train, source_test, target_train, target_test) -> Score``, e.g.
            ``load_metric("ridge_split")``.
        visual_degrees, number_of_trials, ceiling_func, version, parent, bibtex: as for
            :class:`~bsjax.benchmarks.NeuralBenchmark`.
        alpha_coord: coordinate of the neuroids, usually ``"subject"``: the metric is fitted to the neuroids of each of
            its values by themselves, each result is normalised by the ceiling of these neuroids (the mean over splits
            of the median over neuroids of ``ceiling.raw``), and the score is the mean over the values.
        per_voxel_ceilings: normalise each neuroid by its own ceiling, and average over neuroids.
        normalisation, region, time_bins, about: as for :class:`~bsjax.benchmarks.NeuralBenchmark`.

    Raises:
        ValueError: there is no ``ceiling_func``.

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
        normalisation: str | Callable[[Score, Score], Score] = "explained_variance",
        region: str | None = None,
        time_bins: TimeBins | None = None,
        about: str = "",
    ) -> None:
        super().__init__(identifier, ceiling_func, version, parent, bibtex)
        if per_voxel_ceilings:
            normalisation = "neuroid_wise_explained_variance"
        self.metric = similarity_metric
        self.visual_degrees = visual_degrees
        self.number_of_trials = number_of_trials
        self.alpha_coord = alpha_coord
        self.normalisation = wording.normalisation_name(normalisation)
        self._normalise = normalisation_named(normalisation) if isinstance(normalisation, str) else normalisation
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

    @cached_property
    def _digest(self) -> str:
        return f"{assembly_digest(self.train)} {assembly_digest(self.test)}"

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``.

        Returns:
            The ceiled score; ``score.unceiled.raw`` has one correlation per neuroid. With ``alpha_coord``, its error
            is the standard error over that coordinate's values, ``score.ceiling`` is that of all neuroids together
            (each part was normalised by its own), and ``score.provenance["scores"]`` has the ceiled score of each.

        Raises:
            ValueError: the model cannot record from the region; regions or time bins of the data differ from one
                another or from those declared; or the metric cannot compare them.
        """
        start = datetime.now(UTC)
        region = single_region(self.test, self.identifier, self.region)
        single_region(self.train, self.identifier, region)
        time_bins = timebins_from_assembly(self.test, self.time_bins)
        sources = [
            record(candidate, region, time_bins, self._stimuli_for(part, candidate), self.number_of_trials)
            for part in (self.train, self.test)
        ]
        if self.alpha_coord is None:
            score = self._normalise(compare(self.metric, *sources, self.train, self.test), self.ceiling)
        else:
            score = self._mean_over_parts(sources)
        n_train, n_test = self.train.sizes["presentation"], self.test.sizes["presentation"]
        return self.labelled(
            score, candidate, start=start, region=region, data=self._digest, n_stimuli=n_test, n_train_stimuli=n_train
        )

    def _stimuli_for(self, part: NeuroidAssembly, candidate: BrainModel):
        return on_screen(part, candidate, self.visual_degrees, self.identifier)

    def _mean_over_parts(self, sources: list[NeuroidAssembly]) -> Score:
        ceiled: dict[str, Score] = {}
        whole: Score | None = None
        for value, train, test, ceiling in self._parts():
            if whole is None and self._fits_at_once():
                whole = compare(self.metric, *sources, self.train, self.test)
            if whole is None:
                score = compare(self.metric, *sources, train, test)
            else:
                neuroids = np.flatnonzero(self.test[str(self.alpha_coord)].values.astype(str) == value)
                score = of_neuroids(whole, test, neuroids)
            ceiled[value] = self._normalise(score, ceiling)
        name = str(self.alpha_coord)
        score = over(ceiled, name, what=f"values of {name}", ceiling=self.ceiling)
        if score.unceiled is None:
            raise ValueError("a normalised score keeps the score before its normalisation")
        raw = _side_by_side({value: part.unceiled for value, part in ceiled.items() if part.unceiled}, name)
        return replace(score, raw=raw, unceiled=replace(score.unceiled, raw=raw))

    def _fits_at_once(self) -> bool:
        """Whether one regression predicts the neuroids of all parts as one for each part would."""
        train, test = (part[str(self.alpha_coord)].values for part in (self.train, self.test))
        return fits_neuroids_alone(self.metric) and np.array_equal(train, test)

    def _parts(self) -> Iterator[tuple[str, NeuroidAssembly, NeuroidAssembly, Score]]:
        """Each value of the coordinate, with its neuroids in training, test and ceiling."""
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
        for value in values:
            train, test = (part.isel(neuroid=part[name].values == value) for part in (self.train, self.test))
            yield str(value), train, test, self._ceiling_of(test, str(value))

    def _ceiling_of(self, part: NeuroidAssembly, value: str) -> Score:
        """The ceiling of some neuroids, from the raw values of the whole."""
        raw = self.ceiling.raw
        if raw is None or "neuroid" not in raw.dims:
            raise ValueError(
                f"the ceiling of {self.identifier!r} has no raw value per neuroid, which the ceilings of each "
                f"{self.alpha_coord} are taken from"
            )
        name, ids = str(self.alpha_coord), part["neuroid_id"].values
        if name in raw.coords:  # ids may repeat from one subject to the next
            raw = raw.isel(neuroid=raw[name].values.astype(str) == value)
        raw = raw.isel(neuroid=np.isin(raw["neuroid_id"].values, ids))
        if raw.sizes["neuroid"] != len(ids):
            raise ValueError(
                f"the ceiling of {self.identifier!r} has {raw.sizes['neuroid']} of the {len(ids)} neuroids of {value}"
            )
        over_neuroids = xr.DataArray(np.atleast_1d(nan_median(raw.transpose(..., "neuroid").values)), dims=[SPLIT])
        return over(over_neuroids, SPLIT, ddof=0, raw=raw)

    def paradigm(self) -> Paradigm:
        """What is shown, recorded, compared and normalised; nothing is loaded for it."""
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
    """The raw values of all, the neuroids with the name that they are of."""
    raws = [
        score.raw.assign_coords({over: ("neuroid", [name] * score.raw.sizes["neuroid"])}).drop_vars(
            "alpha", errors="ignore"
        )
        for name, score in scores.items()
        if score.raw is not None
    ]
    return xr.concat(raws, "neuroid") if raws else None
