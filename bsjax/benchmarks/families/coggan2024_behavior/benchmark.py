"""Recognition of occluded objects by people: Coggan & Tong (2024).

30 people named eight objects behind 18 kinds of occluders (nine shapes, black or white), and without occluders. Each
person saw different images, so a model is compared with a person by the accuracies in the 18 conditions.
"""

from __future__ import annotations

from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.published_behaviours import behavioural_benchmark
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.labelled.behaviour.condition_accuracies import ConditionAccuracySimilarity


def condition_accuracy(row: BenchmarkRow) -> BehavioralBenchmark:
    """Whether the occluders that make objects hard to recognise for people also make them hard for a model.

    The score is (correlation / ceiling)², with the sign of the correlation.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("tong.Coggan2024_behavior-ConditionWiseAccuracySimilarity").normalisation
        'squared_ceil_score'
    """
    return behavioural_benchmark(row, metric=ConditionAccuracySimilarity())
