"""A small experiment: stimuli, a model that responds to them, and trials of neuroids that it explains in part."""

from dataclasses import dataclass

import numpy as np

from bsjax import ModelCommitment, StimulusSet
from bsjax.adapters import from_stored
from tests.support import served_data as served

N_STIMULI, N_FEATURES, N_REPETITIONS = 40, 30, 4


@dataclass(frozen=True)
class Experiment:
    """``features`` (stimuli, units) of the model, and ``trials`` (repetitions, stimuli, neuroids)."""

    stimuli: StimulusSet
    features: np.ndarray
    trials: np.ndarray

    @property
    def means(self) -> np.ndarray:
        """The responses averaged over repetitions."""
        return self.trials.mean(axis=0)

    def model(self, region: str) -> ModelCommitment:
        """A model that responds with the features in a region, and sees 8 degrees."""
        return model_of(region, self)


def experiment_of(
    n_neuroids: int,
    n_stimuli: int = N_STIMULI,
    n_repetitions: int = N_REPETITIONS,
    prefix: str = "image",
    seed: int = 0,
    **columns: object,
) -> Experiment:
    """Neuroids that respond with a few of the model's units, something of their own, and noise on each trial.

    Experiments of the same seed are of the same neuroids; those of another prefix have other stimuli.
    """
    of_neuroids = np.random.default_rng(seed)
    weights = of_neuroids.normal(size=(N_FEATURES, n_neuroids)) * (np.arange(N_FEATURES) < 6)[:, None]
    of_stimuli = np.random.default_rng([seed, *prefix.encode()])
    features = of_stimuli.normal(size=(n_stimuli, N_FEATURES)).astype(np.float32)
    signal = features @ weights + of_stimuli.normal(size=(n_stimuli, n_neuroids))
    noise = 1.5 * of_stimuli.normal(size=(n_repetitions, n_stimuli, n_neuroids))
    return Experiment(served.stimuli_of(n_stimuli, prefix, **columns), features, signal + noise)


def model_of(region: str, *experiments: Experiment) -> ModelCommitment:
    """A model of the stimuli of several experiments."""
    features = np.concatenate([each.features for each in experiments])
    ids = [stimulus_id for each in experiments for stimulus_id in each.stimuli["stimulus_id"]]
    activations = from_stored({"all": features}, "stored", stimulus_ids=ids)
    return ModelCommitment("stored", activations, region_layer_map={region: "all"}, visual_degrees=8)
