"""Loss of accuracy on altered silhouettes, on data of the shape of the published ones."""

import numpy as np
import pytest

from bsjax import load_benchmark
from tests.support import served_data as served
from tests.support.people import naming, trials_of

ANIMALS = ["bear", "cat", "frog"]


def silhouettes(orientations):
    """Two whole silhouettes of each animal, and two of each alteration, in every orientation."""
    rows = [(a, kind, o) for o in orientations for kind in "wfo" for a in ANIMALS for _ in range(2)]
    animals, kinds, turned = zip(*rows, strict=True)
    return served.stimuli_of(len(rows), animal=animals, image_type=kinds, orientation=turned)


def answers_with(stimuli, wrong):
    """1, but 0 for the first ``wrong[kind]`` images of a kind."""
    kinds = stimuli["image_type"].to_numpy()
    return [int((kinds[:i] == kind).sum() >= wrong.get(kind, 0)) for i, kind in enumerate(kinds)]


def test_only_inverted_silhouettes_count(serve):
    stimuli = silhouettes(["normal", "inverted"])
    inverted = stimuli["orientation"].to_numpy() == "inverted"
    right = np.where(inverted, answers_with(stimuli[inverted], {"f": 4}) * 2, 1)
    people = trials_of({1: right, 2: right, 3: right}, stimuli, truth="animal", orientation="orientation")
    serve("Baker2022_inverted_distortion", people, stimuli)
    benchmark = load_benchmark("Baker2022inverted-accuracy_delta")
    assert set(benchmark.stimuli["orientation"]) == {"inverted"}
    assert set(benchmark.assembly["orientation"].values) == {"inverted"}
    assert float(benchmark.ceiling) == pytest.approx(1)
    ids, kinds, animals = (benchmark.stimuli[name] for name in ("stimulus_id", "image_type", "animal"))
    named = animals.where((kinds != "f") | (animals != "cat"), "bear")  # loses 1/3, people 2/3
    score = benchmark(naming(ids, named))
    assert float(score) == pytest.approx(0.5) and score.provenance["n_stimuli"] == len(stimuli) / 2
