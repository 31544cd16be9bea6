"""Common parts of plots of models and people: the colour of people, and a check of experiments."""

from collections.abc import Mapping

import xarray as xr

from bsjax.labelled.align import listed

Choices = Mapping[str, xr.DataArray]
"""Experiment -> choices."""

PEOPLE_FAINT = "#b4bdc6"


def check_experiments(models: Mapping[str, Choices], people: Choices) -> None:
    """Check that models and people have choices in the same experiments.

    Raises:
        ValueError: there are no experiments, or those of a model differ from those of people.

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
