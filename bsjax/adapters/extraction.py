"""From a stimulus set to activations: what all frameworks share."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from bsjax.adapters.checks import (
    checked_identifier,
    checked_layers,
    checked_stimuli,
    checked_values,
    unknown_layers,
)
from bsjax.adapters.neuroids import concatenate_coords, label, neuroid_coords
from bsjax.adapters.preprocessing import Preprocessing
from bsjax.data import NeuroidAssembly, StimulusSet
from bsjax.data.images import load_image

_PROBE = np.full((256, 256, 3), 128, np.uint8)


class Network(Protocol):
    """One framework's way to run a batch. The first axis of everything is the image."""

    def shapes(self, batch: np.ndarray) -> Mapping[str, tuple[int, ...]]:
        """Shape of the output of every layer for this batch, in the order in which they are computed."""
        ...

    def run(self, batch: np.ndarray, layers: Sequence[str]) -> Mapping[str, Any]:
        """Outputs of those of ``layers`` that exist, all from one pass, on the host."""
        ...


class ExtractedActivations:
    """An activations model that runs a network over images, in batches of fixed size.

    An image that several rows share is run once. The last batch is filled up with its last image, so that
    every batch has the same shape and compiled networks compile once; a set smaller than one batch runs in
    the smallest power of two that holds it. The next batch is decoded and preprocessed while the network
    runs.

    Args:
        identifier: name of the model; it begins every ``neuroid_id``.
        network: runs a batch.
        preprocess: list of uint8 ``(height, width, 3)`` images -> batch.
        batch_size: images in a batch.

    Raises:
        ValueError: ``identifier`` is empty or ``batch_size`` is not positive.
    """

    def __init__(self, identifier: str, network: Network, preprocess: Preprocessing, batch_size: int = 64) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self.identifier = checked_identifier(identifier)
        self._network = network
        self._preprocess = preprocess
        self._batch_size = int(batch_size)
        self._shapes: dict[str, tuple[int, ...]] | None = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.identifier!r}, {self._network!r})"

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Names of the layers -> shape of the output for one image, found by running one gray probe image."""
        if self._shapes is None:
            # Two copies where possible: a first axis of two tells images from any other axis of length one.
            n = min(2, self._batch_size)
            shapes = self._network.shapes(np.asarray(self._preprocess([_PROBE] * n)))
            self._shapes = {name: tuple(shape[1:]) for name, shape in shapes.items() if tuple(shape[:1]) == (n,)}
        return dict(self._shapes)

    def __call__(self, stimuli: StimulusSet, layers: str | Sequence[str]) -> NeuroidAssembly:
        """Activations of ``layers`` for every row of ``stimuli``.

        Args:
            stimuli: what to show; every column becomes a coordinate of the presentations.
            layers: names of layers, in the order wanted.

        Returns:
            float32, dims ``(presentation, neuroid)``, layers side by side, each flattened in C order. Neuroid
            coordinates: ``neuroid_id``, ``layer``, ``neuroid_num``, and the position in the layer's output.

        Raises:
            ValueError: a layer does not exist (those that do are listed), gives NaN or infinite values, or
                outputs whose shape changes between batches or does not begin with the image.
            KeyError: a stimulus has no path.
            FileNotFoundError: a stimulus has no file.
        """
        layers = checked_layers(layers)
        checked_stimuli(stimuli)
        row_of, paths, ids = _unique_images(stimuli)
        shapes: dict[str, tuple[int, ...]] = {}
        values = np.empty(0, np.float32)
        for start, n, batch in self._batches(paths):
            outputs = self._run(batch, layers)
            shapes = shapes or {layer: output.shape[1:] for layer, output in outputs.items()}
            flat = [
                self._flat(layer, output[:n], shapes[layer], ids[start : start + n])
                for layer, output in outputs.items()
            ]
            if start == 0:
                values = np.empty((len(paths), sum(part.shape[1] for part in flat)), np.float32)
            np.concatenate(flat, axis=1, out=values[start : start + n])
        coords = concatenate_coords([neuroid_coords(self.identifier, layer, shapes[layer]) for layer in layers])
        return label(values if len(paths) == len(stimuli) else values[row_of], coords, stimuli)

    def _run(self, batch: np.ndarray, layers: list[str]) -> dict[str, np.ndarray]:
        """Outputs in the order of ``layers``, each with an image per row."""
        outputs = self._network.run(batch, layers)
        missing = [layer for layer in layers if layer not in outputs]
        if missing:
            raise unknown_layers(self.identifier, missing, self.layers())
        arrays = {layer: np.asarray(outputs[layer]) for layer in layers}
        for layer, array in arrays.items():
            if array.shape[:1] != batch.shape[:1]:
                raise ValueError(
                    f"layer {layer!r} of model {self.identifier!r} gives shape {array.shape} "
                    f"for {len(batch)} images; the first axis must be the image"
                )
        return arrays

    def _flat(self, layer: str, output: np.ndarray, shape: tuple[int, ...], ids: Sequence[object]) -> np.ndarray:
        """A batch of one layer, checked, as float32 ``(images, units)``; ``shape`` is the first batch's."""
        if output.shape[1:] != shape:
            raise ValueError(
                f"layer {layer!r} of model {self.identifier!r} changes the shape of its output between "
                f"batches: {shape} for the first, {output.shape[1:]} for that of stimulus {ids[0]!r}; "
                "preprocess images to one size"
            )
        return checked_values(self.identifier, layer, output, ids).reshape(len(output), -1)

    def _batches(self, paths: list[Path]) -> Iterator[tuple[int, int, np.ndarray]]:
        """Position of the first image, number of images, and the filled-up batch; one batch is made ahead."""
        size = min(self._batch_size, 1 << (len(paths) - 1).bit_length())
        starts = range(0, len(paths), size)
        with ThreadPoolExecutor(max_workers=1) as pool:
            ahead = pool.submit(self._batch, paths[:size], size)
            for start in starts:
                batch = ahead.result()
                following = paths[start + size : start + 2 * size]
                if following:
                    ahead = pool.submit(self._batch, following, size)
                yield start, min(size, len(paths) - start), batch

    def _batch(self, paths: list[Path], size: int) -> np.ndarray:
        batch = np.asarray(self._preprocess([load_image(path) for path in paths]))
        if batch.shape[:1] != (len(paths),):
            raise ValueError(
                f"the preprocessing of model {self.identifier!r} made shape {batch.shape} "
                f"of {len(paths)} images; the first axis must be the image"
            )
        return np.concatenate([batch, np.repeat(batch[-1:], size - len(paths), axis=0)])


def _unique_images(stimuli: StimulusSet) -> tuple[np.ndarray, list[Path], list[object]]:
    """For each row the number of its image, the path of each image, and an id that shows it."""
    stimulus_ids = stimuli["stimulus_id"].tolist()
    paths = [Path(stimuli.get_stimulus(stimulus_id)) for stimulus_id in stimulus_ids]
    row_of, _ = pd.factorize(np.array([str(path) for path in paths], dtype=object))
    _, first = np.unique(row_of, return_index=True)
    return row_of, [paths[row] for row in first], [stimulus_ids[row] for row in first]
