"""From activations to a brain model: the commitment of layers to regions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path

import numpy as np

from bsjax.adapters import ActivationsModel
from bsjax.adapters.checks import checked_identifier
from bsjax.data import NeuroidAssembly, StimulusSet
from bsjax.models.brain_model import RecordingTarget, Task

Layers = str | Sequence[str]


class ModelCommitment:
    """A brain model made of an activations model and a map from regions to layers.

    The same instance can record from any regions in any order; what it returns depends only on the last call
    of :meth:`start_recording`. Its responses are deterministic, so ``number_of_trials`` does not change them.

    Args:
        identifier: name of the model.
        activations_model: what an adapter made: ``from_torch``, ``from_flax``, ``from_jax``, ``from_stored``.
        layers: candidate layers, for the choice of a layer where ``region_layer_map`` has none.
        behavioral_readout_layer: layer that behavioural tasks read; by default the last of ``layers``.
        region_layer_map: region -> the layer that is recorded there, or several, whose units are then put
            side by side.
        visual_degrees: width of the model's visual field in degrees of visual angle.

    Raises:
        ValueError: ``activations_model`` is a bare network (the message names the adapter for it), a region
            is unknown, a region's layers are no names, or ``visual_degrees`` is not positive.

    Example:
        >>> from bsjax.adapters import from_jax
        >>> contrast = from_jax(lambda images: images.std((1, 2)), "contrast")
        >>> model = ModelCommitment("contrast", contrast, region_layer_map={"V1": "output"})
        >>> model.start_recording("V1", time_bins=[(0, 100)])
        >>> model.start_recording("IT", time_bins=[(0, 100)])
        Traceback (most recent call last):
        ...
        ValueError: model 'contrast' has no layer for IT; it has one for V1. Give one in region_layer_map=...
    """

    def __init__(
        self,
        identifier: str,
        activations_model: ActivationsModel,
        layers: Sequence[str] | None = None,
        behavioral_readout_layer: str | None = None,
        region_layer_map: Mapping[str, Layers] | None = None,
        visual_degrees: float = 8,
    ) -> None:
        _refuse_bare_network(activations_model)
        if not 0 < visual_degrees < np.inf:
            raise ValueError(f"visual_degrees must be positive, got {visual_degrees!r}")
        self.identifier = checked_identifier(identifier)
        self.activations_model = activations_model
        self.layers = list(layers or [])
        self.behavioral_readout_layer = behavioral_readout_layer or (self.layers[-1] if self.layers else None)
        self.region_layer_map = {
            RecordingTarget(region): _layer_names(region, names) for region, names in (region_layer_map or {}).items()
        }
        self._visual_degrees = visual_degrees
        self._recording: RecordingTarget | None = None
        self._time_bins: list[tuple[float, float]] = []

    def __repr__(self) -> str:
        regions = ", ".join(self.region_layer_map) or "none"
        return f"ModelCommitment({self.identifier!r}, {self.activations_model!r}, regions {regions})"

    def visual_degrees(self) -> float:
        """Width of the model's visual field in degrees of visual angle."""
        return self._visual_degrees

    def start_task(self, task: Task | str, fitting_stimuli: object = None) -> None:
        """Do a task in :meth:`look_at`. This model can be passive: it looks, and answers with recordings.

        Raises:
            ValueError: another task.
        """
        task = Task(task)
        if task is not Task.passive:
            raise ValueError(f"model {self.identifier!r} cannot do the task {task.value!r}; it can do: passive")

    def start_recording(
        self, recording_target: RecordingTarget | str, time_bins: Sequence[tuple[float, float]]
    ) -> None:
        """Record from a region in :meth:`look_at`.

        Args:
            recording_target: "V1", "V2", "V4" or "IT".
            time_bins: (start, end) of each bin in ms after stimulus onset. The model is static: it answers
                the same in every bin.

        Raises:
            ValueError: the region is unknown or has no layer, or a time bin does not end after its start.
        """
        region = RecordingTarget(recording_target)
        if region not in self.region_layer_map:
            known = ", ".join(self.region_layer_map)
            raise ValueError(
                f"model {self.identifier!r} has no layer for {region.value}; "
                f"{f'it has one for {known}' if known else 'it has none for any region'}. "
                f"Give one in region_layer_map={{{region.value!r}: ...}}; "
                "activations_model.layers() lists the layers"
            )
        bins = [(float(start), float(end)) for start, end in time_bins]
        if not bins or any(not start < end for start, end in bins):
            raise ValueError(f"time_bins must be (start, end) pairs in ms with start < end, got {time_bins!r}")
        self._recording = region
        self._time_bins = bins

    def look_at(
        self, stimuli: StimulusSet | Sequence[str | PathLike[str]], number_of_trials: int = 1
    ) -> NeuroidAssembly:
        """The region's responses to stimuli.

        Args:
            stimuli: a stimulus set, or paths of images, which are then their ids.
            number_of_trials: at least 1; the responses are the mean over trials, which all are the same.

        Returns:
            float32, dims ``(presentation, neuroid)``, a row for each row of ``stimuli``; with several time
            bins ``(presentation, neuroid, time_bin)``, with ``time_bin_start`` and ``time_bin_end`` in ms.
            Neuroids have the coordinate ``region`` beside those of the activations model.

        Raises:
            ValueError: no recording was started, or the activations model refuses a layer or the stimuli.
        """
        if self._recording is None:
            raise ValueError(
                f"model {self.identifier!r} is not recording; call start_recording(region, time_bins) first"
            )
        if number_of_trials < 1:
            raise ValueError(f"number_of_trials must be at least 1, got {number_of_trials}")
        stimuli = stimuli if isinstance(stimuli, StimulusSet) else _stimulus_set_of_paths(stimuli)
        responses = self.activations_model(stimuli, self.region_layer_map[self._recording])
        region = np.full(responses.sizes["neuroid"], self._recording.value)
        responses = responses.assign_coords(region=("neuroid", region))
        if len(self._time_bins) == 1:
            return responses
        starts, ends = zip(*self._time_bins, strict=True)
        bins = {"time_bin_start": ("time_bin", list(starts)), "time_bin_end": ("time_bin", list(ends))}
        # A view: the values are not repeated in memory.
        return responses.expand_dims(time_bin=len(starts), axis=-1).assign_coords(bins)


