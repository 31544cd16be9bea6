"""Extraction of activations from a stimulus set, for networks of all frameworks."""

import copy
from collections.abc import Sequence
from typing import Any, Self, Unpack

from bsjax.activations.checks import checked_identifier, checked_layers, checked_stimuli
from bsjax.activations.inputs.microsaccades import Microsaccades, image_height
from bsjax.activations.inputs.preprocessing import Preprocessing
from bsjax.activations.inputs.shown_items import Item, items_of, unique_items
from bsjax.activations.network import Network
from bsjax.activations.neuroids import Units, label, neuroid_coords
from bsjax.activations.options import ExtractionOptions, Options
from bsjax.activations.passes.planning import estimated, widths_of
from bsjax.activations.passes.recording import Recorded, Recorder, repeated
from bsjax.activations.passes.results import side_by_side
from bsjax.activations.passes.runner import Runner
from bsjax.core.digests.arrays import Undigestible
from bsjax.core.identity.values import identity_of
from bsjax.core.memory import MemoryEstimate
from bsjax.data import NeuroidAssembly, StimulusSet


class ExtractedActivations:
    """An activations model that runs a network over images, in batches.

    An image in several rows is run once. For networks of JAX, the last batch is padded with copies of its last
    image, so that all batches have the same shape and compile once, and a set smaller than one batch runs in the
    smallest power of two that holds it. Images are decoded, and the outputs of the last batch stored, in other threads
    while the network runs.

    Activations are stored in the user's activation cache, and reused for the same network, preprocessing and images in
    any process. An interrupted run continues where it stopped.

    Args:
        identifier: name of the model; every ``neuroid_id`` begins with it.
        network: runs a batch.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch.
        **options: ``batch_size``, images per batch, by default 64; ``cache``, an ``ActivationCache``, None for no
            caching, by default the user's cache; ``reducer``, applied to every layer, see
            :mod:`bsjax.activations.reducers`; ``memory``, a budget such as ``"2GB"``, to which the batch size is
            adjusted, with results on disk if they do not fit; ``progress``, a function called in another thread with a
            :class:`~bsjax.activations.Progress` when a batch is stored; ``keep_on_device``, whether activations of JAX
            networks stay on the accelerator, by default if there is one; ``ahead``, layers that will be requested
            later for the same images, which are cached in the same pass if one is needed; ``version``, vouches for the
            code of the network and its preprocessing if it cannot be identified, and must be increased with every
            change of it. Weights are checked in any case.

    Raises:
        ValueError: ``identifier`` is empty, or an option is unknown or out of range.

    Example:
        >>> import jax.numpy as jnp
        >>> from bsjax.adapters import from_jax, unit_preprocessing
        >>> model = from_jax(lambda images: images.mean((1, 2)), "colour", preprocess=unit_preprocessing(8), cache=None)
        >>> type(model).__name__, model.layers()
        ('ExtractedActivations', {'output': (3,)})
    """

    def __init__(
        self, identifier: str, network: Network, preprocess: Preprocessing, **options: Unpack[ExtractionOptions]
    ) -> None:
        self.identifier = checked_identifier(identifier)
        self._options = Options().changed(options)
        self._runner = Runner(identifier, network, preprocess)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identifier!r}, {self._runner.network!r})"

    @property
    def digest(self) -> str | None:
        """Digest of the network's weights and code at its last run; None before it, without a cache, or if unknown."""
        return self._runner.digest

    @property
    def n_parameters(self) -> int | None:
        """Number of the network's parameters; None if unknown."""
        return getattr(self._runner.network, "n_parameters", None)

    def with_options(self, **options: Unpack[ExtractionOptions]) -> Self:
        """A copy of the model with some options changed.

        Raises:
            ValueError: an option is unknown or out of range.

        Example:
            >>> from bsjax.activations.reducers import SpatialPooling
            >>> from bsjax.adapters import from_jax
            >>> model = from_jax(lambda images: images, "pixels").with_options(reducer=SpatialPooling(1))
        """
        changed = copy.copy(self)
        changed._options = self._options.changed(options)
        return changed

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Names of the layers -> shape of the output for one image, found with a gray probe image."""
        return dict(self._runner.shapes())

    def widths(self, layers: str | Sequence[str]) -> dict[str, int]:
        """Names of layers -> number of units of each that a call returns, after the reducer.

        Raises:
            ValueError: a layer does not exist.

        Example:
            >>> from bsjax.adapters import from_jax
            >>> from_jax(lambda images: images.mean((1, 2)), "colour").widths("output")
            {'output': 3}
        """
        return widths_of(self._runner, checked_layers(layers), self._options)

    def recipe_digest(self) -> str | None:
        """Digest of weights, code, preprocessing and reducer; None if a part of them cannot be identified."""
        reducer = self._options.reducer
        try:
            return identity_of(
                (*self._runner.digests(self._options.version), "" if reducer is None else reducer.digest())
            )
        except Undigestible:
            return None

    def estimate(self, stimuli: StimulusSet, layers: str | Sequence[str]) -> MemoryEstimate:
        """Estimate the memory needed to extract these layers, measured on the first batches.

        Raises:
            ValueError: as for a call.
        """
        layers = checked_layers(layers)
        checked_stimuli(stimuli)
        items = items_of(stimuli)
        _, first = unique_items(items)
        return estimated(self._runner, [items[n] for n in first], layers, self._options)

    def __call__(
        self, stimuli: StimulusSet, layers: str | Sequence[str], *, microsaccades: Microsaccades | None = None
    ) -> NeuroidAssembly:
        """Activations of ``layers`` for every row of ``stimuli``.

        Args:
            stimuli: the stimuli to show; every column becomes a coordinate of the presentations.
            layers: names of layers, in the order of the result.
            microsaccades: show each image on several trials that differ by small shifts.

        Returns:
            float32, dims ``(presentation, neuroid)``, layers concatenated, each flattened in C order. Neuroid
            coordinates: ``neuroid_id``, ``layer``, ``neuroid_num``, and the position in the layer's output; they are
            computed on access. With microsaccades, the trials of a stimulus are consecutive rows, and
            ``microsaccade_shift_x_pixels``, ``..._y_degrees`` and so on give their shifts. The values of a single
            layer may be memory-mapped from a file.

        Raises:
            ValueError: a layer does not exist (the message lists the existing ones), has NaN or infinite values, or
                has outputs whose shape changes between batches or whose first axis is not the image; or the memory
                budget is too small for one image.
            KeyError: a stimulus has no path.
            FileNotFoundError: a stimulus has no file.
        """
        found = list(self._recorded(stimuli, checked_layers(layers), microsaccades).values())
        values = found[0].values if len(found) == 1 else side_by_side([part.values for part in found])
        return self._labelled(values, [part.units for part in found], stimuli, microsaccades)

    def by_layer(self, stimuli: StimulusSet, layers: Sequence[str]) -> dict[str, NeuroidAssembly]:
        """Activations of ``layers`` as separate assemblies, from one pass over the images.

        Cached layers are memory-mapped, so that they take memory one at a time as they are used.

        Raises:
            ValueError, KeyError, FileNotFoundError: as for a call.

        Example:
            >>> from bsjax import load_model
            >>> from bsjax.benchmarks.families.simulated.benchmark import population
            >>> gabor = load_model("gabor-v1").activations_model
            >>> found = gabor.by_layer(population().stimuli, ["simple", "complex"])
            >>> {layer: assembly.sizes["neuroid"] for layer, assembly in found.items()}
            {'simple': 2448, 'complex': 612}
        """
        found = self._recorded(stimuli, checked_layers(layers), None)
        return {layer: self._labelled(part.values, [part.units], stimuli, None) for layer, part in found.items()}

    def _recorded(
        self, stimuli: StimulusSet, layers: list[str], microsaccades: Microsaccades | None
    ) -> dict[str, Recorded]:
        checked_stimuli(stimuli)
        items = items_of(stimuli)
        ids = stimuli["stimulus_id"].tolist()
        if microsaccades is not None:
            items = [trial for item in items for trial in microsaccades.trials_of(item)]
            ids = [stimulus_id for stimulus_id in ids for _ in range(microsaccades.number_of_trials)]
        return self.record_items(items, ids, layers)

    def record_items(self, items: Sequence[Item], ids: Sequence[object], layers: Sequence[str]) -> dict[str, Recorded]:
        """Activations of layers for shown items, one row each; items with equal content are run once.

        Args:
            items: images, shifted images, or windows of videos.
            ids: the name of each, for messages.
            layers: names of layers.
        """
        row_of, first = unique_items(items)
        unique = [items[n] for n in first]
        found = Recorder(self._runner, self._options).record(unique, [ids[n] for n in first], layers)
        return {layer: found[layer]._replace(values=repeated(found[layer].values, row_of)) for layer in layers}

    def _labelled(
        self, values: Any, units: Sequence[Units], stimuli: StimulusSet, microsaccades: Microsaccades | None
    ) -> NeuroidAssembly:
        trials = {}
        if microsaccades is not None:
            trials = microsaccades.coords(len(stimuli), image_height(self._runner.probe))
        return label(values, neuroid_coords(self.identifier, units), stimuli, trials)
