"""Preparation of a model's answers for the comparison with people's."""

import pandas as pd

from bsjax.core.messages import some
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


def as_people_saw(answers: BehavioralAssembly, people: BehavioralAssembly) -> BehavioralAssembly:
    """A model's answers with the ``condition`` and ``truth`` of people's trials on the same stimuli.

    In the published stimulus tables, all images of a composite set have the set's name as condition; people's trials
    have the actual condition.

    Raises:
        ValueError: a stimulus has several conditions or truths, or is missing from people's trials.

    Example:
        >>> seen = {"stimulus_id": ["a", "b"], "condition": ["RGB", "segments"], "truth": ["Cup", "Cup"]}
        >>> people = BehavioralAssembly(["Cup", "Pan"], dims=["presentation"],
        ...     coords={name: ("presentation", values) for name, values in seen.items()})
        >>> model = BehavioralAssembly(["Cup"], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", ["b"]), "condition": ("presentation", ["all"])})
        >>> as_people_saw(model, people)["condition"].values.tolist()
        ['segments']
    """
    names = ["stimulus_id", "condition", "truth"]
    known = pd.DataFrame({name: people[name].values for name in names}).drop_duplicates()
    several = known.loc[known["stimulus_id"].duplicated(), "stimulus_id"].unique()
    if len(several):
        raise ValueError(f"people's trials give several conditions or truths for the stimuli {some(several)}")
    ids = answers["stimulus_id"].values
    rows = pd.Index(known["stimulus_id"]).get_indexer(pd.Index(ids))
    if (rows < 0).any():
        raise ValueError(f"people have not seen the stimuli {some(pd.unique(ids[rows < 0]))}")
    return answers.assign_coords({name: ("presentation", known[name].to_numpy()[rows]) for name in names[1:]})