def _layer_names(region: str, names: Layers) -> list[str]:
    listed = [names] if isinstance(names, str) else list(names)
    if not listed or not all(isinstance(name, str) for name in listed) or len(set(listed)) != len(listed):
        raise ValueError(
            f"region_layer_map[{str(region)!r}] must be a layer's name, or a list of different ones, got {names!r}"
        )
    return listed


def _refuse_bare_network(model: object) -> None:
    if isinstance(model, ActivationsModel):
        return
    # By the names of the classes' modules, so that no framework is imported to find out.
    frameworks = {cls.__module__.partition(".")[0] for cls in type(model).__mro__}
    if "torch" in frameworks:
        remedy = "wrap it: bsjax.adapters.from_torch(module, identifier)"
    elif "flax" in frameworks:
        remedy = "wrap it: bsjax.adapters.from_flax(module, identifier)"
    elif isinstance(model, (Mapping, NeuroidAssembly)):
        remedy = "wrap it: bsjax.adapters.from_stored(activations, identifier)"
    elif callable(model):
        remedy = "wrap it: bsjax.adapters.from_jax(function, identifier)"
    else:
        remedy = "it needs an identifier, layers() and a call (stimuli, layers) -> NeuroidAssembly"
    raise ValueError(f"{type(model).__name__} is not an activations model; {remedy}")


def _stimulus_set_of_paths(paths: Sequence[str | PathLike[str]]) -> StimulusSet:
    if isinstance(paths, (str, PathLike)):
        raise ValueError(f"stimuli must be a StimulusSet or a list of paths, got the single path {str(paths)!r}")
    ids = [str(path) for path in paths]
    return StimulusSet({"stimulus_id": ids}, stimulus_paths=dict(zip(ids, map(Path, ids), strict=True)))
