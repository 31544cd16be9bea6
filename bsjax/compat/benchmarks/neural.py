"""Comparisons of a model's recordings with measured ones, with the arguments and attributes that plugins know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr

from bsjax import data
from bsjax.benchmarks import experiment
from bsjax.benchmarks.lazy_loading import content_of
from bsjax.benchmarks.prepare import steps
from bsjax.compat.assemblies import for_bsjax, for_plugins, level_names
from bsjax.compat.benchmarks.base import BenchmarkBase, explained_variance
from bsjax.compat.metrics.rdm import RDM, RDMSimilarity
from bsjax.compat.score import Score
from bsjax.compat.sides.scores import MetricForPlugins, score_for_plugins
from bsjax.labelled.registry import load_metric
from bsjax.models.screen import place_on_screen

_RAW = Score.RAW_VALUES_KEY
_TIME_BINS = [(70, 170)]


class NeuralBenchmark(BenchmarkBase):
    """How well responses in a region account for measured responses to the same stimuli.

    Args:
        identifier: unique name.
        assembly: responses of one region, averaged over repetitions, with ``attrs["stimulus_set"]``.
        similarity_metric: ``metric(source, target) -> Score``.
        visual_degrees: width of the stimuli.
        number_of_trials: how often the model sees each.
        timebins: (start, end) of the time bins in ms; those of the data if not given, or 70 to 170 if they have none.
        **kwargs: of :class:`~bsjax.compat.benchmarks.base.BenchmarkBase`.
    """

    def __init__(
        self,
        identifier: str,
        assembly: Any,
        similarity_metric: Any,
        visual_degrees: float,
        number_of_trials: int,
        timebins: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(identifier=identifier, **kwargs)
        self._assembly = assembly
        self._similarity_metric = similarity_metric
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._timebins = timebins

    @cached_property
    def region(self) -> str:
        """Where to record."""
        return experiment.single_region(content_of(self._assembly), self.identifier)

    @cached_property
    def timebins(self) -> list[Any]:
        """(start, end) of each time bin."""
        timed = self._timebins is None and "time_bin_start" in content_of(self._assembly).coords
        return timebins_from_assembly(self._assembly) if timed else list(self._timebins or _TIME_BINS)

    def __call__(self, candidate: Any) -> Score:
        """Score a model."""
        assembly = content_of(self._assembly)
        seen = _recorded(self, candidate, assembly.stimulus_set)
        return explained_variance(self._similarity_metric(seen, assembly), self.ceiling)


class TrainTestNeuralBenchmark(BenchmarkBase):
    """The same with one assembly to fit a mapping to, and another to predict.

    Args:
        identifier: unique name.
        ceiling_func: gives the ceiling.
        version: raised whenever scores change.
        train_assembly, test_assembly: responses of one region.
        similarity_metric: ``metric(source_train, source_test, target_train, target_test) -> Score``.
        visual_degrees: width of the stimuli.
        number_of_trials: how often the model sees each.
        parent: what the benchmark is averaged under.
        alpha_coord: coordinate of neuroids, for each value of which a mapping is fitted by itself.
        per_voxel_ceilings: whether each neuroid is put on the scale of its own ceiling, rather than their aggregate.
        **kwargs: of :class:`~bsjax.compat.benchmarks.base.BenchmarkBase`.
    """

    def __init__(
        self,
        identifier: str,
        ceiling_func: Callable[[], Any],
        version: Any,
        train_assembly: Any,
        test_assembly: Any,
        similarity_metric: Any,
        visual_degrees: float,
        number_of_trials: int,
        parent: str,
        alpha_coord: str | None = None,
        per_voxel_ceilings: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(identifier, ceiling_func, version, parent, **kwargs)
        self.train_assembly = train_assembly
        self.test_assembly = test_assembly
        self._similarity_metric = similarity_metric
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self.alpha_coord = alpha_coord
        self.ceiling_mode = neuroid_wise_explained_var if per_voxel_ceilings else explained_variance

    @cached_property
    def region(self) -> str:
        """Where to record."""
        region = experiment.single_region(content_of(self.train_assembly), self.identifier)
        return experiment.single_region(content_of(self.test_assembly), self.identifier, region)

    @cached_property
    def timebins(self) -> list[Any]:
        """(start, end) of each time bin of the data."""
        return timebins_from_assembly(self.train_assembly)

    def __call__(self, candidate: Any) -> Score:
        """Score a model; with ``alpha_coord`` the mean, and the score of each of its values as an attribute."""
        train, test = content_of(self.train_assembly), content_of(self.test_assembly)
        self.train_activations = _recorded(self, candidate, train.stimulus_set)
        self.test_activations = _recorded(self, candidate, test.stimulus_set)
        if self.alpha_coord is None:
            return self.get_score(train, test, self.ceiling, self.ceiling_mode)
        scores = {}
        for value in np.unique(train[self.alpha_coord].values):
            of_value = {self.alpha_coord: value}
            raw = select_with_preserved_index(self.ceiling.raw, of_value)
            ceiling = Score(np.mean(np.median(raw, axis=1)))
            ceiling.attrs[_RAW] = raw
            fitted, tested = (select_with_preserved_index(each, of_value) for each in (train, test))
            score = self.get_score(fitted, tested, ceiling, self.ceiling_mode).expand_dims(self.alpha_coord)
            score[self.alpha_coord] = [value]
            scores[value] = score
        mean = Score(np.mean([score.item() for score in scores.values()]))
        mean.attrs[_RAW] = Score(np.mean([np.mean(score.raw.values) for score in scores.values()]))
        mean.attrs[_RAW].attrs[_RAW] = xr.concat(scores.values(), dim=self.alpha_coord, combine_attrs="drop")
        mean.attrs |= {"ceiling": self.ceiling, **scores}
        return mean

    def get_score(self, train_data: Any, test_data: Any, ceiling_values: Any, apply_ceiling: Any) -> Score:
        """The score for some neuroids, on the scale of their ceiling."""
        raw = self._similarity_metric(
            source_train=self.train_activations,
            target_train=train_data,
            source_test=self.test_activations,
            target_test=test_data,
        )
        return apply_ceiling(raw, ceiling_values)


class RSABenchmark(BenchmarkBase):
    """The similarity of dissimilarity matrices, the mean over subjects, by that of subjects to each other.

    Args:
        identifier: unique name.
        version: raised whenever scores change.
        assembly: responses with the coordinate ``subject`` on neuroids.
        region: what is recorded.
        visual_degrees: width of the stimuli.
        number_of_trials: how often the model sees each.
        bibtex: publication of the data.
        ceiler: gives the ceiling of an assembly; ``rsa_ceiling`` if not given.
        parent: what the benchmark is averaged under; the region if not given.
        rdm: assembly -> dissimilarity matrix.
        similarity: of two such matrices.
    """

    def __init__(
        self,
        identifier: str,
        version: Any,
        assembly: Any,
        region: str,
        visual_degrees: float,
        number_of_trials: int,
        bibtex: str,
        ceiler: Any = None,
        parent: str | None = None,
        rdm: Any = None,
        similarity: Any = None,
    ) -> None:
        ceiler = ceiler or _between_subjects
        super().__init__(identifier, lambda: ceiler(content_of(assembly)), version, parent or region, bibtex)
        self._assembly = assembly
        self.region = region
        self._visual_degrees = visual_degrees
        self._number_of_trials = number_of_trials
        self._rdm, self._similarity = rdm or RDM(), similarity or RDMSimilarity()
        self._metric = None if rdm or similarity else load_metric("rdm")

    @property
    def timebins(self) -> list[Any]:
        """(start, end) of each time bin of the data."""
        return timebins_from_assembly(self._assembly)

    def __call__(self, candidate: Any) -> Score:
        """Score a model."""
        assembly = content_of(self._assembly)
        seen = _recorded(self, candidate, assembly.stimulus_set)
        names = np.unique(assembly["subject"].values)
        subjects = [select_with_preserved_index(assembly, {"subject": name}) for name in names]
        scores = [float(self._compared(seen, subject)) for subject in subjects]
        raw = Score(np.mean(scores))
        raw.attrs["subject_scores"] = scores
        score = Score(raw.values / self.ceiling.values)
        score.attrs |= {_RAW: raw, "ceiling": self.ceiling}
        return score

    def _compared(self, seen: Any, subject: Any) -> Any:
        if self._metric is not None:
            return self._metric(seen, subject)
        return self._similarity(self._rdm(seen), self._rdm(subject))


def timebins_from_assembly(assembly: Any) -> list[Any]:
    """(start, end) of each time bin in ms; of an assembly without such a dimension its one bin."""
    return list(experiment.timebins_from_assembly(content_of(assembly)))


def average_repetition(assembly: Any) -> Any:
    """The mean over repetitions, see :func:`bsjax.data.average_repetition`."""
    return for_plugins(data.average_repetition(for_bsjax(content_of(assembly))))


def filter_reliable_neuroids(assembly: Any, reliab_threshold: float, reliab_coord: str) -> Any:
    """The neuroids above a threshold, see :func:`bsjax.benchmarks.filter_reliable_neuroids`."""
    return for_plugins(steps.filter_reliable_neuroids(for_bsjax(content_of(assembly)), reliab_threshold, reliab_coord))


def flatten_timebins_into_neuroids(assembly: Any) -> Any:
    """Time bins as neuroids, see :func:`bsjax.benchmarks.flatten_timebins_into_neuroids`.

    The start of its time bin is the coordinate ``recording_time`` of a neuroid.
    """
    assembly = content_of(assembly)
    flat = for_plugins(steps.flatten_timebins_into_neuroids(for_bsjax(assembly)))
    starts = np.tile(assembly["time_bin_start"].values, assembly.sizes["neuroid"])
    return flat.assign_coords(recording_time=("neuroid", starts))


def apply_keep_attrs(assembly: Any, fnc: Callable[[Any], Any]) -> Any:
    """What a function makes of an assembly, with the assembly's attributes."""
    made = fnc(assembly)
    made.attrs = assembly.attrs
    return made


