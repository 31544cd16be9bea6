"""The commitment of layers to regions."""

import numpy as np
import pytest

from bsjax import BehavioralAssembly, BrainModel, ModelCommitment, NeuroidAssembly
from bsjax.adapters import from_jax, from_stored, unit_preprocessing
from bsjax.models import Task
from tests.models.conftest import BIN, record, seen


def layers_of(images):
    mean = images.mean((1, 2))
    return {"a": mean, "b": 2 * mean, "c": images.max((1, 2))}


@pytest.fixture
def activations():
    return from_jax(layers_of, "net", unit_preprocessing(4))


@pytest.fixture
def model(activations):
    return ModelCommitment("net", activations, region_layer_map={"V1": "a", "V4": "b", "IT": ["c", "a"]})


@pytest.fixture
def stimuli(stimulus_set):
    rng = np.random.default_rng(0)
    return stimulus_set([rng.integers(0, 256, (4, 4, 3), np.uint8) for _ in range(3)], kind=list("xyz"))


def test_a_recording_is_that_of_the_regions_layer(model, activations, stimuli):
    recording = record(model, "V4", stimuli)
    assert recording.dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(recording.values, activations(stimuli, "b").values)
    assert set(recording["region"].values) == {"V4"} and set(recording["layer"].values) == {"b"}
    assert recording["kind"].values.tolist() == ["x", "y", "z"]
    recording.validate()
    assert isinstance(model, BrainModel) and model.visual_degrees() == 8


def test_it_tells_which_layers_it_reads_and_what_its_network_is(model, stimuli):
    assert model.layers_in_use == {} and model.digest is None
    model.start_recording("IT", time_bins=BIN)
    assert model.layers_in_use == {"IT": ["c", "a"]}
    model.look_at(stimuli)
    digest = model.digest
    assert digest and model.with_options(batch_size=2).digest == digest
    model.start_task("label", {"x": [0], "y": [1, 2]})
    assert model.layers_in_use == {"label": ["c"]}
    model.start_task("passive")
    assert model.layers_in_use == {"IT": ["c", "a"]}
    other = ModelCommitment("net", from_jax(lambda images: 2 * images.mean((1, 2)), "net", unit_preprocessing(4)))
    other.activations_model(stimuli, "output")
    assert other.digest != digest


def test_several_layers_lie_side_by_side(model, activations, stimuli):
    recording = record(model, "IT", stimuli)
    assert recording["layer"].values.tolist() == ["c"] * 3 + ["a"] * 3
    np.testing.assert_array_equal(recording.values, activations(stimuli, ["c", "a"]).values)
    assert len(set(recording["neuroid_id"].values)) == 6


def test_a_static_model_answers_the_same_in_every_time_bin(model, stimuli):
    once = record(model, "V1", stimuli).values
    recording = record(model, "V1", stimuli, [(0, 50), (50, 120)])
    assert recording.dims == ("presentation", "neuroid", "time_bin")
    assert recording["time_bin_start"].values.tolist() == [0, 50]
    assert recording["time_bin_end"].values.tolist() == [50, 120]
    np.testing.assert_array_equal(recording.values, np.stack([once, once], axis=-1))
    assert recording.values.strides[-1] == 0  # a view
    assert np.shares_memory(recording.values[..., 0], recording.values[..., 1])


def test_paths_may_stand_for_a_stimulus_set(model, stimuli):
    model.start_recording("V1", time_bins=BIN)
    paths = [stimuli.get_stimulus(stimulus_id) for stimulus_id in ["image2", "image0"]]
    recording = model.look_at(paths)
    np.testing.assert_array_equal(recording.values, model.look_at(stimuli).values[[2, 0]])
    assert recording["stimulus_id"].values.tolist() == [str(path) for path in paths]
    with pytest.raises(ValueError, match="a list of paths, got the single path"):
        model.look_at(str(paths[0]))


def test_a_region_without_a_layer_is_named_with_those_that_have_one(model, activations):
    with pytest.raises(ValueError, match="model 'net' has no layer for V2; it has one for V1, V4, IT"):
        model.start_recording("V2", time_bins=BIN)
    with pytest.raises(ValueError, match="no layer for V2; it has none for any region"):
        ModelCommitment("net", activations).start_recording("V2", time_bins=BIN)


def test_a_layer_that_does_not_exist_lists_those_that_do(activations, stimuli):
    model = ModelCommitment("net", activations, region_layer_map={"V1": "conv"})
    model.start_recording("V1", time_bins=BIN)
    with pytest.raises(ValueError, match=r"no layer 'conv'; .* a \(3,\), b \(3,\), c \(3,\)"):
        model.look_at(stimuli)


@pytest.mark.slow
def test_recordings_and_tasks_take_turns_in_any_order(activations, stimuli):
    model = ModelCommitment("net", activations, layers=["a", "c"], region_layer_map={"V1": "a"})
    stimuli["image_label"] = ["dog", "cat", "dog"]
    model.start_task("probabilities", stimuli)
    probabilities = model.look_at(stimuli)
    assert isinstance(probabilities, BehavioralAssembly) and probabilities["choice"].values.tolist() == ["dog", "cat"]
    recording = record(model, "V1", stimuli)
    assert isinstance(recording, NeuroidAssembly)
    model.start_task(Task.odd_one_out)
    assert model.look_at(stimuli)["stimulus_id"].values.tolist() == ["image0|image1|image2"]
    model.start_task(Task.passive)
    np.testing.assert_array_equal(model.look_at(stimuli).values, recording.values)
    model.start_task("probabilities", stimuli)
    np.testing.assert_array_equal(model.look_at(stimuli).values, probabilities.values)


