"""Standard data for checks, and transformations that a score may be invariant to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from bsjax.data import NeuroidAssembly
from bsjax.testing.contract import STANDARD, Size

Change = Callable[[Any, np.random.Generator], Any]

_OBJECTS = ("car", "dog", "face", "tree")
_DIGITS = 2  # keeps printed examples readable


def assembly(values: Any, name: str = "x", stimulus_ids: Any = None) -> NeuroidAssembly:
    """An assembly of responses, with the coordinates that metrics and benchmarks need.

    Args:
        values: responses ``(stimuli, neuroids)``.
        name: prefix of the neuroid identifiers.
        stimulus_ids: one identifier for each row; ``stimulus00``, ``stimulus01``, ... by default.

    Returns:
        An assembly (presentation, neuroid) with ``stimulus_id``, ``object_name`` (four objects in turn), ``neuroid_id``
        and ``region``.

    Example:
        >>> assembly([[1.0, 2.0]], stimulus_ids=["a"])["neuroid_id"].values.tolist()
        ['x.0', 'x.1']
    """
    values = np.asarray(values)
    ids = [f"stimulus{row:02d}" for row in range(len(values))] if stimulus_ids is None else list(stimulus_ids)
    width = values.shape[1]
    return NeuroidAssembly(
        values,
        coords={
            "stimulus_id": ("presentation", ids),
            "object_name": ("presentation", [_OBJECTS[row % len(_OBJECTS)] for row in range(len(values))]),
            "neuroid_id": ("neuroid", [f"{name}.{unit}" for unit in range(width)]),
            "region": ("neuroid", ["IT"] * width),
        },
        dims=["presentation", "neuroid"],
    )


def noise(rng: np.random.Generator, size: Size = STANDARD) -> tuple[np.ndarray, np.ndarray]:
    """Two independent sets of random responses, ``(stimuli, features)`` and ``(stimuli, neuroids)``."""
    shapes = (size.stimuli, size.features), (size.stimuli, size.neuroids)
    x, y = (rng.normal(size=shape).round(_DIGITS) for shape in shapes)
    return x, y


def related(rng: np.random.Generator, size: Size = STANDARD) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of responses, the second of which has noisy copies of units of the first."""
    x, y = noise(rng, size)
    few = min(size.features, size.neuroids)
    y[:, :few] = 0.5 * y[:, :few] + x[:, :few] + 1.0
    return x, y.round(_DIGITS)


def trials(rng: np.random.Generator, repetitions: int = 4, stimuli: int = 12, neuroids: int = 5) -> NeuroidAssembly:
    """Noisy single trials (presentation, neuroid) of each stimulus, with the coordinate ``repetition``."""
    signal = rng.normal(size=(stimuli, neuroids))
    values = (signal + 0.7 * rng.normal(size=(repetitions, stimuli, neuroids))).reshape(-1, neuroids).round(_DIGITS)
    ids = [f"stimulus{row:02d}" for row in range(stimuli)] * repetitions
    objects = np.tile(np.resize(_OBJECTS, stimuli), repetitions)
    made = assembly(values, "y", ids).assign_coords(
        repetition=("presentation", np.repeat(np.arange(repetitions), stimuli)),
        object_name=("presentation", objects),
    )
    return NeuroidAssembly(made)


def _rotate(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return values @ np.linalg.qr(rng.normal(size=(values.shape[1], values.shape[1])))[0]


_OF_VALUES: dict[str, Callable[[np.ndarray, np.random.Generator], np.ndarray]] = {
    "rotation": _rotate,
    "scale": lambda values, rng: values * rng.uniform(0.3, 3.0),
    "unit scales": lambda values, rng: values * rng.uniform(0.3, 3.0, values.shape[1]),
    "shift": lambda values, rng: values + rng.normal(size=values.shape[1]),
}
_SIDES = {"source": (0,), "target": (1,), "": (0, 1)}
WORDS = {
    "permutation": "the order of units does not affect the score",
    "rotation": "a rotation of the units does not affect the score",
    "scale": "a common scale of all units does not affect the score",
    "unit scales": "the scale of each unit does not affect the score",
    "shift": "a constant added to each unit does not affect the score",
    "stimuli": "reordering the stimuli on both sides does not affect the score",
}


def invariance(name: str) -> tuple[str, Change]:
    """A named invariance: its words and its transformation.

    Raises:
        ValueError: the name is unknown.

    Example:
        >>> invariance("source rotation")[0]
        'a rotation of the units does not affect the score (source only)'
    """
    first, _, of_side = name.partition(" ")
    side, rest = (first, of_side) if first in ("source", "target") else ("", name)
    if rest not in WORDS or (side and rest == "stimuli"):  # the stimuli of both sides are the same
        raise ValueError(
            f"unknown invariance {name!r}; expected {', '.join(WORDS)}, each with an optional prefix 'source' or "
            "'target', or a dict of names and functions (inputs, rng) -> inputs"
        )
    words = WORDS[rest] + (f" ({side} only)" if side else "")

    def change(inputs: Any, rng: np.random.Generator) -> Any:
        if rest == "stimuli":
            order = rng.permutation(_rows(inputs))
            return on_sides(inputs, (0, 1), lambda each: each[order])
        if rest == "permutation":
            return on_sides(inputs, _SIDES[side], lambda each: each[:, rng.permutation(each.shape[1])])
        return on_sides(inputs, _SIDES[side], lambda each: with_values(each, _OF_VALUES[rest](np.asarray(each), rng)))

    return words, change


def on_sides(inputs: Any, sides: tuple[int, ...], function: Callable[[Any], Any]) -> Any:
    """Applies ``function`` to the inputs at the positions ``sides`` and leaves the others as they are."""
    if isinstance(inputs, Mapping):
        chosen = [name for place, name in enumerate(inputs) if place in sides]
        return {name: function(each) if name in chosen else each for name, each in inputs.items()}
    return tuple(function(each) if place in sides else each for place, each in enumerate(inputs))


def with_values(each: Any, values: np.ndarray) -> Any:
    """New values, with the labels of ``each`` if it is an assembly."""
    return each.copy(data=values) if isinstance(each, xr.DataArray) else values


def _rows(inputs: Any) -> int:
    return len(next(iter(inputs.values())) if isinstance(inputs, Mapping) else inputs[0])
