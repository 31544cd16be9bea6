"""Objects under manipulations: Maniquet, Op de Beeck & Costantino (2024).

People named objects that were occluded, surrounded by clutter, scrambled, or shown as they are. A model learns the
objects from other images and answers for the same manipulations.

The ceilings are the authors' numbers. With ``ceiling="computed"`` they are the reliability of people's trials: random
halves of the people, corrected by Spearman-Brown.
"""

from __future__ import annotations

from bsjax.benchmarks.ceilings import Ceiling, constant_ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.benchmarks.prepare.choices import known_or_computed, with_columns_of
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import load_dataset, load_stimulus_set
from bsjax.labelled import load_metric

_SOURCE = "computed offline by the authors, as Brain-Score states it"


def benchmark(identifier: str, ceiling: str = "known") -> BehavioralBenchmark:
    """Whether a model takes objects for those that people take them for, or finds the same tasks hard.

    Args:
        identifier: ``"Maniquet2024-confusion_similarity"``: Pearson correlation of how often each object was taken for
            each other one; ``"Maniquet2024-tasks_consistency"``: that of the accuracies of the tasks.
        ceiling: ``"known"``, the published number, or ``"computed"`` from people's trials.

    Raises:
        KeyError: no such benchmark.
        ValueError: another ``ceiling``.

    Example:
        >>> float(benchmark("Maniquet2024-tasks_consistency").ceiling)
        0.9981
    """
    row = behavior_rows()[identifier]
    trials = LazyLoad(lambda: load_dataset(row["dataset"]))
    load_stimuli = loader(lambda: load_stimulus_set(row["stimuli"]))
    metric = load_metric(row["metric"])
    known = constant_ceiling(row["ceiling"], _SOURCE)
    return BehavioralBenchmark(
        identifier,
        trials,
        "probabilities",
        metric,
        fitting_stimuli=lambda: load_stimulus_set(row["fitting_stimuli"]),
        stimuli=load_stimuli,
        answers=with_columns_of(load_stimuli),
        ceiling_func=known_or_computed(ceiling, known, Ceiling(metric.ceiling, trials), identifier),
        **fields_of(row),
        about=row["about"],
    )
