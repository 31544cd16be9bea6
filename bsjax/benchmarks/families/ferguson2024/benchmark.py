"""Oddball visual search: Ferguson, Ngo, Lee, DiCarlo & Schrimpf (2024).

People reported whether all items of an image were the same or one was an oddball, among 1, 5 or 11 other items. In the
first block, one kind of item was the oddball among items of the other kind; in the second block, the roles were
exchanged. A search asymmetry is a difference between the two blocks. A model learns the two answers from other images
of the experiment.

The benchmark compares a model's asymmetry with people's
(:class:`~bsjax.labelled.behaviour.search_asymmetry.AsymmetryDelta`).

The ceilings are the authors' numbers. With ``ceiling="computed"`` they are computed from people's trials.
"""

from typing import Any, cast

import numpy as np

from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.kinds.published_behaviours import behavioural_benchmark
from bsjax.benchmarks.lazy_loading import loader
from bsjax.benchmarks.prepare.choices import most_probable
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.data import BehavioralAssembly, StimulusSet, load_dataset, load_stimulus_set
from bsjax.data.types.merging import merge_stimulus_set
from bsjax.labelled.behaviour.search_asymmetry import OTHERS


def value_delta(row: BenchmarkRow, ceiling: str = "known") -> BehavioralBenchmark:
    """Similarity of a model's search asymmetry to people's.

    Args:
        row: the row of ``"Ferguson2024<experiment>-value_delta"``, e.g. ``"Ferguson2024color-value_delta"``.
        ceiling: ``"known"`` for the published number with its error, or ``"computed"`` from people's trials.

    Raises:
        ValueError: ``ceiling`` has another value.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Ferguson2024color-value_delta").ceiling
        Score(0.8970 ± 0.0720)
    """
    load_stimuli = loader(lambda: labelled_by_number(load_dataset(row.data[0]).attrs["stimulus_set"]))
    return behavioural_benchmark(
        row,
        ceiling=ceiling,
        fitting_stimuli=lambda: labelled_by_number(load_stimulus_set(row.fitting_stimuli)),
        stimuli=load_stimuli,
        answers=lambda probabilities: as_trials(most_probable(probabilities), load_stimuli()),
    )


def labelled_by_number(stimuli: StimulusSet) -> StimulusSet:
    """Add ``image_label`` to stimuli: "oddball" for even image numbers, "same" for odd ones.

    Example:
        >>> stimuli = StimulusSet({"stimulus_id": ["a", "b"], "image_number": [0, 1]})
        >>> labelled_by_number(stimuli)["image_label"].tolist()
        ['oddball', 'same']
    """
    number = stimuli["image_number"].astype(int)
    return cast("StimulusSet", stimuli.assign(image_label=np.where(number % 2 == 0, "oddball", "same")))


def as_trials(choices: BehavioralAssembly, stimuli: StimulusSet) -> BehavioralAssembly:
    """A model's choices in the form of one person's trials.

    Image numbers in each block cycle through two images with 1 other item, two with 5, and two with 11.

    Args:
        choices: "oddball" or "same" (presentation), with ``stimulus_id``.
        stimuli: the stimuli, with ``image_number``, ``image_label`` and ``block``.

    Example:
        >>> stimuli = StimulusSet({"stimulus_id": ["a"], "image_number": [2], "block": "first", "image_label": "same"})
        >>> choices = BehavioralAssembly(["oddball"], {"stimulus_id": ("presentation", ["a"])}, ["presentation"])
        >>> trials = as_trials(choices, stimuli)
        >>> trials["distractor_nums"].values.tolist(), trials["correct"].values.tolist()
        ([5], [0])
    """
    trials = merge_stimulus_set(choices, stimuli)
    number = trials["image_number"].values.astype(int)
    more: dict[str, Any] = {
        "participant_id": np.full(len(number), "model"),
        "distractor_nums": np.array(OTHERS)[number % 6 // 2],
        "correct": (trials.values == trials["image_label"].values).astype(int),
    }
    return trials.assign_coords({name: ("presentation", values) for name, values in more.items()})
