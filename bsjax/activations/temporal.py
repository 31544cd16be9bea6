"""Activations over time, of recurrent networks that see images and of networks that see videos."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self, Unpack

import jax
import numpy as np

from bsjax.activations.checks import checked_layers, checked_stimuli, unknown_layers
from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.clips import Clip, showing
from bsjax.activations.inputs.microsaccades import Microsaccades
from bsjax.activations.inputs.shown_items import items_of
from bsjax.activations.network import ActivationsModel
from bsjax.activations.neuroids import Units, label, neuroid_coords
from bsjax.activations.options import ExtractionOptions
from bsjax.activations.passes.results import concatenated
from bsjax.core.identity.values import identity_of
from bsjax.data import NeuroidAssembly, StimulusSet

Bins = tuple[tuple[float, float], ...]


class TemporalActivations:
    """An activations model whose layers have a time axis, with a time bin for each entry.

    Either the time bins are given, as for a recurrent network that processes an image in several steps; or the network
    takes clips, and the entries of the time axis are spread evenly over their duration.

    Args:
        activations: an activations model from an adapter. For clips, its preprocessing takes clips, uint8 ``(frames,
            height, width, 3)``, such as :func:`~bsjax.activations.inputs.video.clip_preprocessing`. It must have no
            reducer, which would mix time with other axes.
        axes: layer -> its time axis, not counting the image axis; or one number for all layers. A layer that is not
            named has no time axis: for clips it has one time bin per clip, and with ``bins`` no time.
        bins: layer -> (start, end) of each entry of its time axis, in ms after stimulus onset.
        clip: the network's input.

    Raises:
        ValueError: not exactly one of ``bins`` and ``clip`` is given, a layer does not exist, or the layers of
            ``bins`` differ from those of ``axes`` or have another number of entries.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.adapters import from_jax
        >>> fading = from_jax(lambda images: jnp.stack([images.mean((1, 2)), images.mean((1, 2)) / 2], 1), "fading")
        >>> model = TemporalActivations(fading, {"output": 0}, bins={"output": [(50, 100), (100, 150)]})
        >>> model.layers(), model.time_bins("output")
        ({'output': (3,)}, ((50.0, 100.0), (100.0, 150.0)))
    """

    def __init__(
        self,
        activations: ActivationsModel,
        axes: Mapping[str, int] | int,
        *,
        bins: Mapping[str, Sequence[tuple[float, float]]] | None = None,
        clip: Clip | None = None,
    ) -> None:
        if (bins is None) == (clip is None):
            raise ValueError("give either bins=, the time of each entry, or clip=, what the network sees at once")
        if clip is not None and not isinstance(activations, ExtractedActivations):
            raise ValueError(f"clips are shown to a network, which {type(activations).__name__} is not")
        self._activations = activations
        known = activations.layers()
        axes = dict.fromkeys(known, axes) if isinstance(axes, int) else dict(axes)
        if missing := [layer for layer in axes if layer not in known]:
            raise unknown_layers(activations.identifier, missing, known)
        flat = [layer for layer, axis in axes.items() if not -len(known[layer]) <= axis < len(known[layer])]
        if flat:
            raise ValueError(f"layer {flat[0]!r} of shape {known[flat[0]]} has no axis {axes[flat[0]]}")
        self._axes = {layer: axis % len(known[layer]) for layer, axis in axes.items()}
        self._timing: Clip | dict[str, Bins] = clip or self._checked(bins or {}, known)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._activations!r})"

    @property
    def identifier(self) -> str:
        """The name of the model."""
        return self._activations.identifier

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Names of the layers -> shape of the output in one time bin."""
        shapes = self._activations.layers()
        return {layer: self._without_time(layer, shape) for layer, shape in shapes.items()}

    def recipe_digest(self) -> str | None:
        """A digest of everything that determines the activations; None if it is unknown."""
        wrapped = getattr(self._activations, "recipe_digest", None)
        digest = wrapped() if callable(wrapped) else None
        return None if digest is None else identity_of((digest, self._axes, self._timing))

    def with_options(self, **options: Unpack[ExtractionOptions]) -> Self:
        """A copy of the model with options of the extraction changed; see ``ExtractedActivations``.

        Raises:
            ValueError: an option is unknown or out of range, or nothing is extracted, as with stored activations.
        """
        if not isinstance(self._activations, ExtractedActivations):
            raise ValueError(f"{type(self._activations).__name__} has no options of extraction")
        changed = copy.copy(self)
        changed._activations = self._activations.with_options(**options)
        return changed

    def time_bins(self, layer: str) -> Bins:
        """(start, end) in ms of the entries of a layer's time axis, for one clip; empty for a layer without time.

        Raises:
            ValueError: there is no such layer.
        """
        shapes = self._activations.layers()
        if layer not in shapes:
            raise unknown_layers(self.identifier, [layer], shapes)
        if not isinstance(self._timing, Clip):
            return self._timing.get(layer, ())
        n = shapes[layer][self._axes[layer]] if layer in self._axes else 1
        edges = np.arange(n + 1) * self._timing.duration / n
        return tuple(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))

    def __call__(
        self, stimuli: StimulusSet, layers: str | Sequence[str], *, microsaccades: Microsaccades | None = None
    ) -> NeuroidAssembly:
        """Activations of ``layers`` in every time bin.

        Args:
            stimuli: images, or for a network of clips also videos.
            layers: names of layers that have the same time bins.
            microsaccades: show each image on several trials that differ by small shifts; not for clips.

        Returns:
            float32, dims ``(presentation, neuroid, time_bin)``, with ``time_bin_start`` and ``time_bin_end`` in ms;
            without ``time_bin`` if the layers have no time. For videos, time extends to the end of the longest; bins
            that begin after the end of a shorter one are NaN.

        Raises:
            ValueError: the layers have different time bins, or a reducer changed their units; or as for a call of the
                wrapped model.
        """
        layers = checked_layers(layers)
        checked_stimuli(stimuli)
        bins = {layer: self.time_bins(layer) for layer in layers}
        if len(set(bins.values())) > 1:
            shown = "; ".join(f"{layer}: {_in_words(spans)}" for layer, spans in bins.items())
            raise ValueError(f"layers with different time bins are asked for one after the other ({shown})")
        if not isinstance(self._timing, Clip) or not isinstance(self._activations, ExtractedActivations):
            return self._of_images(stimuli, layers, bins[layers[0]], microsaccades)
        if microsaccades is not None:
            raise ValueError(
                f"model {self.identifier!r} sees clips, which microsaccades do not shift; "
                "look with require_variance=False"
            )
        return self._of_clips(stimuli, layers, self._activations, self._timing)

    def _of_images(
        self, stimuli: StimulusSet, layers: list[str], bins: Bins, microsaccades: Microsaccades | None
    ) -> NeuroidAssembly:
        options: dict[str, Any] = {} if microsaccades is None else {"microsaccades": microsaccades}
        seen = self._activations(stimuli, layers, **options)
        if not bins:
            return seen
        shapes = self._activations.layers()
        ends = np.cumsum([int(np.prod(shapes[layer])) for layer in layers])
        if ends[-1] != seen.sizes["neuroid"]:
            raise self._reduced(", ".join(layers), int(ends[-1]), seen.sizes["neuroid"])
        values = seen.data if isinstance(seen.data, jax.Array) else np.asarray(seen.values)
        with jax.transfer_guard_host_to_device("allow"):  # indices of layer boundaries
            of_layers = zip(layers, [0, *ends.tolist()], ends.tolist(), strict=False)
            values = self._apart({layer: values[:, start:stop] for layer, start, stop in of_layers})
            at_once = seen.isel(neuroid=slice(values.shape[1]))
        of_units = [str(name) for name, coord in seen.coords.items() if coord.dims == ("neuroid",)]
        return _timed(at_once.drop_vars(of_units).assign_coords(self._coords(layers)), values, bins)

    def _of_clips(
        self, stimuli: StimulusSet, layers: list[str], network: ExtractedActivations, clip: Clip
    ) -> NeuroidAssembly:
        shown = showing([item.path for item in items_of(stimuli)], clip, bins_a_clip=len(self.time_bins(layers[0])))
        ids = stimuli["stimulus_id"].tolist()
        answers = network.record_items(shown.items(), [ids[row] for row, _ in shown.ends], layers)
        by_layer = jax.device_get({layer: answers[layer].values for layer in layers})  # clips are joined on the host
        values = shown.joined(self._apart(by_layer))
        edges = shown.edges.tolist()
        at_once = label(values[..., 0], self._coords(layers), stimuli)
        return _timed(at_once, values, tuple(zip(edges[:-1], edges[1:], strict=True)))

    def _apart(self, flat: Mapping[str, Any]) -> Any:
        """Move time to the last axis: ``(rows, units of all layers, time)``."""
        shapes = self._activations.layers()
        parts = []
        for layer, values in flat.items():
            shape = shapes[layer]
            if values.shape[1] != int(np.prod(shape)):
                raise self._reduced(layer, int(np.prod(shape)), values.shape[1])
            whole = values.reshape(len(values), *shape)
            time = self._axes.get(layer)
            others = [axis for axis in range(whole.ndim) if time is None or axis != time + 1]
            last = whole[..., None] if time is None else whole.transpose(*others, time + 1)
            parts.append(last.reshape(len(values), -1, last.shape[-1]))
        return concatenated(parts, axis=1)

    def _coords(self, layers: list[str]) -> dict[str, Any]:
        shapes = self.layers()
        return neuroid_coords(self.identifier, [Units(layer, shapes[layer]) for layer in layers])

    def _without_time(self, layer: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        axis = self._axes.get(layer)
        return shape if axis is None else (*shape[:axis], *shape[axis + 1 :])

    def _checked(
        self, bins: Mapping[str, Sequence[tuple[float, float]]], shapes: Mapping[str, tuple[int, ...]]
    ) -> dict[str, Bins]:
        if bins.keys() != self._axes.keys():
            raise ValueError(f"bins are those of {', '.join(bins)}, and time axes those of {', '.join(self._axes)}")
        checked = {layer: tuple((float(start), float(end)) for start, end in spans) for layer, spans in bins.items()}
        for layer, spans in checked.items():
            n = shapes[layer][self._axes[layer]]
            if len(spans) != n or not all(start < end for start, end in spans):
                raise ValueError(
                    f"layer {layer!r} has {n} entries in time, each needs a (start, end) with start < end; got {spans}"
                )
        return checked

    def _reduced(self, layers: str, expected: int, found: int) -> ValueError:
        return ValueError(
            f"layers with a time axis cannot be reduced: {layers} of model {self.identifier!r} should have {expected} "
            f"units and have {found}; take the reducer away: with_options(reducer=None)"
        )


def _timed(at_once: NeuroidAssembly, values: Any, bins: Bins) -> NeuroidAssembly:
    starts, ends = (list(side) for side in zip(*bins, strict=True))
    timed = at_once.expand_dims(time_bin=len(bins), axis=-1).copy(data=values)
    return timed.assign_coords(time_bin_start=("time_bin", starts), time_bin_end=("time_bin", ends))


def _in_words(bins: Bins) -> str:
    return f"{len(bins)} from {bins[0][0]:g} to {bins[-1][1]:g} ms" if bins else "no time"
