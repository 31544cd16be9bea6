"""Behaviour in the building blocks of plugins' models: tasks on any activations model, and selection among them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from bsjax.compat.assemblies import for_plugins
from bsjax.compat.helpers import accepts
from bsjax.compat.models.answers import in_order_of_plugins
from bsjax.models.brain_model import Task
from bsjax.models.commitment import Doing
from bsjax.models.region_layers import layer_names
from bsjax.models.stimulus_presentation import as_stimulus_set, eye_movements, features
from bsjax.models.tasks.imagenet import synsets
from bsjax.models.tasks.label import label_task
from bsjax.models.tasks.odd_one_out import OddOneOutTask
from bsjax.models.tasks.probabilities import probabilities_task

_LOGITS = "logits"
_DEGREES = 8


class _Behaviour:
    """One task on an activations model."""

    _task: Task

    def __init__(self, identifier: str, activations_model: Any) -> None:
        self.identifier = identifier
        self.activations_model = activations_model
        self.current_task: Task | None = None
        self._doing: Doing | None = None

    def look_at(self, stimuli: Any, number_of_trials: int = 1, require_variance: bool = False) -> Any:
        """Answers to stimuli.

        Raises:
            ValueError: the task has not been started.
        """
        if self._doing is None:
            raise ValueError(f"model {self.identifier!r} was given no task: call start_task({self._task.value!r}, ...)")
        see = self._see(number_of_trials, require_variance)
        return in_order_of_plugins(for_plugins(self._doing(see, as_stimulus_set(stimuli))))

    def _see(self, number_of_trials: int = 1, require_variance: bool = False) -> Any:
        """A function from stimuli and layers to features."""
        movements = eye_movements(number_of_trials, require_variance, _DEGREES)
        if movements is not None and accepts(self.activations_model, "require_variance"):
            # The model knows its own field of view.
            asked: Any = partial(self.activations_model, number_of_trials=number_of_trials, require_variance=True)
            return partial(features, asked)
        return partial(features, self.activations_model, microsaccades=movements)

    def _check(self, task: Task | str) -> None:
        if task != self._task:
            raise ValueError(f"{type(self).__name__} does {self._task.value!r}, not {str(task)!r}")
        self.current_task = self._task


class LabelBehavior(_Behaviour):
    """Labels the stimuli, using the layer ``logits``, whose 1000 units are ImageNet's classes.

    If the model does not list its layers, ``logits`` is assumed.
    """

    _task = Task.label

    def start_task(self, task: Task | str, choice_labels: Any = None, aggregation: str = "mean", **named: Any) -> None:
        """Start with these labels; arguments and errors are those of :meth:`bsjax.ModelCommitment.start_task`."""
        self._check(task)
        labels = named.pop("fitting_stimuli", choice_labels)  # the general name of the argument
        known = self.activations_model.layers() if self._lists_layers() else {_LOGITS: (len(synsets()),)}
        self._doing = label_task(self.identifier, known, labels, aggregation, **named)

    def _lists_layers(self) -> bool:
        return hasattr(self.activations_model, "layers")

    def _see(self, number_of_trials: int = 1, require_variance: bool = False) -> Any:
        see = super()._see(number_of_trials, require_variance)
        return see if self._lists_layers() else partial(self._seen_logits, see)

    def _seen_logits(self, see: Any, stimuli: Any, layers: Sequence[str]) -> Any:
        """Logits of a model that does not state their number.

        Raises:
            ValueError: their number differs from that of ImageNet's classes.
        """
        seen = see(stimuli, layers)
        if seen.sizes["neuroid"] != len(synsets()):
            raise ValueError(
                f"naming needs a layer {_LOGITS!r} of {len(synsets())} units, one for each class of ImageNet; that of "
                f"model {self.identifier!r} has {seen.sizes['neuroid']}"
            )
        return seen


class ProbabilitiesMapping(_Behaviour):
    """Learns labels from examples, using a layer, and answers with their probabilities."""

    _task = Task.probabilities

    def __init__(self, identifier: str, activations_model: Any, layer: str | Sequence[str]) -> None:
        super().__init__(identifier, activations_model)
        self.readout = layer_names("layer", layer)

    def start_task(
        self, task: Task | str, fitting_stimuli: Any, number_of_trials: int = 1, require_variance: bool = False
    ) -> None:
        """Learn from these stimuli; errors are those of :meth:`bsjax.ModelCommitment.start_task`."""
        self._check(task)
        self._doing = probabilities_task(self._see(number_of_trials, require_variance), self.readout, fitting_stimuli)


class OddOneOut(_Behaviour):
    """Selects the odd one out of three stimuli, using a layer."""

    _task = Task.odd_one_out

    def __init__(self, identifier: str, activations_model: Any, layer: str | Sequence[str]) -> None:
        super().__init__(identifier, activations_model)
        self.readout = layer_names("layer", layer)
        self.current_task = self._task  # the only task, which need not be started
        self.set_similarity_measure("dot")

    def set_similarity_measure(self, similarity_measure: str) -> None:
        """Set the similarity measure to ``"dot"`` or ``"cosine"``.

        Raises:
            ValueError: the measure is unknown.
        """
        self._doing = OddOneOutTask(self.readout, similarity_measure)
        self.similarity_measure = similarity_measure

    def start_task(self, task: Task | str, fitting_stimuli: Any = None, similarity_measure: str | None = None) -> None:
        """Start the task; errors are those of :meth:`bsjax.ModelCommitment.start_task`."""
        self._check(task)
        if similarity_measure is not None:
            self.set_similarity_measure(similarity_measure)


class BehaviorArbiter:
    """Passes each task to the model that performs it.

    Args:
        mapping: task -> an object with ``start_task`` and ``look_at``.
    """

    def __init__(self, mapping: Mapping[Any, Any]) -> None:
        self.mapping = mapping
        self.current_executor: Any = None

    def start_task(self, task: Any, *args: Any, **kwargs: Any) -> Any:
        """Start a task.

        Raises:
            ValueError: no model performs it.
        """
        if task not in self.mapping:
            raise ValueError(
                f"no model for the task {str(task)!r}; there is one for {', '.join(map(str, self.mapping))}"
            )
        self.current_executor = self.mapping[task]
        return self.current_executor.start_task(task, *args, **kwargs)

    def look_at(self, stimuli: Any, *args: Any, **kwargs: Any) -> Any:
        """Answers of the model that performs the current task.

        Raises:
            ValueError: no task has been started.
        """
        if self.current_executor is None:
            raise ValueError(f"no task was started: call start_task with one of {', '.join(map(str, self.mapping))}")
        return self.current_executor.look_at(stimuli, *args, **kwargs)
