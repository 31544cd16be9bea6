"""Loss of accuracy on altered silhouettes, on data of the shape of the published ones."""

import numpy as np
import pytest

from bsjax import load_benchmark
from tests.support import served_data as served
from tests.support.people import naming, trials_of

ANIMALS = ["bear", "cat", "frog"]


def silhouettes(orientations=("normal",)):
    """Two whole silhouettes of each animal, and two of each alteration, in every orientation."""
    rows = [(a, kind, o) for o in orientations for kind in "wfo" for a in ANIMALS for _ in range(2)]
    animals, kinds, turned = zip(*rows, strict=True)
    return served.stimuli_of(len(rows), animal=animals, image_type=kinds, orientation=turned)


def answers_with(stimuli, wrong):
    """1, but 0 for the first ``wrong[kind]`` images of a kind."""
    kinds = stimuli["image_type"].to_numpy()
    return [int((kinds[:i] == kind).sum() >= wrong.get(kind, 0)) for i, kind in enumerate(kinds)]


def served_people(serve, name, stimuli, people):
    serve(name, trials_of(people, stimuli, truth="animal", orientation="orientation"), stimuli)


def test_the_loss_of_a_model_and_of_two_people_by_hand(serve):
    stimuli = silhouettes()
    one, two = answers_with(stimuli, {"f": 3}), answers_with(stimuli, {"w": 1, "f": 5})
    served_people(serve, "Baker2022_normal_distortion", stimuli, {1: one, 2: two})
    # The model takes the first two of six altered silhouettes, those of bears, for cats: it loses 1/3.
    named = stimuli["animal"].where((stimuli["image_type"] != "f") | (stimuli["animal"] != "bear"), "cat")
    benchmark = load_benchmark("Baker2022frankenstein-accuracy_delta")
    score = benchmark(naming(stimuli["stimulus_id"], named))

    drops, model = np.array([3 / 6, 5 / 6 - 1 / 6]), 1 / 3  # a half of two people is one of them
    by_half = 1 - np.abs(drops - model) / drops
    np.testing.assert_allclose(np.unique(score.unceiled.raw.values.round(6)), np.sort(by_half).round(6))
    halves = 1 - np.abs(drops - drops[::-1]) / drops[::-1]
    corrected = 2 * halves / (1 + halves)
    np.testing.assert_allclose(np.unique(benchmark.ceiling.raw.values.round(6)), np.sort(corrected).round(6))
    assert round(benchmark.ceiling.value, 6) in corrected.round(6).tolist()
    assert score.value == pytest.approx(score.unceiled.raw.values.mean() / np.median(benchmark.ceiling.raw.values))
    assert score.provenance["n_stimuli"] == len(stimuli)


def test_only_inverted_silhouettes_count(serve):
    stimuli = silhouettes(["normal", "inverted"])
    inverted = stimuli["orientation"].to_numpy() == "inverted"
    right = np.where(inverted, answers_with(stimuli[inverted], {"f": 4}) * 2, 1)
    served_people(serve, "Baker2022_inverted_distortion", stimuli, {1: right, 2: right, 3: right})
    benchmark = load_benchmark("Baker2022inverted-accuracy_delta")
    assert set(benchmark.stimuli["orientation"]) == {"inverted"}
    assert set(benchmark.assembly["orientation"].values) == {"inverted"}
    assert float(benchmark.ceiling) == pytest.approx(1)
    ids, kinds, animals = (benchmark.stimuli[name] for name in ("stimulus_id", "image_type", "animal"))
    named = animals.where((kinds != "f") | (animals != "cat"), "bear")  # loses 1/3, people 2/3
    assert float(benchmark(naming(ids, named))) == pytest.approx(0.5)
