"""Choices from the probabilities that a model answers with."""

from __future__ import annotations

from collections.abc import Callable

from bsjax.data import BehavioralAssembly, StimulusSet
from bsjax.data.types.merging import merge_stimulus_set
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


def with_columns_of(load_stimuli: Callable[[], StimulusSet]) -> Callable[[BehavioralAssembly], BehavioralAssembly]:
    """A function that gives answers the columns of their stimuli, whether the model kept them or not.

    Args:
        load_stimuli: gives the stimuli, with a column ``stimulus_id``.

    Example:
        >>> stimuli = StimulusSet({"stimulus_id": ["a", "b"], "image_label": ["dog", "cat"]})
        >>> answers = BehavioralAssembly([[0.2, 0.8]], dims=["presentation", "choice"], coords={
        ...     "stimulus_id": ("presentation", ["b"]), "choice": ["dog", "cat"]})
        >>> with_columns_of(lambda: stimuli)(answers)["image_label"].values.tolist()
        ['cat']
    """
    return lambda answers: merge_stimulus_set(answers, load_stimuli())
