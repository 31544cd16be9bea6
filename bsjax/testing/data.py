"""Data that checks are run on, and the changes that a score may not notice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from bsjax.data import NeuroidAssembly
from bsjax.testing.contract import STANDARD, Size

Change = Callable[[Any, np.random.Generator], Any]

_OBJECTS = ("car", "dog", "face", "tree")
_DIGITS = 2  # so that examples can be read


def assembly(values: Any, name: str = "x", stimulus_ids: Any = None) -> NeuroidAssembly:
    """Responses with the labels that metrics and benchmarks take.

    Args:
        values: ``(stimuli, neuroids)``.
        name: what the neuroids are called by.
        stimulus_ids: of the rows; ``stimulus00``, ``stimulus01``, ... if not given.

    Returns:
        Dimensions presentation and neuroid; ``stimulus_id``, ``object_name`` (of four objects in turn), ``neuroid_id``
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
    """Two sides that have nothing in common, ``(stimuli, features)`` and ``(stimuli, neuroids)``."""
    shapes = (size.stimuli, size.features), (size.stimuli, size.neuroids)
    x, y = (rng.normal(size=shape).round(_DIGITS) for shape in shapes)
    return x, y


def related(rng: np.random.Generator, size: Size = STANDARD) -> tuple[np.ndarray, np.ndarray]:
    """Two sides of which the second follows some of the first one's units, with noise."""
    x, y = noise(rng, size)
    few = min(size.features, size.neuroids)
    y[:, :few] = 0.5 * y[:, :few] + x[:, :few] + 1.0
    return x, y.round(_DIGITS)


def trials(rng: np.random.Generator, repetitions: int = 4, stimuli: int = 12, neuroids: int = 5) -> NeuroidAssembly:
    """Single trials (presentation, neuroid) of the same stimuli, with the coordinate ``repetition``."""
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
    "permutation": "the order of units does not count",
    "rotation": "a rotation of the units does not count",
    "scale": "the scale of all units together does not count",
    "unit scales": "the scale of each unit does not count",
    "shift": "what is added to a unit for all stimuli does not count",
    "stimuli": "the order of stimuli, on both sides, does not count",
}


def invariance(name: str) -> tuple[str, Change]:
    """The words and the change of one of the invariances that have a name.

    Raises:
        ValueError: no such name.

    Example:
        >>> invariance("source rotation")[0]
        'a rotation of the units does not count, on the source'
    """
    first, _, of_side = name.partition(" ")
    side, rest = (first, of_side) if first in ("source", "target") else ("", name)
    if rest not in WORDS:
        raise ValueError(
            f"unknown invariance {name!r}; there are {', '.join(WORDS)}, each also with 'source' or 'target' before "
            "it; or give a dict of names and functions (inputs, rng) -> inputs"
        )
    words = WORDS[rest] + (f", on the {side}" if side else "")

    def change(inputs: Any, rng: np.random.Generator) -> Any:
        if rest == "stimuli":
            order = rng.permutation(_rows(inputs))
            return on_sides(inputs, (0, 1), lambda each: each[order])
        if rest == "permutation":
            return on_sides(inputs, _SIDES[side], lambda each: each[:, rng.permutation(each.shape[1])])
        return on_sides(inputs, _SIDES[side], lambda each: with_values(each, _OF_VALUES[rest](np.asarray(each), rng)))

    return words, change


def on_sides(inputs: Any, sides: tuple[int, ...], function: Callable[[Any], Any]) -> Any:
    """Inputs, of which ``function`` changes the first, the second, or both."""
    if isinstance(inputs, Mapping):
        chosen = [name for place, name in enumerate(inputs) if place in sides]
        return {name: function(each) if name in chosen else each for name, each in inputs.items()}
    return tuple(function(each) if place in sides else each for place, each in enumerate(inputs))


def with_values(each: Any, values: np.ndarray) -> Any:
    """An array or an assembly with other values."""
    return each.copy(data=values) if isinstance(each, xr.DataArray) else values


def _rows(inputs: Any) -> int:
    return len(next(iter(inputs.values())) if isinstance(inputs, Mapping) else inputs[0])
