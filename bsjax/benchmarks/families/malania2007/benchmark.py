"""Vernier offsets and what surrounds them: Malania, Herzog & Westheimer (2007).

People said to which side the lower of two lines was offset, with and without flanking lines of several numbers and
lengths. Flankers raise the offset that is needed, the threshold, unless they group with each other.

A model learns left and right from other images, on two trials each, and answers on ten; its trials differ by
microsaccades of 0.02 degrees. A psychometric function over the offset in arcsec gives its threshold at 75 % correct. A
model to which none can be fitted scores 0, and ``score.unceiled.provenance`` says why.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import numpy as np
import xarray as xr

from bsjax.benchmarks.base import Paradigm
from bsjax.benchmarks.ceilings import Ceiling, content_digest
from bsjax.benchmarks.experiment import placed
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import PropertyAssembly, load_dataset, load_stimulus_set
from bsjax.data.types.merging import merge_stimulus_set
from bsjax.labelled import Score, load_metric
from bsjax.labelled.aggregate import over
from bsjax.labelled.behaviour.subject_thresholds import BASELINE, CONDITION, elevations
from bsjax.models import BrainModel

_FAMILY = "Malania2007"


class VernierBenchmark(BehavioralBenchmark):
    """A behavioural benchmark of several looks, each after learning from a stimulus set of its own.

    Args:
        looks: name -> the stimulus sets that a model learns from and then looks at.
        fitting_trials: how often it sees each image that it learns from.
        arguments: as of :class:`~bsjax.benchmarks.BehavioralBenchmark`. The metric gets a dictionary of answers with
            the names of ``looks``; ``stimuli`` and ``fitting_stimuli`` are those of the last look.

    Example:
        >>> threshold_elevation("Malania2007.short4-threshold_elevation").looks["vernier_only"]
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

    def __call__(self, candidate: BrainModel) -> Score:
        """Score ``candidate``.

        Raises:
            ValueError: the model cannot do the task, or its answers cannot be compared.
        """
        start = datetime.now(UTC)
        behaviour = self.behaviour_of(candidate)
        return self.labelled(
            self._normalise(self.metric(behaviour, self.assembly), self.ceiling),
            candidate,
            start=start,
            task=self.task.value,
            data=f"sha256:{content_digest(self.assembly)[:16]}",
            n_stimuli=sum(len(np.unique(answers["stimulus_id"].values)) for answers in behaviour.values()),
        )

    def behaviour_of(self, candidate: BrainModel) -> dict[str, xr.DataArray]:
        """What ``candidate`` answers in each look, with the columns of the stimuli; it learns once from each set."""
        behaviour: dict[str, xr.DataArray] = {}
        learned = None
        for name, (fitting, shown) in self.looks.items():
            if fitting != learned:
                examples = placed(load_stimulus_set(fitting), candidate, self.fitting_degrees)
                start: Callable[..., None] = candidate.start_task  # settings are no part of the interface
                start(self.task, examples, number_of_trials=self.fitting_trials, require_variance=True)
                learned = fitting
            stimuli = load_stimulus_set(shown)
            answers = candidate.look_at(
                placed(stimuli, candidate, self.visual_degrees),
                number_of_trials=self.number_of_trials,
                require_variance=True,
            )
            behaviour[name] = merge_stimulus_set(answers, stimuli)
        return behaviour

    def paradigm(self) -> Paradigm:
        """What is shown, asked, compared and normalised; nothing is loaded for it."""
        shown = (
            f"verniers, {self.visual_degrees:.2g} degrees wide, {self.number_of_trials} trials each that differ by "
            f"microsaccades; to learn from, {self.fitting_trials} trials each of others"
        )
        compared = f"with {self.about}, by max(1 - |t - s|/t, 0) for each person's t, averaged"
        return super().paradigm()._replace(shown=shown, compared=compared)


class MeanThreshold:
    """Nearness of a model's thresholds to people's, averaged over conditions; the error, over those that have one.

    Args:
        settings: of the metric ``threshold``.

    Example:
        >>> people = xr.DataArray([[2.0, 4.0], [4.0, float("nan")]], {"condition": ["a", "b"], "subject": ["p", "q"]})
        >>> MeanThreshold("offset")({"a": 4.0, "b": 4.0}, people)
        Score(0.7500 ± 0.5000, mean over conditions of max(1 - |t - s|/t, 0))
    """

    def __init__(self, *settings: Any, **named: Any) -> None:
        self.metric = load_metric("threshold", *settings, **named)

    def __call__(self, source: Mapping[str, xr.DataArray | float], target: xr.DataArray) -> Score:
        """Compares a model with people; raises as ``threshold``.

        Args:
            source: condition -> a model's probabilities or threshold, as for ``threshold``.
            target: people's thresholds (condition, subject), NaN for who has not done a condition.
        """
        return self._mean(target, lambda name, people: self.metric(source[name], people))

    def ceiling(self, assembly: xr.DataArray) -> Score:
        """How near people's thresholds, as ``target``, are to each other's, averaged over conditions."""
        return self._mean(assembly, lambda _, people: self.metric.ceiling(people))

    def _mean(self, people: xr.DataArray, score: Callable[[str, xr.DataArray], Score]) -> Score:
        """The mean, and the mean of the errors: people are the same in all conditions, so it does not shrink."""
        names = [str(name) for name in people["condition"].values]
        scores = {name: score(name, _measured(people.sel(condition=name, drop=True))) for name in names}
        errors = [float(each.error) for each in scores.values() if each.error is not None]
        first = next(iter(scores.values()))
        return over(
            scores,
            "condition",
            error=float(np.mean(errors)) if errors else None,
            error_kind="mean over conditions of the standard deviation over subjects"
            if errors
            else "none: no condition has two subjects with a threshold",
            formula=f"mean over conditions of {first.formula}",
            n_units=len(scores),
            n_undefined=sum(bool(np.isnan(float(each))) for each in scores.values()),
            provenance=first.provenance.with_details(
                fit={name: each.provenance.details.get("fit") for name, each in scores.items()}
            ),
        )


