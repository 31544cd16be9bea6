"""Stored activations as an activations model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bsjax.adapters.checks import (
    checked_identifier,
    checked_layers,
    checked_stimuli,
    checked_values,
    unknown_layers,
)
from bsjax.adapters.neuroids import concatenate_coords, label, neuroid_coords
from bsjax.data import NeuroidAssembly, StimulusSet

_ONLY = "activations"


def from_stored(
    activations: NeuroidAssembly | Mapping[str, ArrayLike],
    identifier: str,
    stimulus_ids: Sequence[object] | None = None,
) -> StoredActivations:
    """Make an activations model of activations that were computed before; no image is read.

    Args:
        activations: layer -> array, first axis the stimuli (also what ``numpy.load`` gives for an ``.npz``);
            or an assembly, dims ``(presentation, neuroid)`` with ``stimulus_id``. Its neuroids are grouped by
            their coordinate ``layer``; without one they are the layer ``"activations"``.
        identifier: name of the model.
        stimulus_ids: of arrays, the id of each row.

    Raises:
        ValueError: ids are missing, repeated, or not as many as an array has rows; an array has no axis; an
            assembly has other dimensions; values are NaN or infinite.

    Example:
        >>> import numpy as np
        >>> model = from_stored({"conv": np.zeros((2, 4, 3))}, "net", stimulus_ids=["a", "b"])
        >>> model.layers()
        {'conv': (4, 3)}
    """
    if isinstance(activations, NeuroidAssembly):
        if stimulus_ids is not None:
            raise ValueError("an assembly has its own stimulus_id; leave out stimulus_ids=")
        arrays, coords, ids = _parts_of(activations)
    elif isinstance(activations, Mapping):
        if stimulus_ids is None:
            raise ValueError("stored arrays need stimulus_ids=, the id of each row")
        ids, coords = list(stimulus_ids), {}
        arrays = {str(layer): np.asarray(array) for layer, array in activations.items()}
    else:
        raise ValueError(f"expected a NeuroidAssembly or a mapping of arrays, got {type(activations).__name__}")
    return StoredActivations(identifier, arrays, ids, coords)


class StoredActivations:
    """An activations model that looks stimuli up by id. Made by :func:`from_stored`."""

    def __init__(
        self,
        identifier: str,
        arrays: Mapping[str, np.ndarray],
        stimulus_ids: Sequence[object],
        coords: Mapping[str, Mapping[str, np.ndarray]],
    ) -> None:
        self.identifier = checked_identifier(identifier)
        index = pd.Index(np.asarray(stimulus_ids))
        if index.has_duplicates:
            repeated = list(index[index.duplicated()].unique())
            raise ValueError(f"stored activations of {identifier!r} repeat stimulus ids {_some(repeated)}")
        for layer, array in arrays.items():
            if array.shape[:1] != (len(index),):
                raise ValueError(
                    f"layer {layer!r} of {identifier!r} has shape {array.shape}, expected {len(index)} rows: "
                    "one for each stimulus id"
                )
        self._index = index
        self._arrays = {layer: checked_values(identifier, layer, array, list(index)) for layer, array in arrays.items()}
        self._coords = coords

    def __repr__(self) -> str:
        layers = ", ".join(self._arrays)
        return f"{type(self).__name__}({self.identifier!r}, {len(self._index)} stimuli, layers {layers})"

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Names of the layers -> shape for one stimulus."""
        return {layer: array.shape[1:] for layer, array in self._arrays.items()}

    def __call__(self, stimuli: StimulusSet, layers: str | Sequence[str]) -> NeuroidAssembly:
        """Activations of ``layers`` for every row of ``stimuli``, found by ``stimulus_id``.

        Raises:
            ValueError: a layer or a stimulus is not among those stored.
        """
        layers = checked_layers(layers)
        checked_stimuli(stimuli)
        missing_layers = [layer for layer in layers if layer not in self._arrays]
        if missing_layers:
            raise unknown_layers(self.identifier, missing_layers, self.layers())
        wanted = pd.Index(np.asarray(stimuli["stimulus_id"]))
        rows = self._index.get_indexer(wanted)
        if (rows < 0).any():
            missing = list(wanted[rows < 0].unique())
            raise ValueError(
                f"stored activations of {self.identifier!r} lack {len(missing)} of "
                f"{len(wanted.unique())} stimuli: {_some(missing)}; they hold {len(self._index)}, "
                f"such as {_some(list(self._index), 3)}"
            )
        flat = [self._arrays[layer][rows].reshape(len(rows), -1) for layer in layers]
        coords = concatenate_coords([self._coords_of(layer) for layer in layers])
        return label(np.concatenate(flat, axis=1), coords, stimuli)

    def _coords_of(self, layer: str) -> dict[str, np.ndarray]:
        own = neuroid_coords(self.identifier, layer, self._arrays[layer].shape[1:])
        return {**own, **self._coords.get(layer, {})}


def _parts_of(
    assembly: NeuroidAssembly,
) -> tuple[dict[str, np.ndarray], dict[str, dict[str, np.ndarray]], list[object]]:
    """Arrays by layer, the neuroids' own coordinates by layer, and the stimulus ids of an assembly."""
    if set(assembly.dims) != {"presentation", "neuroid"} or "stimulus_id" not in assembly.coords:
        raise ValueError(
            "stored activations need dims (presentation, neuroid) and a coordinate stimulus_id; "
            f"got dims {tuple(assembly.dims)} and coordinates {', '.join(map(str, assembly.coords))}"
        )
    values = assembly.transpose("presentation", "neuroid").values
    n = values.shape[1]
    coords = {str(name): coord.values for name, coord in assembly.coords.items() if coord.dims == ("neuroid",)}
    layer_of = coords["layer"].astype(str) if "layer" in coords else np.full(n, _ONLY)
    arrays, by_layer = {}, {}
    for layer in dict.fromkeys(layer_of.tolist()):
        mine = layer_of == layer
        arrays[layer] = values[:, mine]
        by_layer[layer] = {name: coord[mine] for name, coord in coords.items()}
    return arrays, by_layer, assembly["stimulus_id"].values.tolist()


def _some(values: Sequence[object], n: int = 5) -> str:
    shown = ", ".join(repr(value) for value in values[:n])
    return shown if len(values) <= n else f"{shown}, ... ({len(values)} in all)"
