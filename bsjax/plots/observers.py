"""Common ground of pictures of observers: colours of models and people, panels for several experiments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from bsjax.labelled.align import listed

Choices = Mapping[str, xr.DataArray]
"""Experiment -> choices."""

PEOPLE, PEOPLE_FAINT, QUIET = "#3d4852", "#b4bdc6", "#5c6873"
# Told apart by readers who see few colours (Okabe & Ito 2008), and by their markers.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")


def styles(models: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of each model.

    Example:
        >>> styles(["a", "b"])["b"]
        {'color': '#0072b2', 'marker': 's'}
    """
    return {
        model: {"color": COLOURS[n % len(COLOURS)], "marker": MARKERS[n % len(MARKERS)]}
        for n, model in enumerate(models)
    }


def check_experiments(models: Mapping[str, Choices], people: Choices) -> None:
    """Whether there is something to draw, of the same experiments on all sides.

    Raises:
        ValueError: no experiment, or a model that has others than people.

    Example:
        >>> check_experiments({"mine": {"sketch": xr.DataArray()}}, {})
        Traceback (most recent call last):
        ...
        ValueError: nothing to draw: there are no choices of people
    """
    if not people:
        raise ValueError("nothing to draw: there are no choices of people")
    for model, choices in models.items():
        if set(choices) != set(people):
            differ = sorted(set(choices) ^ set(people))
            raise ValueError(f"model {model!r} and people differ in their experiments: {listed(differ, 'of them')}")
