"""Vernier offset discrimination with flankers: Malania, Herzog & Westheimer (2007).

People reported to which side the lower of two lines was offset, with and without flanking lines of several numbers and
lengths. Flankers raise the threshold, i.e. the offset that is needed, unless they group with each other.

A model learns left and right from other images, with two trials each, and is tested with ten trials each; its trials
differ by microsaccades of 0.02 degrees. A psychometric function over the offset in arcsec gives its threshold at 75 %
correct. If none can be fitted, the model scores 0, and ``score.unceiled.provenance`` gives the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import xarray as xr

from bsjax.benchmarks.descriptions import Paradigm
from bsjax.benchmarks.experiment import placed
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.published_behaviours import behavioural_benchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import PropertyAssembly, StimulusSet, load_dataset, load_stimulus_set
from bsjax.data.types.merging import merge_stimulus_set
from bsjax.labelled.behaviour.thresholds import BASELINE, CONDITION, MeanThreshold, Threshold, elevations, measured
from bsjax.models import BrainModel

_FAMILY = "Malania2007"


class VernierBenchmark(BehavioralBenchmark):
    """A behavioural benchmark with several tests, each after learning from its own stimulus set.

    Args:
        looks: name -> the stimulus sets that a model learns from and then sees in the test.
        fitting_trials: number of presentations of each image that it learns from.
        arguments: as for :class:`~bsjax.benchmarks.BehavioralBenchmark`. The metric gets a dictionary of answers with
            the names of ``looks``; ``stimuli`` and ``fitting_stimuli`` are those of the last one.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Malania2007.short4-threshold_elevation").looks["vernier_only"]
        ('Malania2007.short4_fit', 'Malania2007.vernier_only')
    """

    def __init__(
        self, *arguments: Any, looks: Mapping[str, tuple[str, str]], fitting_trials: int, **named: Any
    ) -> None:
        fitting, shown = [*looks.values()][-1]
        super().__init__(
            *arguments,
            fitting_stimuli=lambda: load_stimulus_set(fitting),
            stimuli=lambda: load_stimulus_set(shown),
            require_variance=True,
            **named,
        )
        self.looks = dict(looks)
        self.fitting_trials = fitting_trials

    @cached_property
    def shown(self) -> dict[str, StimulusSet]:
        """The stimuli of each test."""
        load = cache(load_stimulus_set)  # several tests may share a stimulus set
        return {name: load(shown) for name, (_, shown) in self.looks.items()}

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """The entries of every behavioural benchmark, with the number of stimuli of all tests."""
        return {**super().made_from, "n_stimuli": sum(map(len, self.shown.values()))}

    def ask(self, candidate: BrainModel) -> None:
        """Do nothing; a task is started for each test."""

    def stimuli_for(self, candidate: BrainModel) -> dict[str, StimulusSet]:
        """The stimuli of each test, as the model sees them."""
        return {name: placed(stimuli, candidate, self.visual_degrees) for name, stimuli in self.shown.items()}

    def observe(self, candidate: BrainModel, stimuli: Any) -> dict[str, xr.DataArray]:
        """The model's answers in each test, with the columns of the stimuli; it learns only once from each set."""
        behaviour: dict[str, xr.DataArray] = {}
        learned = None
        for name, (fitting, _) in self.looks.items():
            if fitting != learned:
                examples = placed(load_stimulus_set(fitting), candidate, self.fitting_degrees)
                start: Callable[..., None] = candidate.start_task  # settings are not part of the interface
                start(self.task, examples, number_of_trials=self.fitting_trials, require_variance=True)
                learned = fitting
            answers = candidate.look_at(stimuli[name], number_of_trials=self.number_of_trials, require_variance=True)
            behaviour[name] = merge_stimulus_set(answers, self.shown[name])
        return behaviour

    def paradigm(self) -> Paradigm:
        """The stimuli, task, comparison and normalisation in words; loads no data."""
        shown = (
            f"verniers, {self.visual_degrees:.2g} degrees wide, {self.number_of_trials} trials each, which differ by "
            f"microsaccades; fitted on other verniers, {self.fitting_trials} trials each"
        )
        compared = f"with {self.about}, by max(1 - |t - s|/t, 0) for the threshold t of each person, averaged"
        return super().paradigm()._replace(shown=shown, compared=compared)


def threshold_elevation(row: BenchmarkRow) -> VernierBenchmark:
    """How much flankers raise a model's threshold, compared with people's.

    Args:
        row: the row of ``"Malania2007.<condition>-threshold_elevation"``, e.g. of ``short16``.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Malania2007.long2-threshold_elevation").number_of_trials
        10
    """
    condition, baseline = row.settings["condition"], row.settings["baseline"]
    looks = {name: (f"{_FAMILY}.{condition}_fit", f"{_FAMILY}.{name}") for name in (baseline, condition)}
    return _benchmark(row, partial(_elevations, condition, baseline), looks)


def threshold(row: BenchmarkRow) -> VernierBenchmark:
    """A model's threshold without flankers, compared with people's.

    A model learns from each of the nine sets with flankers in turn; the score is the mean.

    Args:
        row: the row of ``"Malania2007.vernieracuity-threshold"``.

    Example:
        >>> from bsjax import load_benchmark
        >>> len(load_benchmark("Malania2007.vernieracuity-threshold").looks)
        9
    """
    conditions, baseline = row.settings["conditions"], row.settings["baseline"]
    looks = {name: (f"{_FAMILY}.{name}_fit", f"{_FAMILY}.{baseline}") for name in conditions}
    metric = MeanThreshold(Threshold(**row.settings["metric_kwargs"]))
    return _benchmark(row, partial(_baselines, conditions, baseline), looks, metric)


def _benchmark(
    row: BenchmarkRow, people: Callable[[], Any], looks: dict[str, tuple[str, str]], metric: Any = None
) -> VernierBenchmark:
    trials, fitting_trials = LazyLoad(people), row.settings["fitting_trials"]
    return behavioural_benchmark(
        row, trials, VernierBenchmark, metric=metric, looks=looks, fitting_trials=fitting_trials
    )


def _elevations(condition: str, baseline: str) -> PropertyAssembly:
    """Threshold with flankers divided by the threshold without, for people who have both."""
    with_flankers = measured(load_dataset(f"{_FAMILY}.{condition}"))
    without = _baseline_of(with_flankers, baseline)
    both = with_flankers.isel(subject=np.isin(with_flankers["subject"].values, without["subject"].values))
    return PropertyAssembly(elevations({BASELINE: without, CONDITION: both}, f"{_FAMILY}.{condition}", None))


def _baselines(conditions: Sequence[str], baseline: str) -> PropertyAssembly:
    """Thresholds without flankers ``(condition, subject)`` of the people who took part in each condition."""
    of = [_baseline_of(measured(load_dataset(f"{_FAMILY}.{name}")), baseline) for name in conditions]
    return PropertyAssembly(xr.concat(of, dim="condition", join="outer").assign_coords(condition=list(conditions)))


def _baseline_of(condition: xr.DataArray, baseline: str) -> xr.DataArray:
    thresholds = measured(load_dataset(f"{_FAMILY}.{baseline}"))
    return thresholds.isel(subject=np.isin(thresholds["subject"].values, condition["subject"].values))
