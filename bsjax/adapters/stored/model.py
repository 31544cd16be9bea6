"""The activations model of stored activations."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bsjax.activations.checks import (
    checked_identifier,
    checked_layers,
    checked_stimuli,
    checked_values,
    unknown_layers,
)
from bsjax.activations.neuroids import Units, label, neuroid_coords
from bsjax.adapters.stored.files import IDS, Rows, read_stored, rows_at_a_time
from bsjax.core.file_reading import reading_as
from bsjax.core.given_arrays import unmasked
from bsjax.core.labels import remedy
from bsjax.data import NeuroidAssembly, StimulusSet

_ONLY = "activations"


def from_stored(
    activations: NeuroidAssembly | Mapping[str, ArrayLike] | str | os.PathLike[str],
    identifier: str | None = None,
    stimulus_ids: Sequence[object] | None = None,
) -> StoredActivations:
    """Make an activations model from precomputed activations; no image is read.

    From a file, only the rows of the presented stimuli are read. Exceptions are a compressed ``.npz``, which is
    decompressed from its start, and a ``.nc`` without ``bsjax[dask]``, which is read as a whole.

    Args:
        activations: layer -> array, stimuli on the first axis; or an assembly, dims ``(presentation, neuroid)`` with
            ``stimulus_id``, whose neuroids are grouped by their coordinate ``layer``, or form the layer
            ``"activations"`` without it; or the path of a file: ``.npz``, a zarr group or a folder of ``.npy`` files,
            each with one array per layer, or ``.nc``, an assembly in Brain-Score's format.
        identifier: name of the model; for a file by default its name without extension.
        stimulus_ids: for arrays, the id of each row; by default the array ``stimulus_ids`` among them, or the
            attribute of that name of a zarr group.

    Raises:
        FileNotFoundError: no such file.
        ValueError: values are masked; ids are missing, repeated, or differ in number from an array's rows; an array
            has no axis; an assembly has other dimensions; or a file cannot be read, or holds pickled objects.

    Example:
        >>> import numpy as np
        >>> model = from_stored({"conv": np.zeros((2, 4, 3))}, "net", stimulus_ids=["a", "b"])
        >>> model.layers()
        {'conv': (4, 3)}
    """
    if isinstance(activations, str | os.PathLike):
        path = Path(activations).expanduser()
        identifier = path.stem if identifier is None else identifier
        with reading_as("stored activations", path, ""):
            return _model_of(read_stored(path), identifier, stimulus_ids, str(path))
    return _model_of(activations, identifier, stimulus_ids, "stored activations")


def _model_of(
    found: NeuroidAssembly | Mapping[str, Any],
    identifier: str | None,
    stimulus_ids: Sequence[object] | None,
    where: str,
) -> StoredActivations:
    if isinstance(found, NeuroidAssembly):
        if stimulus_ids is not None:
            raise ValueError("an assembly has its own stimulus_id; leave out stimulus_ids=")
        arrays, coords, ids = _parts_of(found)
    elif isinstance(found, Mapping):
        arrays: dict[str, Any] = {
            str(layer): array if _is_lazy(array) else np.asarray(unmasked(array, str(layer)))
            for layer, array in found.items()
        }
        inside, coords = arrays.pop(IDS, None), {}
        if stimulus_ids is None and inside is None:
            raise ValueError(f"{where} need stimulus_ids=, the id of each row, or an array of the name {IDS!r}")
        ids = inside[np.arange(inside.shape[0])].tolist() if stimulus_ids is None else list(stimulus_ids)
    else:
        raise ValueError(f"expected a NeuroidAssembly, a mapping of arrays or a path, got {type(found).__name__}")
    return StoredActivations(checked_identifier(identifier or ""), arrays, ids, coords, where)


class StoredActivations:
    """An activations model that looks stimuli up by id. Created by :func:`from_stored`.

    Example:
        >>> import numpy as np
        >>> from bsjax.adapters import from_stored
        >>> model = from_stored({"late": np.eye(2)}, "doe-net", stimulus_ids=["a", "b"])
        >>> type(model).__name__, model.layers()
        ('StoredActivations', {'late': (2,)})
    """

    looks_at_images = False

    def __init__(
        self,
        identifier: str,
        arrays: Mapping[str, Rows],
        stimulus_ids: Sequence[object],
        coords: Mapping[str, Mapping[str, np.ndarray]],
        where: str,
    ) -> None:
        self.identifier = identifier
        self._where = where
        index = pd.Index(np.asarray(stimulus_ids))
        missing = np.flatnonzero(
            pd.Series(list(stimulus_ids), dtype=object).isna()
        ).tolist()  # before conversion to strings
        if missing:
            raise ValueError(f"stored activations of {identifier!r} have no stimulus id in rows {_some(missing)}")
        if index.has_duplicates:
            repeated = list(index[index.duplicated()].unique())
            raise ValueError(f"stored activations of {identifier!r} repeat stimulus ids {_some(repeated)}")
        for layer, array in arrays.items():
            if tuple(array.shape[:1]) != (len(index),):
                raise ValueError(
                    f"layer {layer!r} of {identifier!r} has shape {array.shape}, expected {len(index)} rows: "
                    "one for each stimulus id"
                )
        self._index = index
        self._arrays = arrays
        self._coords = coords

    def __repr__(self) -> str:
        layers = ", ".join(self._arrays)
        return f"{type(self).__name__}({self.identifier!r}, {len(self._index)} stimuli, layers {layers})"

    def layers(self) -> dict[str, tuple[int, ...]]:
        """Names of the layers -> shape for one stimulus."""
        return {layer: tuple(array.shape[1:]) for layer, array in self._arrays.items()}

    def widths(self, layers: str | Sequence[str]) -> dict[str, int]:
        """Names of layers -> number of units of each.

        Raises:
            ValueError: a layer is not stored.

        Example:
            >>> from_stored({"conv": np.zeros((2, 4, 3))}, "net", stimulus_ids=["a", "b"]).widths("conv")
            {'conv': 12}
        """
        layers = checked_layers(layers)
        missing_layers = [layer for layer in layers if layer not in self._arrays]
        if missing_layers:
            raise unknown_layers(self.identifier, missing_layers, self.layers())
        return {layer: math.prod(self._arrays[layer].shape[1:]) for layer in layers}

    def __call__(self, stimuli: StimulusSet, layers: str | Sequence[str]) -> NeuroidAssembly:
        """Activations of ``layers`` for every row of ``stimuli``, found by ``stimulus_id``.

        Raises:
            ValueError: a layer or a stimulus is not stored, or values are NaN or infinite.
        """
        layers = checked_layers(layers)
        checked_stimuli(stimuli)
        widths = self.widths(layers)
        wanted = pd.Index(np.asarray(stimuli["stimulus_id"]))
        rows = self._index.get_indexer(wanted)
        if (rows < 0).any():
            missing = list(wanted[rows < 0].unique())
            raise ValueError(
                f"stored activations of {self.identifier!r} lack {len(missing)} of "
                f"{len(wanted.unique())} stimuli: {_some(missing)}; they hold {len(self._index)}, "
                f"such as {_some(list(self._index), 3)}. {remedy(wanted, self._index, ('stimuli', 'stored'))}"
            )
        flat = [self._read(layer, rows, width) for layer, width in widths.items()]
        return label(flat[0] if len(flat) == 1 else np.concatenate(flat, axis=1), self._coords_of(layers), stimuli)

    def _read(self, layer: str, rows: np.ndarray, width: int) -> np.ndarray:
        """Rows of a layer, validated, float32 ``(rows, units)``; each is read once, in the order of the file."""
        array, values = self._arrays[layer], np.empty((len(rows), width), np.float32)
        order = np.argsort(rows, kind="stable")
        in_order, step = rows[order], rows_at_a_time(array)
        # In parts, because the rows of all stimuli in the order of the file would take as much memory as the result.
        for ends in pairwise(np.searchsorted(in_order, range(0, len(self._index) + step, step))):
            part = slice(*ends)
            ascending, row_of = np.unique(in_order[part], return_inverse=True)
            if len(ascending):
                with reading_as(f"layer {layer!r}", self._where, ""):
                    read = np.asarray(array[ascending])
                checked = checked_values(self.identifier, layer, read, list(self._index[ascending]))
                values[order[part]] = checked.reshape(len(ascending), -1)[row_of]
        return values

    def _coords_of(self, layers: list[str]) -> Mapping[str, Any]:
        units = [Units(layer, tuple(self._arrays[layer].shape[1:])) for layer in layers]
        if not self._coords:  # they can then be computed on access
            return neuroid_coords(self.identifier, units)
        made = [{n: c.values for n, c in neuroid_coords(self.identifier, [each]).items()} for each in units]
        return _joined([{**coords, **self._coords.get(layer, {})} for layer, coords in zip(layers, made, strict=True)])


def _parts_of(
    assembly: NeuroidAssembly,
) -> tuple[dict[str, Rows], dict[str, dict[str, np.ndarray]], list[object]]:
    """Arrays by layer, the neuroids' own coordinates by layer, and the stimulus ids of an assembly."""
    if set(assembly.dims) != {"presentation", "neuroid"} or "stimulus_id" not in assembly.coords:
        raise ValueError(
            "stored activations need dims (presentation, neuroid) and a coordinate stimulus_id; "
            f"got dims {tuple(assembly.dims)} and coordinates {', '.join(map(str, assembly.coords))}"
        )
    values = assembly.transpose("presentation", "neuroid").data  # possibly still on disk
    n = values.shape[1]
    coords = {str(name): coord.values for name, coord in assembly.coords.items() if coord.dims == ("neuroid",)}
    layer_of = coords["layer"].astype(str) if "layer" in coords else np.full(n, _ONLY)
    arrays, by_layer = {}, {}
    for layer in dict.fromkeys(layer_of.tolist()):
        mine = np.flatnonzero(layer_of == layer)
        arrays[layer] = values if len(mine) == n else values[:, mine]
        by_layer[layer] = {name: coord[mine] for name, coord in coords.items()}
    return arrays, by_layer, assembly["stimulus_id"].values.tolist()


def _joined(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """The coordinates of several layers; those that a layer lacks are NaN."""
    sizes = [len(part["neuroid_num"]) for part in parts]
    return {
        name: np.concatenate([part.get(name, np.full(size, np.nan)) for part, size in zip(parts, sizes, strict=True)])
        for name in dict.fromkeys(name for part in parts for name in part)
    }


def _is_lazy(array: object) -> bool:
    return not isinstance(array, np.ndarray) and all(hasattr(array, name) for name in ("shape", "dtype", "__getitem__"))


def _some(values: Sequence[object], n: int = 5) -> str:
    shown = ", ".join(repr(value) for value in values[:n])
    return shown if len(values) <= n else f"{shown}, ... ({len(values)} in all)"
