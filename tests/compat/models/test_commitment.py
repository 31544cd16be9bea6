"""Commitments of layers, with the arguments that plugins give."""

import warnings
from functools import partial

import numpy as np
import pytest
import xarray as xr

import bsjax
from bsjax.compat.models.commitment import ModelCommitment, published_layers
from tests.support import served_data as served
from tests.support.written_plugins import by_hand, images_of, network, pixels_of

PLUGIN = """
from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
from tests.support.written_plugins import network

model_registry['small'] = lambda: ModelCommitment('small', network(), ['early', 'late'])
model_registry['other'] = lambda: ModelCommitment('other', network(), ['early', 'late'], None, {'V4': 'early'}, 5)
"""
MAPS = {"small": '{"V1": "early", "IT": ["late", "logits"], "_made_by": "hand"}', "other": '{"V4": "late"}'}


@pytest.fixture
def stimuli(tmp_path):
    return images_of(tmp_path / "images", image_label=["x", "y", "x"])


@pytest.fixture
def plugin(write):
    folder = write("models", "small_net", PLUGIN)
    (folder / "region_layer_map").mkdir()
    for name, text in MAPS.items():
        (folder / "region_layer_map" / f"{name}.json").write_text(text)
    return folder


def recorded(model, region, stimuli):
    model.start_recording(region, time_bins=[(70, 170)])
    return model.look_at(stimuli)


def test_the_map_lies_beside_the_plugin(plugin, stimuli):
    assert published_layers("small") == {"V1": ["early"], "IT": ["late", "logits"]}
    model = bsjax.load_model("small")
    assert model.region_layer_map == {"V1": ["early"], "IT": ["late", "logits"]}
    np.testing.assert_array_equal(recorded(model, "V1", stimuli).values, by_hand(stimuli, "early"))
    assert recorded(model, "IT", stimuli).sizes["neuroid"] == 1003
    assert published_layers("nowhere") is None
    given = bsjax.load_model("other")  # a map that is given counts
    assert given.region_layer_map == {"V4": ["early"]} and given.visual_degrees() == 5


def drawn(images, layers):
    """30 units whose responses are drawn anew for each image; those of one layer are not those of the other."""
    seeds = [(round(255 * float(image[0, 0, 0])), round(255 * float(image[-1, -1, 1]))) for image in images]
    first = {"good": 0, "bad": 1}
    return {
        layer: np.stack([np.random.default_rng([first[layer], *seed]).normal(size=30) for seed in seeds])
        for layer in layers
    }


@pytest.mark.slow
def test_the_layer_is_chosen_when_it_is_first_recorded(serve, stimuli):
    shown = served.stimuli_of(40, object_name=["dog", "car", "cup", "hat"] * 10)
    good = drawn(pixels_of([str(shown.get_stimulus(each)) for each in shown["stimulus_id"]]), ["good"])["good"]
    rng = np.random.default_rng(0)
    signal = good[:, :2] @ rng.normal(size=(2, 5))
    trials = signal + 0.3 * rng.normal(size=(4, *signal.shape))
    neuroids = {"region": ["IT"] * 5, "animal": ["Chabo"] * 5}
    serve("MajajHong2015.public", served.assembly_of(trials, shown, **neuroids), shown)
    layers = ["bad", "good"]
    model = ModelCommitment("drawn", network("drawn", drawn, layers), layers)
    assert model.region_layer_map == {}
    with pytest.warns(UserWarning, match="model 'drawn' has no region_layer_map: choosing its layer for IT among 2"):
        model.start_recording("IT", [(70, 170)])
    assert model.region_layer_map == {"IT": ["good"]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is chosen once
        seen = recorded(model, "IT", stimuli)
    paths = [str(stimuli.get_stimulus(each)) for each in "abc"]
    np.testing.assert_allclose(seen.values, drawn(pixels_of(paths), ["good"])["good"], rtol=1e-6)


@pytest.mark.slow
def test_a_part_that_does_a_task_can_be_changed(stimuli):
    model = ModelCommitment("net", network(), ["early", "late"])
    tasks = {"probabilities": stimuli, "odd_one_out": None, "label": ["dog", "cat"]}
    answers = {}
    for task, needed in tasks.items():
        model.start_task(task, needed)
        answers[task] = model.look_at(stimuli)
    xr.testing.assert_identical(model.behavior_model.look_at(stimuli), answers["label"])  # the task that was started
    for task, needed in tasks.items():
        model.start_task(task, needed)
        xr.testing.assert_allclose(model.look_at(stimuli), answers[task])
    # Plugins of recurrent networks put a call around that of the network, which takes away the time.
    asked = []

    def noted(activations_model, stimuli, layers, **kwargs):
        asked.append(layers)
        return activations_model(stimuli, layers=layers, **kwargs)

    for part in model.behavior_model.mapping.values():
        part.activations_model = partial(noted, part.activations_model)
    for task, needed in tasks.items():
        model.start_task(task, needed)
        xr.testing.assert_allclose(model.look_at(stimuli), answers[task])
    assert {tuple(layers) for layers in asked} == {("late",), ("logits",)}


def test_the_field_of_view_is_the_wrappers_too(stimuli):
    model = ModelCommitment("net", network(), ["late"], region_layer_map={"V1": "late"}, visual_degrees=4)
    direct = model.activations_model(stimuli, layers=["late"], number_of_trials=3, require_variance=True)
    model.start_recording("V1", [(70, 170)])
    seen = model.look_at(stimuli, number_of_trials=3, require_variance=True)
    assert seen.sizes["presentation"] == 9
    np.testing.assert_array_equal(seen.values, direct.values)
    for degrees in (0, -8, float("nan")):
        with pytest.raises(ValueError, match="visual_degrees must be positive"):
            ModelCommitment("net", network(), ["late"], visual_degrees=degrees)
