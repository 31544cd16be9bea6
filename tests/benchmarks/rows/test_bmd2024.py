"""Accuracy on textured silhouettes and dotted outlines, near to people's or not."""

import itertools

import numpy as np
import pytest

from bsjax import load_benchmark
from tests.support import served_data as served
from tests.support.people import naming, trials_of

OBJECTS = ["bear", "car", "cat", "knife"]


@pytest.mark.slow
def test_nearness_of_accuracies_by_hand(serve):
    stimuli = served.stimuli_of(8, truth=OBJECTS * 2, condition=["dotted_1"] * 8)
    truth = stimuli["truth"].to_numpy()
    answers = {f"p{n}": np.where(np.arange(8) < n, "bird", truth) for n in (1, 2, 4)}
    serve("BMD2024.dotted_1", trials_of(answers, stimuli, truth="truth", condition="condition"), stimuli)
    benchmark = load_benchmark("BMD2024.dotted_1Behavioral-accuracy_distance")
    score = benchmark(naming(stimuli["stimulus_id"], np.where(np.arange(8) < 6, np.roll(truth, 1), truth)))

    def nearness(p, q):
        return 1 - abs(p - q) / max(q, 1 - q)

    people = [7 / 8, 6 / 8, 4 / 8]
    raw = np.mean([nearness(2 / 8, q) for q in people])
    ceiling = np.mean([nearness(p, q) for p, q in itertools.combinations(people, 2)])
    assert score.unceiled.value == pytest.approx(raw)
    assert benchmark.ceiling.value == pytest.approx(ceiling)
    assert score.value == pytest.approx(raw / ceiling)
    assert benchmark.fitting_stimuli == OBJECTS
