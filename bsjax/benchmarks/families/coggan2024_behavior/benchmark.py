"""Recognition of occluded objects by people: Coggan & Tong (2024).

30 people named eight objects behind 18 kinds of occluders (nine shapes, black or white), and without one. Each person
saw images of their own, so that a model is compared with a person by the accuracies in the 18 conditions.
"""

from __future__ import annotations

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.prepare.choices import most_probable
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import load_dataset, load_stimulus_set
from bsjax.labelled.behaviour.condition_accuracies import ConditionAccuracySimilarity


def condition_accuracy(identifier: str) -> BehavioralBenchmark:
    """Whether the occluders that make objects hard to recognise for people make them hard for a model.

    The score is the square of correlation over ceiling, with the sign of the correlation.

    Args:
        identifier: ``"tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity"``.

    Raises:
        KeyError: no such benchmark.

    Example:
        >>> condition_accuracy("tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity").normalisation
        'squared_ceil_score'
    """
    row = behavior_rows()[identifier]
    trials = LazyLoad(lambda: load_dataset(row["dataset"]))
    metric = ConditionAccuracySimilarity()
    return BehavioralBenchmark(
        identifier,
        trials,
        "probabilities",
        metric,
        fitting_stimuli=lambda: load_stimulus_set(row["fitting_stimuli"]),
        answers=most_probable,
        ceiling_func=Ceiling(metric.ceiling, trials),
        **fields_of(row),
        normalisation="squared_ceil_score",
        about="the accuracy of each of 30 people, behind each of 18 occluders",
    )
