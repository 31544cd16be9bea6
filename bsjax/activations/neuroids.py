"""Names and coordinates of model units."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing

from bsjax.data import NeuroidAssembly, StimulusSet

# Names by position, as in Brain-Score, for the axes after the image. For a torch layer (channel, row, column),
# `channel_x` is the row; for a transformer's layer (token, feature), `channel` is the token.
_AXIS_NAMES: dict[int, tuple[str, ...]] = {
    1: ("channel",),
    2: ("channel", "embedding"),
    3: ("channel", "channel_x", "channel_y"),
    4: ("channel_temporal", "channel_x", "channel_y", "channel"),
}
# A flat layer has NaN positions, as in Brain-Score.
_ALWAYS_PRESENT = {1: ("channel_x", "channel_y")}


class Units(NamedTuple):
    """The units of one layer.

    Attributes:
        layer: its name.
        shape: of the layer's output for one image.
        kept: the units that are kept, as positions in C order; None for all.
    """

    layer: str
    shape: tuple[int, ...]
    kept: np.ndarray | None = None

    def __len__(self) -> int:
        return int(np.prod(self.shape)) if self.kept is None else len(self.kept)


def neuroid_coords(identifier: str, units: Sequence[Units]) -> dict[str, xr.Variable]:
    """Coordinates of the concatenated units of layers, each layer flattened in C order.

    They are computed on access: the names alone of three million units take hundreds of megabytes.

    Args:
        identifier: the model's.
        units: those of each layer.

    Returns:
        ``neuroid_id`` ("identifier.layer.n"), ``layer``, ``neuroid_num``, and the position of each unit on the axes of
        the output, named by the number of axes as in Brain-Score: ``channel``; ``channel, embedding``; ``channel,
        channel_x, channel_y``; ``channel_temporal, channel_x, channel_y, channel``. There is no position for more
        axes; a position that a layer lacks is NaN.

    Example:
        >>> coords = neuroid_coords("net", [Units("conv", (2, 1, 2))])
        >>> coords["neuroid_id"].values.tolist()
        ['net.conv.0', 'net.conv.1', 'net.conv.2', 'net.conv.3']
        >>> coords["channel"].values.tolist(), coords["channel_y"].values.tolist()
        ([0, 0, 1, 1], [0, 1, 0, 1])
    """
    names = dict.fromkeys(name for part in units for name in _coordinates_of(part))
    return {
        name: xr.Variable("neuroid", indexing.LazilyIndexedArray(_Coordinate(identifier, tuple(units), name)))
        for name in names
    }


def _coordinates_of(units: Units) -> list[str]:
    n_axes = len(units.shape) or 1
    positions = (*_AXIS_NAMES.get(n_axes, ()), *_ALWAYS_PRESENT.get(n_axes, ()))
    return ["neuroid_id", "layer", "neuroid_num", *positions]


class _Coordinate(BackendArray):
    """One coordinate of the units of layers, computed for the requested units."""

    def __init__(self, identifier: str, units: tuple[Units, ...], name: str) -> None:
        self._identifier, self._units, self._name = identifier, units, name
        self._ends = np.cumsum([len(part) for part in units])
        self.shape = (int(self._ends[-1]),)
        self.dtype = np.result_type(*(self._of(part, np.arange(min(len(part), 1)) + len(part) - 1) for part in units))

    def __getitem__(self, key: indexing.ExplicitIndexer) -> np.ndarray:
        return indexing.explicit_indexing_adapter(key, self.shape, indexing.IndexingSupport.OUTER_1VECTOR, self._take)

    def _take(self, key: tuple[Any, ...]) -> np.ndarray | np.generic:
        wanted = np.arange(self.shape[0])[key]
        flat = np.atleast_1d(wanted)
        made = np.empty(flat.shape, self.dtype)
        part_of = np.searchsorted(self._ends, flat, side="right")
        for number, part in enumerate(self._units):
            mine = part_of == number
            if mine.any():
                made[mine] = self._of(part, flat[mine] - (self._ends[number] - len(part)))
        return made if np.ndim(wanted) else made[0]

    def _of(self, units: Units, rows: np.ndarray) -> np.ndarray:
        number = rows if units.kept is None else units.kept[rows]
        if self._name == "layer":
            return np.full(len(rows), units.layer)
        if self._name == "neuroid_id":
            return np.strings.add(f"{self._identifier}.{units.layer}.", number.astype(str))
        if self._name == "neuroid_num":
            return number
        shape = units.shape or (1,)
        names = _AXIS_NAMES.get(len(shape), ())
        if self._name not in names:
            return np.full(len(rows), np.nan)
        return np.unravel_index(number, shape)[names.index(self._name)]


def label(
    values: Any,
    coords: Mapping[str, Any],
    stimuli: StimulusSet,
    presentation_coords: Mapping[str, np.ndarray] | None = None,
) -> NeuroidAssembly:
    """An assembly of activations with the units' coordinates and every column of the stimulus set.

    Args:
        values: ``(presentations, units)``; rows follow the stimulus set, each repeated for every trial.
        coords: of the units, arrays or variables.
        stimuli: the shown stimuli.
        presentation_coords: further coordinates of the presentations.

    Raises:
        ValueError: a column of the stimulus set has the name of a neuroid coordinate.
    """
    columns = {str(name): name for name in ("stimulus_id", *stimuli.columns)}
    further = presentation_coords or {}
    taken = sorted({*coords, *further, "neuroid", "presentation"}.intersection(columns))
    if taken:
        raise ValueError(
            f"stimulus set {stimuli.identifier!r} has columns named like coordinates of model units: "
            f"{', '.join(taken)}; rename them"
        )
    trials = len(values) // len(stimuli)
    return NeuroidAssembly(
        values,
        coords={
            **{name: ("presentation", np.repeat(np.asarray(stimuli[own]), trials)) for name, own in columns.items()},
            **{name: ("presentation", coord) for name, coord in further.items()},
            **{name: ("neuroid", getattr(coord, "_data", coord)) for name, coord in coords.items()},
        },
        dims=["presentation", "neuroid"],
        attrs={"stimulus_set_identifier": stimuli.identifier} if stimuli.identifier else None,
    )
