"""Activations of videos, in time bins of one frame each.

All layers of a wrapper use the same bins, whatever the length of their own time axis.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self, Unpack

import numpy as np

from bsjax.activations import ExtractedActivations
from bsjax.activations.checks import checked_layers, checked_stimuli
from bsjax.activations.inputs.shown_items import Item, items_of
from bsjax.activations.inputs.video import is_video
from bsjax.activations.neuroids import Units, label, neuroid_coords
from bsjax.activations.options import ExtractionOptions
from bsjax.activations.passes.results import concatenated
from bsjax.compat.activations.hooks import Hooked, through
from bsjax.compat.activations.temporal.inferencers import AXES, TIME, TemporalInferencer
from bsjax.compat.activations.temporal.network import OfVideos, VideoNetwork
from bsjax.compat.assemblies import NeuroidAssembly, for_plugins
from bsjax.core.digests.arrays import Undigestible
from bsjax.core.identity.values import identity_of
from bsjax.core.messages import some
from bsjax.data import StimulusSet
from bsjax.models.stimulus_presentation import as_stimulus_set

_LOGITS = "logits"


class _InFrames(NamedTuple):
    """Responses of a layer.

    Attributes:
        values: ``(stimuli, units, frames)``.
        shape: shape of the units.
    """

    values: np.ndarray
    shape: tuple[int, ...]


class ActivationsExtractor(Hooked):
    """An activations model of videos.

    Args:
        inferencer: object that defines how videos are shown to the network.
        identifier: name of the model.
        content: function that returns the object to take a digest of.
    """

    def __init__(self, inferencer: TemporalInferencer, identifier: str, content: Callable[[], object]) -> None:
        self.inferencer = inferencer
        self.identifier = identifier
        network = VideoNetwork(inferencer, content)
        length = inferencer.window_length(max(int(inferencer.img_duration * inferencer.fps / 1000), 1))
        preprocessing = OfVideos(inferencer.preprocessing, inferencer.fps, length)
        self._activations = ExtractedActivations(identifier, network, preprocessing, batch_size=inferencer.batch_size)
        self._batch_hooks, self._stimulus_set_hooks = network.hooks, {}

    @property
    def digest(self) -> str | None:
        """As for :class:`~bsjax.activations.ExtractedActivations`."""
        return self._activations.digest

    def recipe_digest(self) -> str | None:
        """Digest of everything that determines the activations; None if unknown."""
        digest = self._activations.recipe_digest()
        try:
            return None if digest is None else identity_of((digest, self.inferencer.settings()))
        except Undigestible:
            return None

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Names of the layers with a format -> shape of the output in one time bin."""
        return {layer: self._without_time(layer, shape) for layer, shape in self._activations.layers().items()}

    def with_options(self, **options: Unpack[ExtractionOptions]) -> Self:
        """The same model with changed extraction options; see ``ExtractedActivations``.

        Raises:
            ValueError: an option is unknown or out of range, or is a reducer, which would mix time with other axes.
        """
        if options.get("reducer") is not None:
            raise ValueError(
                f"layers of model {self.identifier!r} have time and are not reduced: pool in process_output"
            )
        changed = copy.copy(self)
        changed._activations = self._activations.with_options(**options)
        return changed

    def __call__(
        self,
        stimuli: StimulusSet | Sequence[str],
        layers: str | Sequence[str] | None = None,
        stimuli_identifier: str | bool | None = None,
        number_of_trials: int = 1,
        require_variance: bool = False,
    ) -> NeuroidAssembly:
        """Activations of layers for a stimulus set of videos and images, or their paths.

        Args:
            stimuli: the stimuli.
            layers: names of layers.
            stimuli_identifier: ignored; the cache is keyed by the content of the files.
            number_of_trials: ignored; trials are identical and give one row.
            require_variance: must be False.

        Returns:
            float32, dims ``(presentation, neuroid, time_bin)``, in bins of one frame each, with ``time_bin_start`` and
            ``time_bin_end`` in ms, up to the end of the longest video; NaN after the end of a shorter one. If the
            length of a layer's time axis differs from the number of frames, each bin is the mean of the entries in it,
            weighted by their overlap. A layer without time is constant over the bins of each window.

        Raises:
            ValueError: ``require_variance`` is set, a layer has no format, or its axes differ from the format; or as
                for :class:`~bsjax.activations.ExtractedActivations`.
            FileNotFoundError: a stimulus has no file.
        """
        if require_variance:
            raise ValueError(
                f"model {self.identifier!r} sees videos, which are not shifted between trials: look with "
                "require_variance=False"
            )
        shown = through(self._stimulus_set_hooks, as_stimulus_set(stimuli))
        checked_stimuli(shown)
        layers = checked_layers(layers or [_LOGITS])
        unknown = [layer for layer in layers if layer not in self.inferencer.layer_activation_format]
        if unknown:
            known = some(self.inferencer.layer_activation_format, 100)
            raise ValueError(f"model {self.identifier!r} has no format of layer {some(unknown)}; there are: {known}")
        found = for_plugins(self._labelled(shown, self._recorded(shown, layers)))
        return found if isinstance(stimuli, StimulusSet) else found.rename({"stimulus_id": "stimulus_path"})

    def set_visual_degrees(self, visual_degrees: float) -> None:
        """Do nothing; the field of view has no effect on videos."""

    def _recorded(self, stimuli: StimulusSet, layers: list[str]) -> dict[str, _InFrames]:
        paths = [item.path for item in items_of(stimuli)]
        frames_in = {path: self.inferencer.frames_in(path) for path in dict.fromkeys(paths)}
        n_frames = [frames_in[path] for path in paths]
        of_length: dict[int, list[tuple[int, int]]] = {}  # windows of equal length are run together
        for row, n in enumerate(n_frames):
            length = self.inferencer.window_length(n)
            of_length.setdefault(length, []).extend((row, first) for first in range(0, n, length))
        ids = stimuli["stimulus_id"].tolist()
        found: dict[str, _InFrames] = {}
        for length, shown in of_length.items():
            items = [self._item(paths[row], first, length) for row, first in shown]
            answers = self._activations.record_items(items, [ids[row] for row, _ in shown], layers)
            for layer in layers:
                shape = answers[layer].units.shape
                units = self._without_time(layer, shape)
                if layer not in found:
                    empty = np.full((len(paths), int(np.prod(units)), max(n_frames)), np.nan, np.float32)
                    found[layer] = _InFrames(empty, units)
                if found[layer].shape != units:
                    raise ValueError(
                        f"layer {layer!r} of model {self.identifier!r} gives shape {units} beside time to some videos "
                        f"and {found[layer].shape} to others"
                    )
                time = self.inferencer.time_axis(layer, shape)
                for (row, first), value in zip(shown, np.asarray(answers[layer].values), strict=True):
                    frames = _in_frames(value.reshape(shape), time, length)[:, : n_frames[row] - first]
                    found[layer].values[row, :, first : first + frames.shape[1]] = frames
        return found

    def _item(self, path: Path, first: int, length: int) -> Item:
        first = first if is_video(path) else 0  # all parts of a still image are equal
        return Item(path, window=(first, length, self.inferencer.fps))

    def _without_time(self, layer: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        time = self.inferencer.time_axis(layer, shape)
        return shape if time is None else (*shape[:time], *shape[time + 1 :])

    def _labelled(self, stimuli: StimulusSet, found: Mapping[str, _InFrames]) -> Any:
        values = concatenated([layer.values for layer in found.values()], axis=1)
        at_once = label(values[..., 0], self._coords({name: layer.shape for name, layer in found.items()}), stimuli)
        edges = np.arange(values.shape[-1] + 1) * 1000 / self.inferencer.fps
        timed = at_once.expand_dims(time_bin=values.shape[-1], axis=-1).copy(data=values)
        return timed.assign_coords(time_bin_start=("time_bin", edges[:-1]), time_bin_end=("time_bin", edges[1:]))

    def _coords(self, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, Any]:
        """Coordinates of the units, with their indices along the axes of each layer's format."""
        flat = neuroid_coords(
            self.identifier, [Units(layer, (int(np.prod(shape)),)) for layer, shape in shapes.items()]
        )
        coords: dict[str, Any] = {name: flat[name] for name in ("neuroid_id", "layer", "neuroid_num")}
        places: dict[str, list[np.ndarray]] = {}
        for layer, shape in shapes.items():
            letters = self.inferencer.layer_activation_format[layer].replace(TIME, "")
            n_units = int(np.prod(shape))
            found = dict(zip(letters, np.indices(shape).reshape(len(shape), n_units), strict=True))
            for letter, name in AXES.items():
                places.setdefault(name, []).append(found.get(letter, np.full(n_units, np.nan)))
        joined = {name: np.concatenate(parts) for name, parts in places.items()}
        return coords | {name: place for name, place in joined.items() if not np.isnan(place).all()}


def _in_frames(answer: np.ndarray, time: int | None, n_frames: int) -> np.ndarray:
    """A layer's response to one window, ``(units, frames)``."""
    entries = answer[..., None] if time is None else np.moveaxis(answer, time, -1)
    flat = entries.reshape(-1, entries.shape[-1])
    return flat if flat.shape[1] == n_frames else flat @ _shares(flat.shape[1], n_frames)


def _shares(n_entries: int, n_frames: int) -> np.ndarray:
    """Weights of the entries of a time axis in frames, ``(entries, frames)``; both span the same time."""
    entries, frames = (np.arange(n + 1) / n for n in (n_entries, n_frames))
    ends, starts = np.minimum(entries[1:, None], frames[None, 1:]), np.maximum(entries[:-1, None], frames[None, :-1])
    share = np.clip(ends - starts, 0, None)
    return (share / share.sum(axis=0)).astype(np.float32)