def select_with_preserved_index(assembly: Any, coord_dict: Mapping[str, Any]) -> Any:
    """The neuroids with these values, with all their coordinates.

    Raises:
        KeyError: there are none.
    """
    return assembly.multisel(**coord_dict)


def neuroid_wise_explained_var(score: Any, ceiling: Any, aggregate_func: Callable[[Any], Any] = np.mean) -> Score:
    """The aggregate of each neuroid's squared score by its ceiling, sign(r) r²/c, of those with a positive ceiling.

    Raises:
        ValueError: scores and ceilings are not of the same neuroids, or the score has none.
    """
    raw, ceilings = score.attrs.get(_RAW), ceiling.attrs.get(_RAW, ceiling)
    if raw is None or "neuroid" not in raw.dims or "neuroid" not in ceilings.dims:
        raise ValueError("score and ceiling must have raw values of neuroids")
    if "split" in ceilings.dims:
        ceilings = ceilings.mean("split")
    if "split" in raw.dims:
        raw = raw.mean("split")
    names, others = level_names(raw, "neuroid"), level_names(ceilings, "neuroid")
    shared = [name for name in names if name in others]
    differ = [name for name in shared if not np.array_equal(raw[name].values, ceilings[name].values)]
    if differ or (names and others and not shared):
        raise ValueError(
            "scores and ceilings must be of the same neuroids, in the same order: "
            f"{', '.join(map(repr, differ or names + others))} differ"
        )
    explained = np.sign(raw) * raw**2 / ceilings.where(ceilings > 0)
    made = Score(aggregate_func(explained))
    made.attrs = {**score.raw.attrs, **score.attrs, "ceiled_scores": explained, "ceiling": ceiling}
    return score_for_plugins(made)


def _between_subjects(assembly: Any) -> Score:
    """How alike subjects are to the mean of all; and to that of the others, the attribute ``lower_bound_loo``."""
    ceiling = MetricForPlugins(load_metric("rsa_ceiling"))(assembly)
    ceiling.attrs["lower_bound_loo"] = float(ceiling.raw.sel(bound="lower").mean())
    return ceiling


def _recorded(benchmark: Any, candidate: Any, stimulus_set: Any) -> Any:
    """A model's responses to stimuli; a single time bin has no dimension."""
    candidate.start_recording(benchmark.region, time_bins=benchmark.timebins)
    degrees = benchmark._visual_degrees
    stimuli = place_on_screen(stimulus_set, candidate.visual_degrees(), source_visual_degrees=degrees)
    seen = candidate.look_at(stimuli, number_of_trials=benchmark._number_of_trials)
    return seen.squeeze("time_bin") if seen.sizes.get("time_bin") == 1 else seen
