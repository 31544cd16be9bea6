"""A brain model whose behavioural choices are looked up in a table."""

import re
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bsjax.core.labels import require_columns
from bsjax.core.messages import some
from bsjax.data import BehavioralAssembly, StimulusSet
from bsjax.data.files.choice_tables import image_name, read_choices
from bsjax.models.brain_model import RecordingTarget, Task
from bsjax.models.stimulus_presentation import as_stimulus_set

_PLACED = re.compile(r"--target.*$")


class StoredBehaviour:
    """A brain model that performs the tasks ``label`` and ``odd_one_out`` from stored choices, without images.

    An image is found by its ``stimulus_id``, or else by the part of its name that trials of humans and models share
    (:func:`~bsjax.data.files.choice_tables.image_name`). If an image has several choices, the one for the stimulus'
    ``condition`` is returned. Several experiments may have the same image: the one whose name ends the name of the
    stimulus set is used, e.g. ``Geirhos2021_sketch``. For a triplet, ``stimulus_id`` joins its three stimuli, as in
    ``"a|b|c"``, and the choice is the odd one.

    Args:
        trials: experiment -> table with ``stimulus_id``, ``choice``, and ``condition`` if needed; an experiment named
            ``""`` serves every stimulus set.
        identifier: the model's name.
        visual_degrees: width of its visual field, which does not affect the choices.

    Raises:
        ValueError: there is no trial, a column is missing, or an image has several choices under one condition.

    Example:
        >>> model = StoredBehaviour({"": pd.DataFrame({"stimulus_id": ["a", "b"], "choice": ["dog", "car"]})}, "mine")
        >>> model.start_task("label", ["car", "dog"])
        >>> model.look_at(StimulusSet({"stimulus_id": ["b", "a"]})).values.tolist()
        [['car'], ['dog']]
    """

    looks_at_images = False

    def __init__(self, trials: Mapping[str, pd.DataFrame], identifier: str, visual_degrees: float = 8) -> None:
        if not trials or not all(len(table) for table in trials.values()):
            raise ValueError(f"model {identifier!r} has no stored choice")
        self.identifier = identifier
        self._visual_degrees = visual_degrees
        self._answers = {name: _Answers(table, f"{identifier} {name}".strip()) for name, table in trials.items()}
        self._labels: set[str] = set()
        self._task: Task | None = None

    @property
    def experiments(self) -> list[str]:
        """The experiments with stored choices."""
        return list(self._answers)

    def visual_degrees(self) -> float:
        """Width of the model's visual field in degrees of visual angle."""
        return self._visual_degrees

    def start_task(self, task: Task | str, fitting_stimuli: Any = None) -> None:
        """Start naming stimuli with these labels, or choosing the odd one of each triplet.

        Raises:
            ValueError: a task other than ``label`` and ``odd_one_out``.
        """
        if Task(task) not in (Task.label, Task.odd_one_out):
            raise ValueError(
                f"model {self.identifier!r} is a table of choices: it does the tasks label and odd_one_out, not "
                f"{Task(task).value}. Score it on benchmarks that ask for a choice, such as 'Geirhos2021*'; `bsjax "
                "show BENCHMARK` says what one asks for"
            )
        self._task = Task(task)
        given = () if fitting_stimuli is None or isinstance(fitting_stimuli, str) else fitting_stimuli
        self._labels = {str(label) for label in given}

    def start_recording(
        self, recording_target: RecordingTarget | str, time_bins: Sequence[tuple[float, float]]
    ) -> None:
        """Raises ``ValueError``, because choices are not recordings."""
        raise ValueError(f"model {self.identifier!r} is a table of choices: there is nothing to record from")

    def look_at(
        self,
        stimuli: StimulusSet | Sequence[str | PathLike[str]],
        number_of_trials: int = 1,
        require_variance: bool = False,
    ) -> BehavioralAssembly:
        """The stored choices, in the order of ``stimuli``.

        Args:
            stimuli: a stimulus set, or paths of images.
            number_of_trials: ignored; each stimulus has one row.
            require_variance: must be False.

        Returns:
            Strings, dims ``(presentation, choice)`` with one choice, and the columns of the stimuli as coordinates.
            For triplets, one row for every three stimuli, whose coordinate ``stimulus_id`` joins them.

        Raises:
            ValueError: no task was started, variance is required, stimuli have no stored choice (the message has their
                ids), there is no matching experiment, or no choice is a label of the task.
        """
        if self._task is None:
            raise ValueError(f"model {self.identifier!r} has no task: start_task('label', labels) first")
        if require_variance:
            raise ValueError(f"model {self.identifier!r} has one stored choice a stimulus: its trials cannot differ")
        shown = as_stimulus_set(stimuli)
        if self._task is Task.odd_one_out:
            shown = joined_triplets(shown)
        choices = self._of(shown)
        if self._labels and len(choices) and not self._labels & set(choices):
            raise ValueError(
                f"none of the choices of {self.identifier!r} ({some(sorted(set(choices)), 3)}) is one of the labels: "
                f"{some(sorted(self._labels), 3)}"
            )
        columns = {str(name): np.asarray(shown[name]) for name in shown.columns}
        coords = {name: ("presentation", values) for name, values in {"label": choices, **columns}.items()}
        return BehavioralAssembly(choices[:, None], coords=coords, dims=["presentation", "choice"])

    def _of(self, shown: StimulusSet) -> np.ndarray:
        name = _PLACED.sub("", shown.identifier or "")
        # The longest match: a table without an experiment's name is the fallback.
        fitting = [one for one in self._answers if name == one or name.endswith(("_" + one, "." + one)) or one == ""]
        if not fitting:
            raise ValueError(
                f"model {self.identifier!r} has no choices for the stimulus set {name or 'without a name'!r}; it has "
                f"those of {some(self.experiments, 20)}"
            )
        answers = self._answers[max(fitting, key=len)]
        found, missing = answers.to(shown)
        if missing:
            raise ValueError(
                f"model {self.identifier!r} has no stored choice for {len(missing)} of {len(shown)} stimuli of "
                f"{name or 'the set'!r}: {some(missing)}"
            )
        return found


