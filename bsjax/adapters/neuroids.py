"""Names and coordinates of model units."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bsjax.data import NeuroidAssembly, StimulusSet

# By position, as in Brain-Score, for the axes that follow the image: of a torch layer (channel, row, column),
# `channel_x` is the row, and of a transformer's (token, feature), `channel` is the token.
_AXIS_NAMES: dict[int, tuple[str, ...]] = {
    1: ("channel",),
    2: ("channel", "embedding"),
    3: ("channel", "channel_x", "channel_y"),
    4: ("channel_temporal", "channel_x", "channel_y", "channel"),
}
# A flat layer has no position, and says so, again as in Brain-Score.
_ALWAYS_PRESENT = {1: ("channel_x", "channel_y")}


def neuroid_coords(identifier: str, layer: str, shape: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Coordinates of the units of one layer, flattened in C order.

    Args:
        identifier: the model's.
        layer: the layer's name.
        shape: of the layer's output for one image.

    Returns:
        ``neuroid_id`` ("identifier.layer.n"), ``layer``, ``neuroid_num``, and the position of each unit on
        the axes of the output, named by the number of axes as in Brain-Score: ``channel``; ``channel,
        embedding``; ``channel, channel_x, channel_y``; ``channel_temporal, channel_x, channel_y, channel``.
        No position for more axes.

    Example:
        >>> coords = neuroid_coords("net", "conv", (2, 1, 2))
        >>> coords["neuroid_id"].tolist()
        ['net.conv.0', 'net.conv.1', 'net.conv.2', 'net.conv.3']
        >>> coords["channel"].tolist(), coords["channel_y"].tolist()
        ([0, 0, 1, 1], [0, 1, 0, 1])
    """
    shape = shape or (1,)
    size = int(np.prod(shape))
    number = np.arange(size)
    coords = {
        "neuroid_id": np.strings.add(f"{identifier}.{layer}.", number.astype(str)),
        "layer": np.full(size, layer),
        "neuroid_num": number,
    }
    names = _AXIS_NAMES.get(len(shape), ())
    if names:
        coords.update(zip(names, np.unravel_index(number, shape), strict=True))
    coords.update({name: np.full(size, np.nan) for name in _ALWAYS_PRESENT.get(len(shape), ())})
    return coords


def concatenate_coords(parts: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Join the coordinates of several layers; a coordinate that a layer lacks is NaN there.

    Example:
        >>> joined = concatenate_coords([neuroid_coords("m", "a", (1,)), neuroid_coords("m", "b", (1, 2))])
        >>> joined["embedding"].tolist()
        [nan, 0.0, 1.0]
    """
    sizes = [len(part["neuroid_num"]) for part in parts]
    return {
        name: np.concatenate([part.get(name, np.full(size, np.nan)) for part, size in zip(parts, sizes, strict=True)])
        for name in dict.fromkeys(name for part in parts for name in part)
    }


def label(values: np.ndarray, coords: Mapping[str, np.ndarray], stimuli: StimulusSet) -> NeuroidAssembly:
    """An assembly of ``values``, ``(stimuli, units)``, with the units' coordinates and every column of the
    stimulus set.

    Raises:
        ValueError: a column of the stimulus set has the name of a neuroid coordinate.
    """
    columns = ["stimulus_id", *(str(name) for name in stimuli.columns if name != "stimulus_id")]
    taken = sorted({*coords, "neuroid", "presentation"}.intersection(columns))
    if taken:
        raise ValueError(
            f"stimulus set {stimuli.identifier!r} has columns named like coordinates of model units: "
            f"{', '.join(taken)}; rename them"
        )
    return NeuroidAssembly(
        values,
        coords={
            **{name: ("presentation", np.asarray(stimuli[name])) for name in columns},
            **{name: ("neuroid", coord) for name, coord in coords.items()},
        },
        dims=["presentation", "neuroid"],
        attrs={"stimulus_set_identifier": stimuli.identifier} if stimuli.identifier else None,
    )
