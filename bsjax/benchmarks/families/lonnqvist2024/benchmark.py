"""Curves that cross: the data of Lonnqvist2024, of people in the laboratory and online.

An image shows curves of a certain length that cross each other a number of times; a person, or a model that has learned
from 185 examples, answers with one of two keys. The distances ask whether a model is as accurate as people, the
engineering accuracy how often it is right.
"""

from __future__ import annotations

from bsjax.benchmarks.ceilings import Ceiling, constant_ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.engineering import truths
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.prepare.choices import most_probable
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import load_dataset, load_stimulus_set
from bsjax.labelled import load_metric


def accuracy_distance(identifier: str) -> BehavioralBenchmark:
    """How near a model's accuracy is to that of each person, over how near people's accuracies are to each other.

    Args:
        identifier: e.g. ``"Lonnqvist2024_InlabInstructionsBehavioralAccuracyDistance"``.

    Raises:
        KeyError: no such benchmark.

    Example:
        >>> accuracy_distance("Lonnqvist2024_OnlineNoInstructionsBehavioralAccuracyDistance").visual_degrees
        17.70753
    """
    row = behavior_rows()[identifier]
    trials = LazyLoad(lambda: load_dataset(row["dataset"]))
    metric = load_metric("accuracy_distance")
    return BehavioralBenchmark(
        identifier,
        trials,
        "probabilities",
        metric,
        fitting_stimuli=lambda: load_stimulus_set(row["fitting_stimuli"]),
        stimuli=lambda: load_stimulus_set(row["stimuli"]),
        answers=most_probable,
        ceiling_func=Ceiling(metric.ceiling, trials),
        **fields_of(row),
        about=row["about"],
    )


def accuracy(identifier: str) -> BehavioralBenchmark:
    """How often a model gives the right answer; the ceiling is 1.

    Args:
        identifier: ``"Lonnqvist2024_EngineeringAccuracy"``.

    Raises:
        KeyError: no such benchmark.

    Example:
        >>> float(accuracy("Lonnqvist2024_EngineeringAccuracy").ceiling)
        1.0
    """
    row = behavior_rows()[identifier]
    return BehavioralBenchmark(
        identifier,
        lambda: truths(load_stimulus_set(row["stimuli"]), "truth"),
        "probabilities",
        load_metric("accuracy"),
        fitting_stimuli=lambda: load_stimulus_set(row["fitting_stimuli"]),
        answers=most_probable,
        ceiling_func=constant_ceiling(1.0, "every answer right"),
        **fields_of(row),
        about="the right answers",
    )
