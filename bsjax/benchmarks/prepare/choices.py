"""Choices from the probabilities in a model's answers."""

from __future__ import annotations

from bsjax.data import BehavioralAssembly
from bsjax.labelled.behaviour.responses import PRESENTATION, chosen


def most_probable(probabilities: BehavioralAssembly) -> BehavioralAssembly:
    """The most probable choice of every presentation; ties go to the first.

    Args:
        probabilities: probabilities (presentation, choice), with the choices in ``choice``.

    Returns:
        Choices (presentation), with the coordinates of the presentations.

    Raises:
        ValueError: the dimensions differ, or probabilities are NaN.

    Example:
        >>> probabilities = BehavioralAssembly([[0.2, 0.8]], dims=["presentation", "choice"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "choice": ["dog", "cat"]})
        >>> most_probable(probabilities).values.tolist()
        ['cat']
    """
    coords = {name: coord for name, coord in probabilities.coords.items() if coord.dims == (PRESENTATION,)}
    return BehavioralAssembly(chosen(probabilities, "the model's answers"), coords=coords, dims=[PRESENTATION])
