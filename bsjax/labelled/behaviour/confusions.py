"""Similarity of confusions, and of accuracies by task, between a model and people."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.labels import remedy
from bsjax.labelled.align import coordinate, listed, only_in, origins_of
from bsjax.labelled.behaviour.responses import (
    PRESENTATION,
    SUBJECT,
    TRUTH,
    answered,
    chosen,
    equal,
    read,
    refuse_other_truths,
    truth_table,
)
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

_SIDES = "probabilities", "human_assembly"
_ANSWER = "prediction"
_OTHER_NAMES = {TRUTH: "image_label", SUBJECT: "subject_id"}


def _named(assembly: xr.DataArray) -> xr.DataArray:
    """Trials with the usual names of coordinates, and with the answers as a coordinate.

    Values that are never a truth are no choices: data with a coordinate of answers hold whether they are right.
    """
    found = {usual: assembly[name].variable for usual, name in _OTHER_NAMES.items() if name in assembly.coords}
    named = assembly.assign_coords(found)
    if _ANSWER in named.coords or TRUTH not in named.coords or named.dims != (PRESENTATION,):
        return named
    if not np.isin(pd.unique(pd.Series(named.values)).astype(str), named[TRUTH].values.astype(str)).any():
        return named
    return named.assign_coords({_ANSWER: (PRESENTATION, named.values)})


class _OfPeople(InPrecision, WithCeiling):
    """The base class of comparisons with the pooled trials of all people.

    Attributes:
        between_halves: the kernel that compares halves of the people.
        counted: the kernel's setting that is the number of labels or tasks.
    """

    between_halves: Callable[..., Any]
    counted: str
    other_names = _OTHER_NAMES

    @abstractmethod
    def _trials(self, truth: np.ndarray, choice: np.ndarray, given: Any) -> tuple[tuple[np.ndarray, ...], int]:
        """Trials as arrays, the last of which says which of them count, and the number of labels or tasks."""

    @abstractmethod
    def _dof(self, people: xr.DataArray) -> dict[str, int]:
        """The degrees of freedom of the correlation."""

    def ceiling(self, assembly: xr.DataArray, splits: int = SPLITS, random_state: int = 0) -> Score:
        """The reliability of people: the correlation between halves of the subjects, corrected by Spearman-Brown.

        For accuracies in tasks, a split is over the tasks that both halves have done.

        Args:
            assembly: as ``human_assembly``, with ``subject`` (or ``subject_id``).
            splits: number of random halvings of the subjects.
            random_state: seed of the halvings.

        Returns:
            The reliability ``2r/(1+r)`` with the mean ``r`` of the splits, whose correlations are in ``raw``.

        Raises:
            ValueError: a coordinate is missing, or there is only one subject.
        """
        assembly = _named(assembly)
        names = SUBJECT, TRUTH, _ANSWER, *self.needs[1:]
        subject, *columns = read(assembly, names, "assembly", missing=[_ANSWER])
        refuse_other_truths([truth_table(assembly)], ["assembly"])
        who, subjects = pd.factorize(subject, sort=True)
        people = origins_of(np.asarray(subjects), assembly, SUBJECT, PRESENTATION, "assembly")
        first = random_halves(people, splits, random_state, "assembly")
        arrays, size = self._trials(*columns)
        raw = self.run_kernel(self.between_halves, who, *arrays, first, **{self.counted: size})
        made = self.provenance(ceiling={"splits": splits, "random_state": random_state})
        return reliability(raw, made, arrays[-1] > 0)

    def drawn_values(self, drawn: Drawn, *assemblies: xr.DataArray) -> dict[str, Any]:
        """Its values in every draw; a correlation of ``m`` numbers has at most ``m - 2`` degrees of freedom."""
        return super().drawn_values(drawn, *assemblies) | self._dof(assemblies[-1])

    def drawn_ceilings(self, drawn: Drawn, *assemblies: xr.DataArray, **settings: Any) -> dict[str, Any]:
        """Its ceilings in every draw, with degrees of freedom as in ``drawn_values``."""
        return super().drawn_ceilings(drawn, *assemblies, **settings) | self._dof(assemblies[-1])

    def _sides(self, probabilities: xr.DataArray, people: xr.DataArray) -> tuple[np.ndarray, list, list]:
        """The labels, and each side's coordinates, of which the model's second is its choices.

        It refuses missing coordinates, labels on one side only, and stimuli with several labels.
        """
        probabilities, people = _named(probabilities), _named(people)
        theirs = read(people, (TRUTH, _ANSWER, *self.needs[1:]), "human_assembly", missing=[_ANSWER])
        truth, *more = read(probabilities, self.needs_of_source, "probabilities")
        refuse_other_truths([truth_table(side) for side in (probabilities, people)], _SIDES)
        labels = coordinate(probabilities, "choice", "choice", "probabilities")
        called = "the choices of probabilities", "the truth of human_assembly"
        if only := only_in(labels, theirs[0], called, "label"):
            raise ValueError(f"{'; '.join(only)}. {remedy(labels, theirs[0], _SIDES, 'choice')}")
        return labels, [truth, chosen(probabilities, "probabilities"), *more], theirs

    def _score(self, value: float, mask: np.ndarray, raw: xr.DataArray | None = None) -> Score:
        made, lost = self.provenance(), int((~mask).sum())
        return Score(float(value), raw=raw, formula="r", n_units=len(mask), n_undefined=lost, provenance=made)


class ConfusionSimilarity(_OfPeople):
    """Similarity of a model's errors to people's: Pearson correlation of the counts of each wrong choice per label.

    Trials of all subjects are pooled. A trial whose prediction is not among the model's choices (a missed response,
    NaN) is left out and counted in ``n_undefined``; ``n_units`` counts all trials. The score is NaN if either side
    makes no errors, or makes all errors equally often. It has no interval by default, only in bootstrap draws.

    Args:
        dtype: ``"float32"`` or ``"float64"``; by default float64 on CPU and float32 elsewhere.

    Source: Maniquet, Op de Beeck & Costantino 2024.

    Example:
        >>> labels, coords = ["a", "b", "c"], ["presentation", "choice"]
        >>> shown = {"truth": ("presentation", labels), "choice": labels}
        >>> model = xr.DataArray([[0.1, 0.8, 0.1], [0.2, 0.7, 0.1], [0.1, 0.6, 0.3]], shown, coords)
        >>> people = xr.DataArray(["b", "b", "b"], {"truth": ("presentation", labels)}, ["presentation"])
        >>> ConfusionSimilarity()(model, people)
        Score(1.0000, r)
    """

    identifier = "confusion_similarity"
    between_halves = staticmethod(confusion_halves_correlation)
    counted = "choices"
    needs = (TRUTH,)
    needs_of_source = (TRUTH,)

    def __call__(self, probabilities: xr.DataArray, human_assembly: xr.DataArray) -> Score:
        """Compares a model with all people together.

        Args:
            probabilities: the model's (presentation, choice), with ``truth`` (or ``image_label``) and ``choice``.
            human_assembly: the choice in each trial (presentation), with ``truth`` (or ``image_label``); or other
                values, with the choices in a coordinate ``prediction``.

        Raises:
            ValueError: a coordinate is missing, the model's choices are not people's labels, or a stimulus has several
                labels.
        """
        labels, ours, theirs = self._sides(probabilities, human_assembly)
        (model, _), (people, choices) = (self._trials(*side, given=labels) for side in (ours, theirs))
        return self._score(self.run_kernel(confusion_similarity, *model, *people, choices=choices), people[-1] > 0)

    def _trials(self, truth: np.ndarray, choice: np.ndarray, given: Any = None) -> tuple[tuple[np.ndarray, ...], int]:
        """Shown and chosen labels as codes, and a weight of 0 where either is not among the labels."""
        labels = pd.Index(np.unique(truth) if given is None else given, dtype=object)
        codes = [labels.get_indexer(pd.Index(side, dtype=object)) for side in (truth, choice)]
        mask = (codes[0] >= 0) & (codes[1] >= 0)
        return (*(np.where(mask, code, 0) for code in codes), mask.astype(float)), len(labels)

    def _dof(self, people: xr.DataArray) -> dict[str, int]:
        labels = len(np.unique(_named(people)[TRUTH].values))
        return {"dof": max(labels * (labels - 1) - 2, 1)}


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
    between_halves = staticmethod(task_halves_correlation)
    counted = "tasks"
    needs = (TRUTH, "task")
    needs_of_source = (TRUTH, "manipulation", "manipulation_details")

    def __call__(self, probabilities: xr.DataArray, human_assembly: xr.DataArray) -> Score:
        """Compares a model with all people together.

        Args:
            probabilities: the model's (presentation, choice), with ``truth`` (or ``image_label``), ``manipulation``,
                ``manipulation_details`` and ``choice``.
            human_assembly: as for :class:`ConfusionSimilarity`, with ``task``.

        Returns:
            The correlation; ``raw`` has both sides' accuracies in every task.

        Raises:
            ValueError: a coordinate is missing, the model's choices are not people's labels, the model has no stimulus
                for a task, or a stimulus has several labels.
        """
        _, (truth, choice, *kinds), theirs = self._sides(probabilities, human_assembly)
        people, _ = self._trials(*theirs)
        tasks = np.unique(theirs[-1])
        kind, known = pd.MultiIndex.from_arrays(kinds).factorize()
        wanted = pd.MultiIndex.from_tuples([stimuli_of_task(str(task)) for task in tasks])
        stands_for = pd.Index(known).get_indexer(wanted)
        if (stands_for < 0).any():
            lost = [
                f"{task} -> {'/'.join(pair)}" for task, pair in zip(tasks, wanted, strict=True) if pair not in known
            ]
            raise ValueError(
                f"probabilities have no stimulus, by manipulation and manipulation_details, for {listed(lost, 'task')}"
            )
        model = equal(choice, truth).astype(float), kind, np.ones(len(kind), bool)
        value, accuracies = self.run_kernel(correlation_of_tasks, model, people, stands_for, source_tasks=len(known))
        coords = {"side": ["source", "target"], "task": tasks}
        return self._score(value, people[2], xr.DataArray(accuracies, coords, ["side", "task"]))

    def _trials(self, truth: np.ndarray, choice: np.ndarray, given: np.ndarray) -> tuple[tuple[np.ndarray, ...], int]:
        """Whether each trial is right, its task as a code, and whether it has an answer."""
        task, tasks = pd.factorize(given, sort=True)
        return (equal(choice, truth).astype(float), task, answered(choice)), len(tasks)

    def _dof(self, people: xr.DataArray) -> dict[str, int]:
        return {"dof": max(len(np.unique(people["task"].values)) - 2, 1)}


_MANIPULATIONS = {"clutter": "clutter", "occlusion": "occluder", "scrambling": "phasescrambling"}
_DETAILS = {name: name for name in ("heavy", "light", "highpass", "lowpass")} | {
    f"{size}_{cover}_{level}": f"{size.replace('_', '')}-{level}"
    for size in ("few_large", "many_small")
    for cover in ("blobs", "deletion", "partial_viewing")
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
    details = "_".join(word for word in words if word not in _MANIPULATIONS)
    for name, manipulation in _MANIPULATIONS.items():
        if name in words:
            return manipulation, _DETAILS.get(details, "control")
    raise ValueError(f"task {task!r} names no manipulation; known are: control, {', '.join(_MANIPULATIONS)}")
