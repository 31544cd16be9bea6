"""Crossing curves: trials in the shape of the published ones, accuracies by numpy."""

from itertools import combinations

import numpy as np
import pytest

from bsjax import load_benchmark
from tests.benchmarks.conftest import parts
from tests.support import served_data as served
from tests.support.people import answering, behaviour

IDENTIFIER = "Lonnqvist2024_InlabInstructionsBehavioralAccuracyDistance"
TRUTH = np.array(["f", "j"] * 15)


@pytest.fixture
def right():
    """Whether each of three people, and the model, is right about each of 30 images."""
    return np.random.default_rng(0).random((4, 30)) < np.array([0.95, 0.8, 0.7, 0.6])[:, None]


@pytest.fixture
def model(serve, right):
    """All data served; a model that gives the answers of the last row."""
    stimuli = served.stimuli_of(30, truth=TRUTH, image_label=TRUTH)
    ids = stimuli["stimulus_id"].to_numpy()
    answers = np.where(right, TRUTH, np.where(TRUTH == "f", "j", "f"))
    subjects = np.repeat(["a", "b", "c"], 30)
    people = behaviour(answers[:3].ravel(), stimulus_id=np.tile(ids, 3), truth=np.tile(TRUTH, 3), subject=subjects)
    serve("Lonnqvist2024_inlab-instructions", people, stimuli)
    serve("Lonnqvist2024_train", stimuli=served.stimuli_of(4, "learned", image_label=["f", "j"] * 2))
    return answering(stimuli, ["j", "f"], np.where(answers[3][:, None] == ["j", "f"], 0.7, 0.3))


@pytest.mark.slow
def test_distance_and_ceiling_as_by_hand(model, right):
    benchmark = load_benchmark(IDENTIFIER)
    score = benchmark(model)
    *people, own = right.mean(axis=1)
    raw = np.mean([1 - abs(own - q) / max(q, 1 - q) for q in people])
    ceiling = np.mean([1 - abs(p - q) / max(q, 1 - q) for p, q in combinations(people, 2)])
    assert parts(score) == pytest.approx((raw, ceiling, raw / ceiling))
    assert benchmark.describe().startswith(f"{IDENTIFIER}, version 1, averaged under Lonnqvist2024")
