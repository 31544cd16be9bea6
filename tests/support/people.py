"""People's trials of the shape of published ones, and models that answer what a test says."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from bsjax import BehavioralAssembly, ModelCommitment, StimulusSet
from bsjax.adapters import from_stored
from bsjax.models import PrecomputedFeatures
from bsjax.models.tasks.imagenet import indices_of, synsets


def behaviour(values: Sequence[Any], **coords: Sequence[Any]) -> BehavioralAssembly:
    """One value for each presentation, with the coordinates of presentations."""
    labelled = {name: ("presentation", np.asarray(each)) for name, each in coords.items()}
    return BehavioralAssembly(values, coords=labelled, dims=["presentation"])


def answering(stimuli: StimulusSet, choices: Sequence[str], values: np.ndarray) -> PrecomputedFeatures:
    """A model with these probabilities ``(stimulus, choice)``."""
    coords = {"stimulus_id": ("presentation", stimuli["stimulus_id"].to_numpy()), "choice": list(choices)}
    answers = BehavioralAssembly(values, coords=coords, dims=["presentation", "choice"])
    return PrecomputedFeatures(answers, visual_degrees=8)


def trials_of(answers: Mapping[Any, Sequence[Any]], stimuli: StimulusSet, **columns: str) -> BehavioralAssembly:
    """One row for each subject and stimulus.

    Args:
        answers: subject -> their answers to the stimuli, in order.
        stimuli: what they saw.
        columns: coordinate -> the column of the stimuli that it repeats.
    """
    values = [answer for given in answers.values() for answer in given]
    coords = {
        "stimulus_id": np.tile(stimuli["stimulus_id"].to_numpy(), len(answers)),
        "subject": np.repeat(list(answers), len(stimuli)),
        **{name: np.tile(stimuli[column].to_numpy(), len(answers)) for name, column in columns.items()},
    }
    return behaviour(values, **coords)


def naming(ids: Iterable[Any], labels: Iterable[str]) -> ModelCommitment:
    """A model with ImageNet's classes as its units, which takes each stimulus for something with this label."""
    return _network(ids, [indices_of(label)[0] for label in labels])


def classifying(ids: Iterable[Any], classes: Iterable[str]) -> ModelCommitment:
    """The same, with ImageNet's own classes by their WordNet ids."""
    return _network(ids, [synsets().index(name) for name in classes])


def _network(ids: Iterable[Any], units: Sequence[int]) -> ModelCommitment:
    logits = np.zeros((len(units), len(synsets())), np.float32)
    logits[np.arange(len(units)), units] = 30
    stored = from_stored({"logits": logits}, "namer", stimulus_ids=list(ids))
    return ModelCommitment("namer", stored, visual_degrees=8, behavioral_readout_layer="logits")
