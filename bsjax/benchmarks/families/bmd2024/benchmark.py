"""Textured silhouettes and dotted outlines: BMD2024, by Marin Dujmović.

In each of four experiments about fifty people named which of ten objects an image showed: silhouettes filled with a
repeated character, or outlines of dots. The benchmarks ask whether a model is as accurate as people are.
"""

from __future__ import annotations

from bsjax.benchmarks.ceilings import Ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import load_dataset
from bsjax.labelled import load_metric


def bmd2024(identifier: str) -> BehavioralBenchmark:
    """How near a model's accuracy is to that of each person, over how near people's are to each other.

    A model that is nearer to people than they are to each other scores above 1.

    Args:
        identifier: ``"BMD2024.<experiment>Behavioral-accuracy_distance"``, of ``texture_1``, ``texture_2``,
            ``dotted_1`` and ``dotted_2``.

    Raises:
        KeyError: no such benchmark.

    Source:
        Brain-Score's benchmark competition of 2024; a publication is to appear.

    Example:
        >>> benchmark = bmd2024("BMD2024.dotted_1Behavioral-accuracy_distance")
        >>> benchmark.visual_degrees, benchmark.parent
        (8, 'BMD2024')
    """
    row = behavior_rows()[identifier]
    trials = LazyLoad(lambda: load_dataset(row["dataset"]))
    metric = load_metric("accuracy_distance")
    return BehavioralBenchmark(
        identifier,
        trials,
        "label",
        metric,
        ceiling_func=Ceiling(metric.ceiling, trials),
        **fields_of(row),
        about=f"which of ten objects people chose in {row['dataset']}",
    )