def joined_triplets(stimuli: StimulusSet) -> StimulusSet:
    """Triplets as single stimuli, whose ids join those of every three rows.

    Raises:
        ValueError: the number of rows is not a multiple of 3.

    Example:
        >>> joined_triplets(StimulusSet({"stimulus_id": ["a", "b", "c"]}))["stimulus_id"].tolist()
        ['a|b|c']
    """
    if len(stimuli) % 3:
        raise ValueError(f"triplets need a multiple of 3 rows, three for each, got {len(stimuli)}")
    triplets = stimuli["stimulus_id"].to_numpy().reshape(-1, 3).tolist()
    return StimulusSet({"stimulus_id": ["|".join(map(str, each)) for each in triplets]}, identifier=stimuli.identifier)


def load_stored_behaviour(*paths: str | Path) -> list[StoredBehaviour]:
    """Load all models whose choices are in files or folders.

    Args:
        *paths: CSV files, or folders of them; see :mod:`bsjax.data.files.choice_tables`.

    Returns:
        One model for each name, in the order in which they are found.

    Raises:
        FileNotFoundError, ValueError: as :func:`~bsjax.data.files.choice_tables.read_choices`.

    Example:
        >>> load_stored_behaviour("no/such/file.csv")
        Traceback (most recent call last):
        ...
        FileNotFoundError: no file no/such/file.csv to read choices from
    """
    return [StoredBehaviour(trials, model) for model, trials in read_choices(*paths).items()]


class _Answers:
    """The choices of one experiment by stimulus, and by condition if a stimulus has several."""

    def __init__(self, table: pd.DataFrame, whose: str) -> None:
        require_columns(table, ["stimulus_id", "choice"], f"the table of choices of {whose}")
        ids = _text(table["stimulus_id"])
        self._in_conditions = len(set(ids)) < len(ids) and "condition" in table
        more = [list(map(plain_condition, _text(table["condition"])))] if self._in_conditions else []
        self._whole, self._short = _index(ids, more), _index(map(image_name, ids), more)
        repeated = np.array(ids, object)[self._whole.duplicated()]
        if len(repeated):
            raise ValueError(
                f"{whose} has several choices for the same stimulus: {some(sorted(set(repeated)))}; keep one of them"
            )
        self._choices = np.asarray(table["choice"], object)

    def to(self, shown: StimulusSet) -> tuple[np.ndarray, list[str]]:
        """The choices for stimuli, and the ids of stimuli that have none."""
        ids = _text(shown["stimulus_id"])
        if self._in_conditions and "condition" not in shown:
            raise ValueError(
                f"stimuli have several stored choices, one a condition, and the stimulus set {shown.identifier!r} "
                "has no column condition"
            )
        more = [list(map(plain_condition, _text(shown["condition"])))] if self._in_conditions else []
        rows = self._whole.get_indexer(_index(ids, more))
        triplets = any("|" in each for each in ids)  # a triplet cannot be found by its last image name
        if (rows < 0).any() and not self._short.has_duplicates and not triplets:
            rows = np.where(rows < 0, self._short.get_indexer(_index(map(image_name, ids), more)), rows)
        return self._choices[rows], np.array(ids, object)[rows < 0].tolist()


def _index(names: Iterable[str], more: list[list[str]]) -> pd.Index:
    return pd.MultiIndex.from_arrays([list(names), *more]) if more else pd.Index(list(names))


def _text(column: Any) -> list[str]:
    return [str(value) for value in column]


def plain_condition(condition: str) -> str:
    """A condition with numbers in one format.

    Example:
        >>> plain_condition("0.60"), plain_condition("clear")
        ('0.6', 'clear')
    """
    try:
        return f"{float(condition):.15g}"
    except ValueError:
        return condition
