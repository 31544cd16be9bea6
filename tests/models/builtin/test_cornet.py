"""The recurrent built-in model over time."""

import numpy as np
import pytest

from bsjax import BehavioralAssembly, BrainModel
from bsjax.models.builtin.cornet import STEPS, cornet_random, step_below, step_bins
from tests.models.conftest import record


@pytest.fixture(scope="module")
def model():
    return cornet_random()


@pytest.fixture
def stimuli(stimulus_set):
    rng = np.random.default_rng(0)
    return stimulus_set([rng.integers(0, 256, (30, 40, 3), np.uint8) for _ in range(3)], image_label=list("aba"))


@pytest.mark.slow
def test_every_region_records_its_own_steps(model, stimuli):
    assert isinstance(model, BrainModel) and model.identifier == "cornet-random"
    for region, (first, width, n) in STEPS.items():
        recording = record(model, region, stimuli, step_bins(region))
        if n > 1:
            assert recording["time_bin_start"].values.tolist() == [first + i * width for i in range(n)]
            changes = recording.values[..., 1:] - recording.values[..., :-1]
            assert (np.abs(changes).max(axis=(0, 1)) > 0.01).all()
        else:
            assert recording.dims == ("presentation", "neuroid")
        recording.validate()
        assert set(recording["region"].values) == {region} and np.isfinite(recording.values).all()


def test_bins_are_made_of_the_steps_they_hold(model, stimuli):
    steps = record(model, "V4", stimuli, step_bins("V4")).values
    asked = record(model, "V4", stimuli, [(90, 140), (70, 170), (165, 190), (0, 50)]).values
    np.testing.assert_array_equal(asked[..., 0], steps[..., 0])
    np.testing.assert_allclose(asked[..., 1], (steps[..., 0] + 0.6 * steps[..., 1]) / 1.6, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(asked[..., 2], steps[..., 1])
    np.testing.assert_array_equal(asked[..., 3], steps[..., 0])


def test_a_step_sees_what_the_area_below_was_doing():
    assert step_below("V2", "V1") == [0, 0]
    assert step_below("V4", "V2") == [0, 0, 1, 1]
    assert step_below("IT", "V4") == [0, 2]


@pytest.mark.slow
def test_behaviour_comes_from_the_decoder(model, stimuli):
    model.start_task("probabilities", stimuli)
    probabilities = model.look_at(stimuli)
    assert isinstance(probabilities, BehavioralAssembly) and probabilities["choice"].values.tolist() == ["a", "b"]
    model.start_task("label", ["dog", "cat"])
    assert set(model.look_at(stimuli).values.flat) <= {"dog", "cat"}
    last = record(model, "IT", stimuli, [(200, 300)])
    activations = model.activations_model(stimuli, "decoder")
    np.testing.assert_allclose(activations.values, last.values.reshape(3, 9, 128).mean(axis=1), rtol=1e-5, atol=1e-6)
