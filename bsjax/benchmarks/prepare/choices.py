"""Choices from the probabilities that a model answers with."""

from __future__ import annotations

from bsjax.data import BehavioralAssembly
from bsjax.labelled.behaviour.responses import PRESENTATION, chosen


def most_probable(probabilities: BehavioralAssembly) -> BehavioralAssembly:
    """The most probable choice of every presentation, the first of equally probable ones.

    Args:
        probabilities: (presentation, choice), with the choices in ``choice``.

    Returns:
        Choices (presentation), with the coordinates of the presentations.

    Raises:
        ValueError: other dimensions, or probabilities that are NaN.

    Example:
        >>> probabilities = BehavioralAssembly([[0.2, 0.8]], dims=["presentation", "choice"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "choice": ["dog", "cat"]})
        >>> most_probable(probabilities).values.tolist()
        ['cat']
    """
    coords = {name: coord for name, coord in probabilities.coords.items() if coord.dims == (PRESENTATION,)}
    return BehavioralAssembly(chosen(probabilities, "the model's answers"), coords=coords, dims=[PRESENTATION])
