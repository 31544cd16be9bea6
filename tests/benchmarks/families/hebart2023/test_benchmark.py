"""The odd one out of three objects, as people choose it."""

import itertools

import numpy as np
import pytest
from PIL import Image

from bsjax import ModelCommitment, load_benchmark
from bsjax.adapters import from_stored
from tests.support import served_data as served
from tests.support.people import behaviour

N = 7


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(N, 5)).astype(np.float32)


@pytest.fixture
def stimuli():
    return served.stimuli_of(N, prefix="object", unique_id=[f"thing{n}" for n in range(N)])


def odd_one(features, triplet):
    """The object that the most similar pair leaves over."""
    pairs = list(itertools.combinations(triplet, 2))
    nearest = max(pairs, key=lambda pair: features[pair[0]] @ features[pair[1]])
    return next(one for one in triplet if one not in nearest)


def people_of(stimuli, triplets):
    """Choices, as published: the last of three images is the one that was chosen."""
    ids = stimuli["stimulus_id"].to_numpy()[np.array(triplets)]
    images = {f"image_{i + 1}": ids[:, i] for i in range(3)}
    return behaviour(ids[:, 2], stimulus_id=ids[:, 2], triplet_id=np.arange(len(ids)), **images)


def model_of(stimuli, features, visual_degrees=8):
    stored = from_stored({"all": features}, "things", stimulus_ids=stimuli["stimulus_id"].tolist())
    return ModelCommitment("things", stored, visual_degrees=visual_degrees, behavioral_readout_layer="all")


def test_the_share_of_same_choices_above_chance_by_hand(serve, stimuli, features):
    triplets = list(itertools.permutations(range(N), 3))[::4]
    serve("Hebart2023", people_of(stimuli, triplets), stimuli)
    model = model_of(stimuli, features)
    same = [odd_one(features, triplet) == triplet[2] for triplet in triplets]
    score, raw = load_benchmark("Hebart2023-match")(model), np.mean(same)
    assert score.unceiled.value == pytest.approx(raw)
    assert load_benchmark("Hebart2023-match", triplets=20)(model).unceiled.value == pytest.approx(np.mean(same[:20]))
    assert score.value == pytest.approx((raw - 1 / 3) / (0.6767 - 1 / 3))
    assert score.ceiling.provenance["source"].endswith("as Brain-Score states it")
    assert score.provenance["n_stimuli"] == N


def test_each_object_is_put_on_the_screen_once(serve, stimuli, features, monkeypatch):
    serve("Hebart2023", people_of(stimuli, [(0, 1, 2), (2, 1, 4), (4, 0, 1)]), stimuli)
    model = model_of(stimuli, features, visual_degrees=12)
    model.looks_at_images = True
    shown, look_at = [], model.look_at
    monkeypatch.setattr(model, "look_at", lambda seen, **options: shown.append(seen) or look_at(seen, **options))
    benchmark = load_benchmark("Hebart2023-match")
    benchmark(model)
    assert len(benchmark.stimuli) == 4
    assert shown[0]["stimulus_id"].tolist() == [f"object{i:03}" for i in (0, 1, 2, 2, 1, 4, 4, 0, 1)]
    with Image.open(shown[0].get_stimulus("object004")) as image:
        assert image.size == (6, 6)  # 4 pixels of 8 degrees, in a field of 12


def test_a_triplet_of_an_unknown_image(serve, stimuli, features):
    people = people_of(stimuli, [(0, 1, 2)])
    serve("Hebart2023", people.assign_coords(image_1=("presentation", ["elsewhere"])), stimuli)
    with pytest.raises(ValueError, match="not among the 7 stimuli: elsewhere"):
        load_benchmark("Hebart2023-match")(model_of(stimuli, features))
