"""Contracts of mappings, ceilings, models and benchmarks: sound ones pass, and defects are found by their property."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bsjax
from bsjax import Score
from bsjax.core.watching import Watcher, watched
from bsjax.metrics import NeuronToNeuron
from bsjax.metrics.regression.mapping import Traits
from bsjax.testing import ContractError, check_ceiling, check_model, checks_of
from bsjax.testing.contract import Check, run_all


def failures(thing, *names, **promised):
    """The named properties that do not hold."""
    found = []
    for check in checks_of(thing, **promised):
        if not names or check.name in names:
            try:
                check()
            except ContractError as error:
                found.append(error.property)
    return found


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Peeking(NeuronToNeuron):
    """Chooses features by all stimuli, those that are held out too."""

    def fit(self, prepared, held_out, held_out_mask):
        return super().fit(prepared, held_out, jnp.zeros_like(held_out_mask))

    def predict_held_out(self, prepared, held_out, held_out_mask):
        return self.predict(self.fit(prepared, held_out, held_out_mask), prepared.embedding[held_out])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Boasting(NeuronToNeuron):
    """Says that rotations do not count."""

    @property
    def traits(self):
        return Traits("inner products", True)


@pytest.mark.slow
def test_defects_of_mappings_are_found():
    assert failures(Peeking(), "folds") == ["folds"]
    assert failures(Boasting(), "traits") == ["traits"]
    assert failures(NeuronToNeuron(), "folds", "traits", "dtype") == []


def test_a_sound_ceiling_passes_and_one_of_noise_is_found():
    check_ceiling("internal_consistency")
    # A function of one assembly is a ceiling.
    assert failures(lambda trials: Score(0.9), "noise", "undefined", "repeatability") == [
        "undefined",
        "repeatability",
        "noise",
    ]


class Model:
    """``pixels``, whose answers are spoilt."""

    def __init__(self, spoil):
        self.model, self.spoil = bsjax.load_model("pixels"), spoil
        self.identifier, self.visual_degrees = "spoilt", self.model.visual_degrees
        self.start_task, self.start_recording = self.model.start_task, self.model.start_recording

    def look_at(self, stimuli, number_of_trials=1, require_variance=False):
        return self.spoil(self.model.look_at(stimuli, number_of_trials))


SPOILT = {
    "batch": lambda answer: answer.copy(data=answer.values - answer.values.mean(axis=0)),
    "answer": lambda answer: answer.drop_vars("neuroid_id"),
    "repeatable": lambda answer: answer.copy(data=answer.values + np.random.default_rng().normal(size=answer.shape)),
    "order": lambda answer: answer.copy(data=answer.values + 0.1 * np.arange(len(answer))[:, None]),
    "values": lambda answer: answer.copy(data=np.zeros_like(answer.values)),
}


@pytest.mark.slow
def test_a_sound_model_passes():
    check_model("pixels")


@pytest.mark.parametrize("name", SPOILT)
def test_a_defect_of_a_model_is_found(name):
    assert failures(Model(SPOILT[name]), name) == [name]


class Benchmark:
    """One that says what it is told."""

    identifier, version, parent, bibtex = "Mine2026-constant", 1, "V1", ""
    ceiling = Score(0.9)

    def __init__(self, score, ceiling=0.9):
        self.score, self.ceiling = score, Score(ceiling)

    def __call__(self, candidate):
        return self.score(candidate)


def test_defects_of_benchmarks_are_found():
    of_constant = Benchmark(lambda model: Score(0.8), ceiling=1.2)
    assert failures(of_constant) == ["ceiling", "score", "permutations"]
    seeds = iter(range(100))
    assert failures(Benchmark(lambda model: Score(next(seeds) / 1000)), "repeatable") == ["repeatable"]


@pytest.mark.slow
def test_a_sound_benchmark_passes():
    assert failures("Simulated.V1-cka") == []


def test_the_checks_tell_how_far_they_are():
    told = []

    class Told(Watcher):
        def step(self, what, done, total):
            told.append((what, done, total))

    with watched(Told()):
        run_all([Check(name, lambda: None) for name in "ab"])
    assert told == [("checks", 0, 2), ("checks", 1, 2), ("checks", 2, 2)]