def threshold_elevation(identifier: str) -> VernierBenchmark:
    """By how much flankers raise a model's threshold, against by how much they raise people's.

    Args:
        identifier: ``"Malania2007.<condition>-threshold_elevation"``, e.g. of ``short16``.

    Raises:
        KeyError: no such benchmark.

    Example:
        >>> threshold_elevation("Malania2007.long2-threshold_elevation").number_of_trials
        10
    """
    row = behavior_rows()[identifier]
    condition, baseline = row["condition"], row["baseline"]
    metric = load_metric(
        "threshold_elevation",
        row["independent_variable"],
        baseline_condition=baseline,
        test_condition=condition,
        threshold_accuracy=row["threshold_accuracy"],
    )
    fitting = f"{_FAMILY}.{condition}_fit"
    looks = {name: (fitting, f"{_FAMILY}.{name}") for name in (baseline, condition)}
    about = f"the thresholds of people with the flankers {condition} over theirs without flankers"
    return _benchmark(identifier, metric, partial(_elevations, condition, baseline), looks, about)


def threshold(identifier: str) -> VernierBenchmark:
    """A model's threshold without flankers, against people's.

    A model learns from each of the nine sets with flankers in turn; the score is the mean.

    Args:
        identifier: ``"Malania2007.vernieracuity-threshold"``.

    Raises:
        KeyError: no such benchmark.

    Example:
        >>> len(threshold("Malania2007.vernieracuity-threshold").looks)
        9
    """
    row = behavior_rows()[identifier]
    conditions, baseline = row["conditions"], row["baseline"]
    metric = MeanThreshold(row["independent_variable"], threshold_accuracy=row["threshold_accuracy"])
    looks = {name: (f"{_FAMILY}.{name}_fit", f"{_FAMILY}.{baseline}") for name in conditions}
    about = "the thresholds of people without flankers, for each of nine sets of images to learn from"
    return _benchmark(identifier, metric, partial(_baselines, conditions, baseline), looks, about)


def _benchmark(
    identifier: str, metric: Any, people: Callable[[], Any], looks: dict[str, tuple[str, str]], about: str
) -> VernierBenchmark:
    row = behavior_rows()[identifier]
    thresholds = LazyLoad(people)
    return VernierBenchmark(
        identifier,
        thresholds,
        "probabilities",
        metric,
        looks=looks,
        fitting_trials=row["fitting_trials"],
        ceiling_func=Ceiling(metric.ceiling, thresholds),
        **fields_of(row),
        about=about,
    )


def _elevations(condition: str, baseline: str) -> PropertyAssembly:
    """Threshold with flankers over that without, of the people who have both."""
    with_flankers = _measured(load_dataset(f"{_FAMILY}.{condition}"))
    without = _baseline_of(with_flankers, baseline)
    both = with_flankers.isel(subject=np.isin(with_flankers["subject"].values, without["subject"].values))
    return PropertyAssembly(elevations({BASELINE: without, CONDITION: both}, f"{_FAMILY}.{condition}", None))


def _baselines(conditions: list[str], baseline: str) -> PropertyAssembly:
    """Thresholds without flankers ``(condition, subject)`` of the people who have done each condition."""
    of = [_baseline_of(_measured(load_dataset(f"{_FAMILY}.{name}")), baseline) for name in conditions]
    return PropertyAssembly(xr.concat(of, dim="condition", join="outer").assign_coords(condition=conditions))


def _baseline_of(condition: xr.DataArray, baseline: str) -> xr.DataArray:
    thresholds = _measured(load_dataset(f"{_FAMILY}.{baseline}"))
    return thresholds.isel(subject=np.isin(thresholds["subject"].values, condition["subject"].values))


def _measured(thresholds: xr.DataArray) -> xr.DataArray:
    """Those that are numbers."""
    return thresholds.isel(subject=np.isfinite(thresholds.values))
