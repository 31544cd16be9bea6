"""The protocol of brain models, with their tasks and recording targets."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

if TYPE_CHECKING:
    from bsjax.data import BehavioralAssembly, NeuroidAssembly, StimulusSet


class _Choice(StrEnum):
    """An enum of strings whose error message lists the valid choices."""

    @classmethod
    def _missing_(cls, value: object) -> Self:
        choices = ", ".join(member.value for member in cls)
        raise ValueError(f"unknown {cls.__name__} {value!r}; choose one of {choices}")


class Task(_Choice):
    """Tasks that a model can perform. A member equals its string.

    Example:
        >>> Task("passive") is Task.passive, Task.passive == "passive"
        (True, True)
    """

    passive = "passive"
    label = "label"
    probabilities = "probabilities"
    odd_one_out = "odd_one_out"


class RecordingTarget(_Choice):
    """The regions of the ventral stream that Brain-Score's models have. A member equals its string.

    Other regions can have any name: :func:`region_name`.

    Example:
        >>> RecordingTarget("MT")
        Traceback (most recent call last):
        ...
        ValueError: unknown RecordingTarget 'MT'; choose one of V1, V2, V4, IT
    """

    V1 = "V1"
    V2 = "V2"
    V4 = "V4"
    IT = "IT"


def region_name(region: object) -> str:
    """The name of a region as plain text: V1, V2, V4 and IT, or any other, such as "FFA" or "V3A".

    Raises:
        ValueError: it is not text, or empty.

    Example:
        >>> region_name(RecordingTarget.V4), region_name("FFA")
        ('V4', 'FFA')
    """
    if not isinstance(region, str) or not region.strip():
        raise ValueError(f"a region must be a name such as 'V4' or 'FFA', got {region!r}")
    return str(region)


class _WithChoices(type(Protocol)):
    """Provides ``BrainModel.Task`` and ``BrainModel.RecordingTarget`` without requiring them of every model."""

    Task = Task
    RecordingTarget = RecordingTarget


def looks_at_images(model: Any) -> bool:
    """Whether a model needs the image files of its stimuli; True unless the model declares otherwise.

    Example:
        >>> from bsjax import load_model
        >>> looks_at_images(load_model("pixels")), looks_at_images(load_model("stimulus-order"))
        (True, False)
    """
    return getattr(model, "looks_at_images", True)


@runtime_checkable
class BrainModel(Protocol, metaclass=_WithChoices):
    """The interface of models that benchmarks can record from or test on tasks, as in Brain-Score.

    It needs no base class. ``BrainModel.Task`` and ``BrainModel.RecordingTarget`` are :class:`Task` and
    :class:`RecordingTarget`. A model with stored responses can set ``looks_at_images = False``: its stimuli need no
    files.

    Example:
        >>> from bsjax import BrainModel, load_model
        >>> isinstance(load_model("pixels"), BrainModel), BrainModel.RecordingTarget.V4 == "V4"
        (True, True)
    """

    @property
    def identifier(self) -> str:
        """A unique name."""
        ...

    def visual_degrees(self) -> float:
        """Width of the model's visual field in degrees of visual angle, which is that of the images it is shown."""
        ...

    def start_task(self, task: Task | str, fitting_stimuli: Any = None) -> None:
        """Perform ``task`` in :meth:`look_at` from now on.

        Args:
            task: a :class:`Task` or its string.
            fitting_stimuli: what the task requires: for ``label`` the labels, ``"imagenet"`` or a list; for
                ``probabilities`` stimuli to learn from, with a column ``image_label``; for other tasks nothing.
        """
        ...

    def start_recording(
        self, recording_target: RecordingTarget | str, time_bins: Sequence[tuple[float, float]]
    ) -> None:
        """Record in :meth:`look_at` from now on.

        Args:
            recording_target: a :class:`RecordingTarget`, or the name of any region.
            time_bins: (start, end) of each bin in ms after stimulus onset.
        """
        ...

    def look_at(
        self,
        stimuli: StimulusSet | Sequence[str | PathLike[str]],
        number_of_trials: int = 1,
        require_variance: bool = False,
    ) -> NeuroidAssembly | BehavioralAssembly:
        """Present stimuli and return the model's responses.

        Args:
            stimuli: a stimulus set, or paths of images.
            number_of_trials: number of presentations of each stimulus.
            require_variance: whether the trials of a stimulus must differ; each is then a separate row.

        Returns:
            Recordings, dims ``(presentation, neuroid)`` or with ``time_bin``; or behaviour, dims ``(presentation,
            choice)``, if a task was started: labels, probabilities, or the ``stimulus_id`` of the odd ones out.
        """
        ...
