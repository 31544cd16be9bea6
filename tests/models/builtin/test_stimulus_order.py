import numpy as np
import pytest

import bsjax
from bsjax import StimulusSet, load_model
from bsjax.models.builtin.random_network import blocks, random_network, random_weights


def test_the_order_of_rows_alone_is_seen():
    model = load_model("stimulus-order")
    model.start_recording("V1", [(0, 50), (50, 100)])
    shown = StimulusSet({"stimulus_id": [f"s{i}" for i in range(40)]})
    recording = model.look_at(shown)
    recording.validate()
    assert dict(recording.sizes) == {"presentation": 40, "neuroid": 32, "time_bin": 2}
    # Waves of a cosine transform: orthogonal, of mean zero.
    waves = recording.values[:, :, 0]
    np.testing.assert_allclose(waves.T @ waves, 20 * np.eye(32), atol=1e-4)
    np.testing.assert_allclose(waves.sum(axis=0), 0, atol=1e-4)
    reversed_rows = model.look_at(shown.iloc[::-1])
    np.testing.assert_array_equal(reversed_rows.values[:, :, 0], waves)
    assert reversed_rows["stimulus_id"].values[0] == "s39"
    assert not model.looks_at_images


def test_it_has_one_layer():
    with pytest.raises(ValueError, match="pixels"):
        load_model("stimulus-order").activations_model(StimulusSet({"stimulus_id": ["a"]}), ["pixels"])


def test_a_random_network_has_its_layers():
    image = np.random.default_rng(0).uniform(size=(2, 64, 64, 3)).astype(np.float32)
    made = blocks(random_weights(0), image)
    assert {name: layer.shape[1:] for name, layer in made.items()} == random_network().activations_model.layers()
    assert all((np.asarray(layer) >= 0).all() and np.std(layer) > 0 for layer in made.values())


def test_it_can_be_a_baseline_of_partial_least_squares():
    # With fewer features than components there would be no score, and a failure in every grid that has it.
    assert abs(float(bsjax.score("stimulus-order", "Simulated.V1-pls"))) < 0.05
