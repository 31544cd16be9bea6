"""The registry of models, and the built-in ones."""

import numpy as np
import pytest
from PIL import Image

from bsjax import BrainModel, ModelCommitment, list_models, load_model, model_registry
from bsjax.adapters import from_jax
from bsjax.data import load_image
from bsjax.models.builtin.cornet import cornet_random
from bsjax.models.builtin.hmax import hmax
from bsjax.models.builtin.random_network import random_network
from bsjax.models.builtin.v1_population import v1_population
from bsjax.models.builtin.vit import vit_random
from tests.models.conftest import BIN, record


@pytest.fixture
def stimuli(stimulus_set):
    rng = np.random.default_rng(0)
    return stimulus_set([rng.integers(0, 256, (40, 50, 3), np.uint8) for _ in range(3)])


@pytest.mark.slow
@pytest.mark.parametrize(
    "identifier",
    [
        *("pixels", "gabor-v1", "hmax", "image-statistics", "random-network"),
        *("stimulus-order", "vit-random", "cornet-random"),
    ],
)
def test_every_builtin_model_records_from_every_region(identifier, stimuli):
    model = load_model(identifier)
    assert isinstance(model, BrainModel) and model.identifier == identifier
    assert model_registry.summary(identifier)
    for region in ("V1", "V2", "V4", "IT"):
        recording = record(model, region, stimuli)
        recording.validate()
        assert set(recording["region"].values) == {region}
        assert recording["stimulus_id"].values.tolist() == ["image0", "image1", "image2"]
        assert (recording.values.std(axis=0) > 0).mean() > 0.5
    fresh = load_model(identifier)
    fresh.start_recording("IT", time_bins=BIN)
    np.testing.assert_array_equal(fresh.look_at(stimuli).values, recording.values)


@pytest.mark.slow
def test_pixels_are_the_resized_image(stimuli):
    model = load_model("pixels")
    recording = record(model, "V1", stimuli)
    for row, stimulus_id in enumerate(stimuli["stimulus_id"]):
        image = Image.fromarray(load_image(stimuli.get_stimulus(stimulus_id)))
        wanted = np.asarray(image.resize((32, 32), Image.Resampling.BILINEAR)) / 255
        np.testing.assert_allclose(recording.values[row], wanted.ravel(), atol=1e-6)


SEEDED = {
    "vit-random": (vit_random, "blocks.0"),
    "cornet-random": (cornet_random, "V1"),
    "hmax": (hmax, "c2"),
    "random-network": (random_network, "block0"),
    "v1-population": (v1_population, "complex"),
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "made"), SEEDED.items())
def test_a_seed_is_another_network(name, made, stimuli):
    make, layer = made
    models = [make(seed=0), make(seed=1)]
    assert [model.identifier for model in models] == [name, f"{name}-1"]
    one, other = (model.activations_model(stimuli, layer).values for model in models)
    assert not np.allclose(one, other)


def test_a_model_can_be_registered():
    own = ModelCommitment("own", from_jax(lambda images: images.mean((1, 2)), "own"))
    model_registry["own"] = lambda: own
    try:
        assert load_model("own") is own and list_models()[-1] == "own"
    finally:
        del model_registry["own"]
