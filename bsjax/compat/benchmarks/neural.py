"""Comparisons of a model's recordings with measured ones, with the arguments and attributes known to plugins."""

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
        number_of_trials: number of presentations of each stimulus.
        timebins: (start, end) of the time bins in ms; by default those of the data, or 70 to 170 if they have none.
        **kwargs: arguments of :class:`~bsjax.compat.benchmarks.base.BenchmarkBase`.
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
        """The region to record."""
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
    """As :class:`NeuralBenchmark`, with one assembly to fit a mapping to, and another to predict.

    Args:
        identifier: unique name.
        ceiling_func: function that returns the ceiling.
        version: number that rises whenever scores change.
        train_assembly, test_assembly: responses of one region.
        similarity_metric: ``metric(source_train, source_test, target_train, target_test) -> Score``.
        visual_degrees: width of the stimuli.
        number_of_trials: number of presentations of each stimulus.
        parent: the node under which the benchmark is averaged.
        alpha_coord: coordinate of neuroids; a separate mapping is fitted for each of its values.
        per_voxel_ceilings: whether each neuroid is normalised by its own ceiling instead of the aggregated one.
        **kwargs: arguments of :class:`~bsjax.compat.benchmarks.base.BenchmarkBase`.
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
        """The region to record."""
        region = experiment.single_region(content_of(self.train_assembly), self.identifier)
        return experiment.single_region(content_of(self.test_assembly), self.identifier, region)

    @cached_property
    def timebins(self) -> list[Any]:
        """(start, end) of each time bin of the data."""
        return timebins_from_assembly(self.train_assembly)

    def __call__(self, candidate: Any) -> Score:
        """Score a model; with ``alpha_coord``, return the mean, with the score of each value as an attribute."""
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
        """The score of some neuroids, normalised by their ceiling."""
        raw = self._similarity_metric(
            source_train=self.train_activations,
            target_train=train_data,
            source_test=self.test_activations,
            target_test=test_data,
        )
        return apply_ceiling(raw, ceiling_values)


class RSABenchmark(BenchmarkBase):
    """Similarity of dissimilarity matrices, averaged over subjects and divided by the similarity between subjects.

    Args:
        identifier: unique name.
        version: number that rises whenever scores change.
        assembly: responses with the coordinate ``subject`` on neuroids.
        region: the region to record.
        visual_degrees: width of the stimuli.
        number_of_trials: number of presentations of each stimulus.
        bibtex: publication of the data.
        ceiler: function from an assembly to the ceiling; by default ``rsa_ceiling``.
        parent: the node under which the benchmark is averaged; by default the region.
        rdm: function from an assembly to its dissimilarity matrix.
        similarity: function from two such matrices to their similarity.
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
        of, compare = rdm or RDM(), similarity or RDMSimilarity()
        custom = rdm is not None or similarity is not None
        self._metric = (lambda *sides: compare(*map(of, sides))) if custom else load_metric("rdm")

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
        scores = [float(self._metric(seen, subject)) for subject in subjects]
        raw = Score(np.mean(scores))
        raw.attrs["subject_scores"] = scores
        score = Score(raw.values / self.ceiling.values)
        score.attrs |= {_RAW: raw, "ceiling": self.ceiling}
        return score


def timebins_from_assembly(assembly: Any) -> list[Any]:
    """(start, end) of each time bin in ms; a single one for an assembly without the dimension."""
    return list(experiment.timebins_from_assembly(content_of(assembly)))


def average_repetition(assembly: Any) -> Any:
    """The mean over repetitions, see :func:`bsjax.data.average_repetition`."""
    return for_plugins(data.average_repetition(for_bsjax(content_of(assembly))))


def filter_reliable_neuroids(assembly: Any, reliab_threshold: float, reliab_coord: str) -> Any:
    """Select neuroids above a threshold, see :func:`bsjax.benchmarks.filter_reliable_neuroids`."""
    return for_plugins(steps.filter_reliable_neuroids(for_bsjax(content_of(assembly)), reliab_threshold, reliab_coord))


def flatten_timebins_into_neuroids(assembly: Any) -> Any:
    """Turn time bins into neuroids, see :func:`bsjax.benchmarks.flatten_timebins_into_neuroids`.

    The coordinate ``recording_time`` of a neuroid is the start of its time bin.
    """
    assembly = content_of(assembly)
    flat = for_plugins(steps.flatten_timebins_into_neuroids(for_bsjax(assembly)))
    starts = np.tile(assembly["time_bin_start"].values, assembly.sizes["neuroid"])
    return flat.assign_coords(recording_time=("neuroid", starts))


def apply_keep_attrs(assembly: Any, fnc: Callable[[Any], Any]) -> Any:
    """Apply a function to an assembly and keep the assembly's attributes."""
    made = fnc(assembly)
    made.attrs = assembly.attrs
    return made


def select_with_preserved_index(assembly: Any, coord_dict: Mapping[str, Any]) -> Any:
    """Select the neuroids with these values, with all their coordinates.

    Raises:
        KeyError: no neuroid matches.
    """
    return assembly.multisel(**coord_dict)


def neuroid_wise_explained_var(score: Any, ceiling: Any, aggregate_func: Callable[[Any], Any] = np.mean) -> Score:
    """Aggregate the squared score of each neuroid over its ceiling, sign(r) r²/c, for neuroids with a positive ceiling.

    Raises:
        ValueError: scores and ceilings have different neuroids, or one of them has no values per neuroid.
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
    """Similarity of subjects to the mean of all, with that to the mean of the others as ``lower_bound_loo``."""
    ceiling = MetricForPlugins(load_metric("rsa_ceiling"))(assembly)
    ceiling.attrs["lower_bound_loo"] = float(ceiling.raw.sel(bound="lower").mean())
    return ceiling


def _recorded(benchmark: Any, candidate: Any, stimulus_set: Any) -> Any:
    """A model's responses to stimuli; a single time bin is dropped."""
    candidate.start_recording(benchmark.region, time_bins=benchmark.timebins)
    degrees = benchmark._visual_degrees
    stimuli = place_on_screen(stimulus_set, candidate.visual_degrees(), source_visual_degrees=degrees)
    seen = candidate.look_at(stimuli, number_of_trials=benchmark._number_of_trials)
    return seen.squeeze("time_bin") if seen.sizes.get("time_bin") == 1 else seen
