"""Similarity of confusions, and of accuracies by task, between a model and people."""

from abc import abstractmethod
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.labels import remedy
from bsjax.labelled.align import coordinate, listed, only_in, require
from bsjax.labelled.behaviour.responses import PRESENTATION, answered, chosen, equal, refuse_other_truths, truth_table
from bsjax.labelled.behaviour.subject_halves import SPLITS, random_halves, reliability
from bsjax.labelled.metric import InPrecision, WithCeiling
from bsjax.labelled.resampling.draws import Drawn
from bsjax.labelled.score import Score
from bsjax.metrics.behaviour.confusions import (
    confusion_halves_correlation,
    confusion_similarity,
    correlation_of_tasks,
    task_halves_correlation,
)


class _OfPeople(InPrecision, WithCeiling):
    """The base class of comparisons with the pooled trials of all people."""

    @abstractmethod
    def _halves(
        self, assembly: xr.DataArray, truth: np.ndarray, choice: np.ndarray, who: np.ndarray, first: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The correlation of the halves in each split, and a mask of the trials that count."""

    def ceiling(self, assembly: xr.DataArray, splits: int = SPLITS, random_state: int = 0) -> Score:
        """The reliability of people: the correlation between halves of the subjects, corrected by Spearman-Brown.

        For accuracies in tasks, a split is over the tasks that both halves have done.

        Args:
            assembly: as ``human_assembly``, with ``subject_id``.
            splits: number of random halvings of the subjects.
            random_state: seed of the halvings.

        Returns:
            The reliability ``2r/(1+r)`` with the mean ``r`` of the splits, whose correlations are in ``raw``.

        Raises:
            ValueError: a coordinate is missing, or there is only one subject.
        """
        require(assembly, {PRESENTATION: [*self.needs, "subject_id"]}, "assembly")
        answers = _answers(assembly, "assembly")
        who, names = pd.factorize(_on_trials(assembly, "subject_id", "assembly"), sort=True)
        first = random_halves(np.asarray(names), splits, random_state, "assembly")
        raw, mask = self._halves(assembly, *answers, who, first)
        made = self.provenance(ceiling={"splits": splits, "random_state": random_state})
        return reliability(raw, made, mask)

    def drawn_values(self, drawn: Drawn, *assemblies: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw; a correlation of ``m`` numbers has at most ``m - 2`` degrees of freedom."""
        return super().drawn_values(drawn, *assemblies) | {"dof": max(self._numbers(assemblies[-1]) - 2, 1)}

    def drawn_ceilings(self, drawn: Drawn, *assemblies: xr.DataArray, **settings: Any) -> dict[str, Any]:
        """Its ceilings in every draw, with degrees of freedom as in ``drawn_values``."""
        return super().drawn_ceilings(drawn, *assemblies, **settings) | {
            "dof": max(self._numbers(assemblies[-1]) - 2, 1)
        }

    @abstractmethod
    def _numbers(self, people: xr.DataArray) -> int:
        """The number of values that are correlated."""

    def _labels(self, probabilities: xr.DataArray, people: xr.DataArray) -> np.ndarray:
        """The labels; refuses missing coordinates, other labels on one side, and stimuli with several labels."""
        require(people, {PRESENTATION: self.needs}, "human_assembly")
        require(probabilities, {PRESENTATION: self.needs_of_source}, "probabilities")
        refuse_other_truths(
            [truth_table(side, "image_label") for side in (probabilities, people)], ["probabilities", "human_assembly"]
        )
        labels = coordinate(probabilities, "choice", "choice", "probabilities")
        shown = _on_trials(people, "image_label", "human_assembly")
        if only := only_in(
            labels, shown, ("the choices of probabilities", "the image_label of human_assembly"), "label"
        ):
            raise ValueError(
                f"{'; '.join(only)}. {remedy(labels, shown, ('probabilities', 'human_assembly'), 'choice')}"
            )
        return labels

    def _score(self, value: float, mask: np.ndarray, raw: xr.DataArray | None = None) -> Score:
        made, lost = self.provenance(), int((~mask).sum())
        return Score(float(value), raw=raw, formula="r", n_units=len(mask), n_undefined=lost, provenance=made)


class ConfusionSimilarity(_OfPeople):
    """Similarity of a model's errors to people's: Pearson correlation of the counts of each wrong choice per label.

    Trials of all subjects are pooled. A trial whose prediction is not among the model's choices (a missed response,
    NaN) is left out and counted in ``n_undefined``; ``n_units`` counts all trials. The score is NaN if either side
    makes no errors, or makes all errors equally often.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Maniquet, Op de Beeck & Costantino 2024.

    Example:
        >>> labels, coords = ["a", "b", "c"], ["presentation", "choice"]
        >>> shown = {"image_label": ("presentation", labels), "choice": labels}
        >>> model = xr.DataArray([[0.1, 0.8, 0.1], [0.2, 0.7, 0.1], [0.1, 0.6, 0.3]], shown, coords)
        >>> people = xr.DataArray([0, 1, 0], dims="presentation", coords={
        ...     "image_label": ("presentation", labels), "prediction": ("presentation", ["b", "b", "b"])})
        >>> ConfusionSimilarity()(model, people)
        Score(1.0000, r)
    """

    identifier = "confusion_similarity"
    needs = ("image_label", "prediction")
    needs_of_source = ("image_label",)

    def __call__(self, probabilities: xr.DataArray, human_assembly: xr.DataArray) -> Score:
        """Compares a model with all people together.

        Args:
            probabilities: the model's (presentation, choice), with ``image_label`` and ``choice``.
            human_assembly: one trial per presentation, with ``image_label`` and ``prediction``.

        Raises:
            ValueError: a coordinate is missing, the model's choices are not people's labels, or a stimulus has several
                labels.
        """
        labels = self._labels(probabilities, human_assembly)
        shown = _on_trials(probabilities, "image_label", "probabilities")
        model = _confusions(shown, chosen(probabilities, "probabilities"), labels)
        people = _confusions(*_answers(human_assembly, "human_assembly"), labels)
        return self._score(self.run(confusion_similarity, *model, *people, choices=len(labels)), people[2] > 0)

    def _numbers(self, people: xr.DataArray) -> int:
        labels = len(np.unique(people["image_label"].values))
        return labels * (labels - 1)

    def _halves(
        self, assembly: xr.DataArray, truth: np.ndarray, choice: np.ndarray, who: np.ndarray, first: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        labels = np.unique(truth)
        codes = _confusions(truth, choice, labels)
        return self.run(confusion_halves_correlation, who, *codes, first, choices=len(labels)), codes[2] > 0


class TasksConsistency(_OfPeople):
    """Similarity of the difficulty of tasks for a model and people: Pearson correlation of accuracies over tasks.

    People's ``task``, e.g. ``"occlusion_few_large_blobs_high"``, is matched with the model's stimuli by
    ``manipulation`` and ``manipulation_details``, e.g. ``("occluder", "fewlarge-high")``; several tasks may be matched
    with the same stimuli. A trial without a response (NaN) is left out and counted in ``n_undefined``; ``n_units``
    counts all trials. Any prediction other than the label is wrong. The score is NaN if either side is equally accurate
    in all tasks.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Maniquet, Op de Beeck & Costantino 2024.
    """

    identifier = "tasks_consistency"
    needs = ("image_label", "prediction", "task")
    needs_of_source = ("image_label", "manipulation", "manipulation_details")

    def __call__(self, probabilities: xr.DataArray, human_assembly: xr.DataArray) -> Score:
        """Compares a model with all people together.

        Args:
            probabilities: the model's (presentation, choice), with ``image_label``, ``manipulation``,
                ``manipulation_details`` and ``choice``.
            human_assembly: one trial per presentation, with ``image_label``, ``prediction`` and ``task``.

        Returns:
            The correlation; ``raw`` has both sides' accuracies in every task.

        Raises:
            ValueError: a coordinate is missing, the model's choices are not people's labels, the model has no stimulus
                for a task, or a stimulus has several labels.
        """
        self._labels(probabilities, human_assembly)
        truth, choice = _answers(human_assembly, "human_assembly")
        task, tasks = pd.factorize(_on_trials(human_assembly, "task", "human_assembly"), sort=True)
        kinds = [_on_trials(probabilities, name, "probabilities") for name in ("manipulation", "manipulation_details")]
        kind, known = pd.MultiIndex.from_arrays(kinds).factorize()
        stands_for = pd.Index(known).get_indexer(pd.MultiIndex.from_tuples([stimuli_of_task(str(t)) for t in tasks]))
        if (stands_for < 0).any():
            lost = [f"{t} -> {'/'.join(map(str, stimuli_of_task(str(t))))}" for t in np.asarray(tasks)[stands_for < 0]]
            raise ValueError(
                f"probabilities have no stimulus, by manipulation and manipulation_details, for {listed(lost, 'task')}"
            )
        right = equal(chosen(probabilities, "probabilities"), _on_trials(probabilities, "image_label", "probabilities"))
        model = right.astype(float), kind, np.ones(len(right), bool)
        people = equal(choice, truth).astype(float), task, answered(choice)
        value, accuracies = self.run(correlation_of_tasks, model, people, stands_for, source_tasks=len(known))
        coords = {"side": ["source", "target"], "task": np.asarray(tasks)}
        return self._score(value, people[2], xr.DataArray(accuracies, coords, ["side", "task"]))

    def _numbers(self, people: xr.DataArray) -> int:
        return len(np.unique(people["task"].values))

    def _halves(
        self, assembly: xr.DataArray, truth: np.ndarray, choice: np.ndarray, who: np.ndarray, first: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        task, tasks = pd.factorize(_on_trials(assembly, "task", "assembly"), sort=True)
        right, mask = equal(choice, truth).astype(float), answered(choice)
        return self.run(task_halves_correlation, who, right, task, mask, first, tasks=len(tasks)), mask


_MANIPULATIONS = {"clutter": "clutter", "occlusion": "occluder", "scrambling": "phasescrambling"}
_COVERS, _SIZES = ("blobs", "deletion", "partial_viewing"), {"few_large": "fewlarge", "many_small": "manysmall"}
_DETAILS = {name: name for name in ("heavy", "light", "highpass", "lowpass")} | {
    f"{size}_{cover}_{level}": f"{short}-{level}"
    for size, short in _SIZES.items()
    for cover in _COVERS
    for level in ("high", "low")
}


def stimuli_of_task(task: str) -> tuple[str, str]:
    """The ``manipulation`` and ``manipulation_details`` of the stimuli of a task in people's data.

    Raises:
        ValueError: the task names no manipulation.

    Example:
        >>> stimuli_of_task("occlusion_few_large_blobs_high")
        ('occluder', 'fewlarge-high')
    """
    words = task.split("_")
    if "control" in words:
        return "control", "control"
    named = [word for word in words if word in _MANIPULATIONS]
    if not named:
        raise ValueError(f"task {task!r} names no manipulation; known are: control, {', '.join(_MANIPULATIONS)}")
    manipulation = min(named, key=list(_MANIPULATIONS).index)
    return _MANIPULATIONS[manipulation], _DETAILS.get("_".join(w for w in words if w not in _MANIPULATIONS), "control")


def _on_trials(assembly: xr.DataArray, name: str, what: str) -> np.ndarray:
    return coordinate(assembly, name, PRESENTATION, what, missing=name == "prediction")


def _answers(assembly: xr.DataArray, what: str) -> tuple[np.ndarray, np.ndarray]:
    refuse_other_truths([truth_table(assembly, "image_label")], [what])
    return _on_trials(assembly, "image_label", what), _on_trials(assembly, "prediction", what)


def _confusions(truth: np.ndarray, choice: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, ...]:
    """Shown and chosen labels as codes, and a weight of 0 where either is not among the labels."""
    codes = [pd.Index(labels, dtype=object).get_indexer(pd.Index(side, dtype=object)) for side in (truth, choice)]
    mask = (codes[0] >= 0) & (codes[1] >= 0)
    return *(np.where(mask, code, 0) for code in codes), mask.astype(float)
