"""Engineering benchmarks: the model's accuracy, with a ceiling of 1 and no human data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bsjax.benchmarks import descriptions as wording
from bsjax.benchmarks.ceilings import constant_ceiling
from bsjax.benchmarks.descriptions import Paradigm
from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark
from bsjax.benchmarks.lazy_loading import LazyLoad, loader
from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.core.labels import require_columns
from bsjax.data import BehavioralAssembly, StimulusSet
from bsjax.labelled import load_metric
from bsjax.labelled.behaviour.responses import one_choice

if TYPE_CHECKING:
    from bsjax.models import BrainModel

SELECTION = "selection"
"""Attribute of a stimulus set that says which images of a larger set it holds; scores keep it in their provenance."""

_AT_ONCE = 10_000


class EngineeringAccuracy(BehavioralBenchmark):
    """The proportion of stimuli that a model labels correctly.

    The column with the true labels is hidden from the model. The model sees 10,000 stimuli at a time, so the responses
    to a large set need not fit into memory together.

    Args:
        row: the row of the benchmark.
        stimuli: the stimuli, with the true labels in a column: a stimulus set, a function without
            arguments that loads it, or a ``LazyLoad``. Its ``attrs["selection"]`` goes into the provenance of scores.
        truth: the column with the true labels.
        choices: the possible answers: ``"imagenet"``, whose answers are WordNet ids, or a list; by default the sorted
            true labels.
        images: a description of the stimuli in words; by default the row's ``about``.

    Example:
        >>> from bsjax.models import PrecomputedFeatures
        >>> animals = StimulusSet({"stimulus_id": ["a", "b"], "truth": ["cat", "dog"]})
        >>> row = BenchmarkRow(identifier="Mine2026-top1", version=1, about="photographs of animals")
        >>> answers = BehavioralAssembly(["cat", "cat"], coords={"stimulus_id": ("presentation", ["a", "b"])},
        ...     dims=["presentation"])
        >>> float(EngineeringAccuracy(row, animals)(PrecomputedFeatures(answers, visual_degrees=8)))
        0.5
    """

    def __init__(
        self,
        row: BenchmarkRow,
        stimuli: StimulusSet | Callable[[], StimulusSet] | LazyLoad,
        truth: str = "truth",
        choices: Sequence[str] | str | None = None,
        images: str = "",
    ) -> None:
        load = loader(stimuli)
        super().__init__(
            row.identifier,
            lambda: truths(load(), truth),
            "label",
            load_metric("accuracy"),
            fitting_stimuli=choices,
            ceiling_func=constant_ceiling(1.0, "every stimulus named correctly"),
            about="the true labels of the images",
            **row.arguments(),
        )
        self._images = images or row.about

    @cached_property
    def made_from(self) -> dict[str, Any]:
        """The entries of every behavioural benchmark, and the selection of stimuli if there is one."""
        selection = self.assembly.attrs.get(SELECTION)
        return {**super().made_from, **({SELECTION: selection} if selection else {})}

    def observe(self, candidate: BrainModel, stimuli: StimulusSet) -> BehavioralAssembly:
        """The model's answers, with ``stimulus_id``."""
        answers: list[np.ndarray] = []
        ids: list[np.ndarray] = []
        for start in range(0, len(stimuli), _AT_ONCE):
            block = cast("StimulusSet", stimuli[start : start + _AT_ONCE])
            look = candidate.look_at(block, number_of_trials=self.number_of_trials)
            look = one_choice(look, f"the behaviour of {candidate.identifier!r}")
            answers.append(np.asarray(look.values, object))
            ids.append(look["stimulus_id"].values)
        return BehavioralAssembly(
            np.concatenate(answers),
            coords={"stimulus_id": ("presentation", np.concatenate(ids))},
            dims=["presentation"],
        )

    def paradigm(self) -> Paradigm:
        """The stimuli, task, comparison and normalisation in words; loads no data."""
        shown = wording.shown(self._images, self.visual_degrees, self.number_of_trials)
        return super().paradigm()._replace(shown=shown)


def truths(stimuli: StimulusSet, column: str) -> BehavioralAssembly:
    """The true labels of stimuli in the form of an observer's choices.

    Args:
        stimuli: the stimuli, with the column.
        column: the column with the true labels.

    Returns:
        An assembly of labels (presentation) with ``stimulus_id`` and ``truth``. Its ``attrs`` hold the
        ``stimulus_set`` without the column, and the stimuli's ``selection`` if they have one.

    Raises:
        ValueError: the column is missing.

    Example:
        >>> shown = truths(StimulusSet({"stimulus_id": ["a", "b"], "synset": ["n1", "n2"]}), "synset")
        >>> shown.values.tolist(), list(shown.attrs["stimulus_set"].columns)
        (['n1', 'n2'], ['stimulus_id'])
    """
    require_columns(stimuli, [column], f"stimulus set {stimuli.identifier!r}")
    values = stimuli[column].to_numpy(object)
    coords = {"stimulus_id": stimuli["stimulus_id"].to_numpy(), "truth": values}
    attrs: dict[str, Any] = {"stimulus_set": stimuli.drop(columns=column)}
    if SELECTION in stimuli.attrs:
        attrs[SELECTION] = stimuli.attrs[SELECTION]
    return BehavioralAssembly(
        values,
        coords={name: ("presentation", each) for name, each in coords.items()},
        dims=["presentation"],
        attrs=attrs,
    )