def test_a_task_that_cannot_be_started_leaves_the_last_one(model, stimuli):
    model.start_recording("V1", time_bins=BIN)
    with pytest.raises(ValueError, match="no layer to read behaviour from; .* its layers: a, b, c"):
        model.start_task("odd_one_out")
    with pytest.raises(ValueError, match="unknown Task 'fixate'"):
        model.start_task("fixate")
    assert "neuroid" in model.look_at(stimuli).dims


def test_a_map_may_be_a_file(activations, stimuli, tmp_path):
    file = tmp_path / "map.json"
    file.write_text('{"IT": ["c", "a"], "V1": "a", "V2": "a", "_made_by": {"bsjax": "1"}}')
    model = ModelCommitment("net", activations, region_layer_map=file)
    assert model.region_layer_map == {"IT": ["c", "a"], "V1": ["a"], "V2": ["a"]}
    assert ModelCommitment("net", activations, region_layer_map=str(file)).region_layer_map == model.region_layer_map
    with pytest.raises(FileNotFoundError, match="there is no file .*nowhere.json"):
        ModelCommitment("net", activations, region_layer_map=tmp_path / "nowhere.json")
    for content, message in [
        ("{", "cannot read .*map.json as a region_layer_map"),
        ("[]", "must hold a mapping"),
        ('{"": "a"}', "a region must be a name"),
    ]:
        file.write_text(content)
        with pytest.raises(ValueError, match=message):
            ModelCommitment("net", activations, region_layer_map=file)


def test_trials_with_variance_are_rows_of_their_stimulus(stimulus_set):
    """Each image has a gradient of its own: its responses say which it is, and how far it was moved."""
    ramp = np.arange(32, dtype=np.uint8)[None, :, None] + np.zeros((32, 32, 3), np.uint8)
    stimuli = stimulus_set([ramp * slope for slope in (1, 3, 6)])
    right_edge = from_jax(lambda images: {"edge": images[:, :, 20:28].mean((1, 2))}, "net", unit_preprocessing(32))
    model = ModelCommitment("net", right_edge, region_layer_map={"V1": "edge"}, visual_degrees=0.5)
    still = record(model, "V1", stimuli)
    moved = model.look_at(stimuli, number_of_trials=3, require_variance=True)
    assert moved["stimulus_id"].values.tolist() == [f"image{n}" for n in (0, 0, 0, 1, 1, 1, 2, 2, 2)]
    np.testing.assert_allclose(moved.values[::3], still.values, rtol=1e-5)  # another batch size
    pixels = moved["microsaccade_shift_x_pixels"].values
    slope = np.repeat([1, 3, 6], 3) / 255
    np.testing.assert_allclose(moved.values[:, 0], np.repeat(still.values[:, 0], 3) - slope * pixels, atol=1e-4)
    assert abs(pixels[1]) > 0.5
    np.testing.assert_array_equal(model.look_at(stimuli).values, still.values)  # and none is left behind


@pytest.mark.slow
def test_behaviour_has_trials_too(stimulus_set):
    rng = np.random.default_rng(0)
    stimuli = stimulus_set([rng.integers(0, 256, (8, 8, 3), np.uint8) for _ in range(4)], image_label=list("abab"))
    pixels = from_jax(lambda images: images, "net", unit_preprocessing(8))
    model = ModelCommitment("net", pixels, behavioral_readout_layer="output", visual_degrees=0.2)
    model.start_task("probabilities", stimuli, number_of_trials=2, require_variance=True)
    seen = model.look_at(stimuli, number_of_trials=3, require_variance=True)
    assert seen.shape == (12, 2) and seen["stimulus_id"].values.tolist()[::3] == stimuli["stimulus_id"].tolist()
    assert len(np.unique(seen.values[:3, 0])) == 3
    assert model.look_at(stimuli, number_of_trials=3).shape == (4, 2)


def test_a_model_that_cannot_vary_says_so(stimuli):
    stored = from_stored({"all": np.zeros((3, 2))}, "stored", stimulus_ids=stimuli["stimulus_id"].tolist())
    model = ModelCommitment("stored", stored, region_layer_map={"V1": "all"})
    model.start_recording("V1", time_bins=BIN)
    with pytest.raises(ValueError, match="model 'stored' answers the same on every trial: .*require_variance=False"):
        model.look_at(stimuli, number_of_trials=2, require_variance=True)


def test_bare_networks_are_answered_with_their_adapter():
    torch = pytest.importorskip("torch")
    import flax.linen as nn
    from flax import nnx

    for network, adapter in [
        (torch.nn.Linear(1, 1), "from_torch"),
        (nnx.Linear(1, 1, rngs=nnx.Rngs(0)), "from_flax"),
        (nn.Dense(1), "from_flax"),
        (layers_of, "from_jax"),
        ({"conv": np.zeros((2, 3))}, "from_stored"),
    ]:
        with pytest.raises(ValueError, match=rf"is not an activations model; wrap it: bsjax.adapters.{adapter}\("):
            ModelCommitment("net", network)
    with pytest.raises(ValueError, match="str is not an activations model; it needs an identifier"):
        ModelCommitment("net", "resnet50")


def test_an_activations_model_may_be_anything_that_behaves_like_one(stimuli):
    class Ones:
        identifier = "ones"

        def layers(self):
            return {"all": (1,)}

        def __call__(self, stimuli, layers):
            return seen(stimuli, np.ones((len(stimuli), 1))).assign_coords(neuroid_id=("neuroid", [0]))

    model = ModelCommitment("ones", Ones(), region_layer_map={"IT": "all"}, visual_degrees=2.5)
    assert record(model, "IT", stimuli)["region"].values.tolist() == ["IT"] and model.visual_degrees() == 2.5
