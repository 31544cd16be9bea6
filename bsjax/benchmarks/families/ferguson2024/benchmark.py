"""Search for an odd one out: Ferguson, Ngo, Lee, DiCarlo & Schrimpf (2024).

People said whether all items of an image were the same or one was odd, among 1, 5 or 11 others. In the first block the
one kind of item was odd among the other, in the second the other among the one: a search asymmetry is a difference
between the two. A model learns the two answers from other images of the experiment.

A model is compared with people by the asymmetry
(:class:`~bsjax.labelled.behaviour.search_asymmetry.AsymmetryDelta`).

The ceilings are the authors' numbers. With ``ceiling="computed"`` they are computed from people's trials.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from bsjax.benchmarks.ceilings import Ceiling, constant_ceiling
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.benchmarks.prepare.choices import known_or_computed, most_probable
from bsjax.benchmarks.rows.behaviours import behavior_rows, fields_of
from bsjax.data import BehavioralAssembly, StimulusSet, load_dataset, load_stimulus_set
from bsjax.data.types.merging import merge_stimulus_set
from bsjax.labelled.behaviour.search_asymmetry import OTHERS, AsymmetryDelta

_SOURCE = "500 split halves of people's trials, computed offline by the authors"


def value_delta(identifier: str, ceiling: str = "known") -> BehavioralBenchmark:
    """How near a model's search asymmetry is to people's.

    Args:
        identifier: ``"Ferguson2024<experiment>-value_delta"``, e.g. ``"Ferguson2024color-value_delta"``.
        ceiling: ``"known"``, the published number with its error, or ``"computed"`` from people's trials.

    Raises:
        KeyError: no such benchmark.
        ValueError: another ``ceiling``.

    Example:
        >>> value_delta("Ferguson2024color-value_delta").ceiling
        Score(0.8970 ± 0.0720)
    """
    row = behavior_rows()[identifier]
    name = f"Ferguson2024_{row['experiment']}"
    trials = LazyLoad(lambda: _people(name))
    load_stimuli = loader(lambda: labelled_by_number(load_dataset(name).attrs["stimulus_set"]))
    metric = AsymmetryDelta(row["lapse_rate"])
    known = constant_ceiling(row["ceiling"], _SOURCE, error=row["ceiling_error"])
    return BehavioralBenchmark(
        identifier,
        trials,
        "probabilities",
        metric,
        fitting_stimuli=lambda: labelled_by_number(load_stimulus_set(f"{name}_training_stimuli")),
        stimuli=load_stimuli,
        answers=lambda probabilities: as_trials(most_probable(probabilities), load_stimuli()),
        ceiling_func=known_or_computed(ceiling, known, Ceiling(metric.ceiling, trials), identifier),
        **fields_of(row),
        about=f"how much better people found the odd item in one block than in the other ({row['experiment']})",
    )


def labelled_by_number(stimuli: StimulusSet) -> StimulusSet:
    """The stimuli with ``image_label``: "oddball" for even numbers of the image, "same" for odd ones.

    Example:
        >>> stimuli = StimulusSet({"stimulus_id": ["a", "b"], "image_number": [0, 1]})
        >>> labelled_by_number(stimuli)["image_label"].tolist()
        ['oddball', 'same']
    """
    number = stimuli["image_number"].astype(int)
    return cast("StimulusSet", stimuli.assign(image_label=np.where(number % 2 == 0, "oddball", "same")))


def as_trials(choices: BehavioralAssembly, stimuli: StimulusSet) -> BehavioralAssembly:
    """A model's choices as trials of one person.

    Images are numbered in each block: two with 1 other item, two with 5, two with 11, and again.

    Args:
        choices: "oddball" or "same" (presentation), with ``stimulus_id``.
        stimuli: with ``image_number``, ``image_label`` and ``block``.

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


def _people(name: str) -> BehavioralAssembly:
    """People's trials but for those of the practice."""
    trials = load_dataset(name)
    return cast("BehavioralAssembly", trials.isel(presentation=np.flatnonzero(trials["trial_type"].values == "normal")))
