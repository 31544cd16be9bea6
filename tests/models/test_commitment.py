"""The commitment of layers to regions."""

import numpy as np
import pytest

from bsjax import BrainModel, ModelCommitment, StimulusSet
from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.models import RecordingTarget

BIN = [(0, 100)]


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
    model.start_recording("V4", time_bins=BIN)
    recording = model.look_at(stimuli)
    assert recording.dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(recording.values, activations(stimuli, "b").values)
    assert set(recording["region"].values) == {"V4"} and set(recording["layer"].values) == {"b"}
    assert recording["kind"].values.tolist() == ["x", "y", "z"]
    recording.validate()
    assert isinstance(model, BrainModel) and model.visual_degrees() == 8


def test_several_layers_lie_side_by_side(model, activations, stimuli):
    model.start_recording("IT", time_bins=BIN)
    recording = model.look_at(stimuli)
    assert recording["layer"].values.tolist() == ["c"] * 3 + ["a"] * 3
    np.testing.assert_array_equal(recording.values, activations(stimuli, ["c", "a"]).values)
    assert len(set(recording["neuroid_id"].values)) == 6


def test_an_instance_answers_for_its_last_start_recording_in_any_order(model, stimuli):
    def record(region):
        model.start_recording(region, time_bins=BIN)
        return model.look_at(stimuli).values

    v4, v1 = record("V4"), record(RecordingTarget.V1)
    np.testing.assert_array_equal(v4, 2 * v1)
    model.start_task("passive")
    np.testing.assert_array_equal(model.look_at(stimuli).values, v1)
    with pytest.raises(ValueError, match="V2"):
        model.start_recording("V2", time_bins=BIN)
    np.testing.assert_array_equal(model.look_at(stimuli).values, v1)
    np.testing.assert_array_equal(record("V4"), v4)


def test_a_static_model_answers_the_same_in_every_time_bin(model, stimuli):
    model.start_recording("V1", time_bins=BIN)
    once = model.look_at(stimuli).values
    model.start_recording("V1", time_bins=[(0, 50), (50, 120)])
    recording = model.look_at(stimuli)
    assert recording.dims == ("presentation", "neuroid", "time_bin")
    assert recording["time_bin_start"].values.tolist() == [0, 50]
    assert recording["time_bin_end"].values.tolist() == [50, 120]
    np.testing.assert_array_equal(recording.values, np.stack([once, once], axis=-1))
    assert recording.values.strides[-1] == 0  # a view


def test_trials_of_a_deterministic_model_are_the_same(model, stimuli):
    model.start_recording("V1", time_bins=BIN)
    np.testing.assert_array_equal(model.look_at(stimuli, number_of_trials=5), model.look_at(stimuli))
    with pytest.raises(ValueError, match="number_of_trials must be at least 1, got 0"):
        model.look_at(stimuli, number_of_trials=0)


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
        ModelCommitment("net", activations, layers=["a"]).start_recording("V2", time_bins=BIN)
    with pytest.raises(ValueError, match="unknown recording target 'MT'; choose one of V1, V2, V4, IT"):
        model.start_recording("MT", time_bins=BIN)


def test_a_layer_that_does_not_exist_lists_those_that_do(activations, stimuli):
    model = ModelCommitment("net", activations, region_layer_map={"V1": "conv"})
    model.start_recording("V1", time_bins=BIN)
    with pytest.raises(ValueError, match=r"no layer 'conv'; .* a \(3,\), b \(3,\), c \(3,\)"):
        model.look_at(stimuli)


def test_recording_comes_first(model, stimuli):
    with pytest.raises(ValueError, match="model 'net' is not recording; call start_recording"):
        model.look_at(stimuli)


@pytest.mark.parametrize("task", ["label", "probabilities", "odd_one_out"])
def test_tasks_that_it_cannot_do(model, task):
    with pytest.raises(ValueError, match=f"cannot do the task '{task}'; it can do: passive"):
        model.start_task(task)


@pytest.mark.parametrize("bins", [[], [(100, 0)], [(50, 50)], [(0, float("nan"))]])
def test_time_bins_end_after_their_start(model, bins):
    with pytest.raises(ValueError, match="time_bins must be"):
        model.start_recording("V1", time_bins=bins)


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"region_layer_map": {"MT": "a"}}, "unknown recording target 'MT'"),
        ({"region_layer_map": {"V1": []}}, r"region_layer_map\['V1'\] must be a layer's name"),
        ({"region_layer_map": {"V1": ["a", "a"]}}, "or a list of different ones"),
        ({"region_layer_map": {"V1": [1]}}, "must be a layer's name"),
        ({"visual_degrees": 0}, "visual_degrees must be positive, got 0"),
        ({"identifier": ""}, "identifier of a model must be a non-empty string"),
    ],
)
def test_bad_commitments(activations, arguments, message):
    with pytest.raises(ValueError, match=message):
        ModelCommitment(**{"identifier": "net", "activations_model": activations, **arguments})


def test_an_activations_model_may_be_anything_that_behaves_like_one(stimuli):
    class Ones:
        identifier = "ones"

        def layers(self):
            return {"all": (1,)}

        def __call__(self, stimuli, layers):
            from bsjax import NeuroidAssembly

            return NeuroidAssembly(
                np.ones((len(stimuli), 1)),
                coords={
                    "stimulus_id": ("presentation", stimuli["stimulus_id"]),
                    "neuroid_id": ("neuroid", [0]),
                },
                dims=["presentation", "neuroid"],
            )

    model = ModelCommitment("ones", Ones(), region_layer_map={"IT": "all"}, visual_degrees=2.5)
    model.start_recording("IT", time_bins=BIN)
    assert model.look_at(stimuli)["region"].values.tolist() == ["IT"] and model.visual_degrees() == 2.5
    assert isinstance(stimuli, StimulusSet)
