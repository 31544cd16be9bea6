"""Common ground of pictures of observers: colours of people, panels for several experiments."""

from __future__ import annotations

from collections.abc import Mapping

import xarray as xr

from bsjax.labelled.align import listed

Choices = Mapping[str, xr.DataArray]
"""Experiment -> choices."""

PEOPLE_FAINT = "#b4bdc6"


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
