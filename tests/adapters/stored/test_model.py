"""Stored activations."""

import numpy as np
import pytest

from bsjax import NeuroidAssembly
from bsjax.adapters import ActivationsModel, from_jax, from_stored, unit_preprocessing

IDS = ["0-image0", "1-image1", "2-image2", "3-image3"]


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    return {"conv": rng.normal(size=(4, 2, 3, 3)), "fc": rng.normal(size=(4, 5))}


def test_rows_are_found_by_id(stimuli, arrays):
    model = from_stored(arrays, "net", stimulus_ids=IDS)
    assert isinstance(model, ActivationsModel)
    assert model.layers() == {"conv": (2, 3, 3), "fc": (5,)}
    shown = stimuli([0, 1, 2, 3]).iloc[[2, 0]]
    activations = model(shown, ["fc", "conv"])
    np.testing.assert_array_equal(
        activations.values,
        np.concatenate([arrays["fc"], arrays["conv"].reshape(4, -1)], 1)[[2, 0]].astype(np.float32),
    )
    assert activations["stimulus_id"].values.tolist() == ["2-image2", "0-image0"]
    assert activations["object_name"].values.tolist() == ["object2", "object0"]
    assert activations["neuroid_id"].values[[0, 5]].tolist() == ["net.fc.0", "net.conv.0"]
    activations.validate()


def test_what_a_network_gave_can_be_stored_and_gives_the_same(stimuli):
    network = from_jax(lambda x: {"map": x, "mean": x.mean((1, 2))}, "net", unit_preprocessing(4))
    shown = stimuli([0, 1, 2, 3])
    original = network(shown, ["map", "mean"])
    stored = from_stored(original, "net")
    assert stored.layers() == {"map": (48,), "mean": (3,)}
    for layers in (["map", "mean"], ["mean"]):
        again = stored(shown.iloc[::-1], layers)
        wanted = network(shown.iloc[::-1], layers)
        np.testing.assert_array_equal(again.values, wanted.values)
        assert again["neuroid_id"].values.tolist() == wanted["neuroid_id"].values.tolist()
        np.testing.assert_array_equal(again["channel"].values, wanted["channel"].values)


def test_an_assembly_without_layers_is_one_layer(stimuli):
    assembly = NeuroidAssembly(
        np.arange(8.0).reshape(2, 4),
        coords={"stimulus_id": ("presentation", IDS[:2]), "region": ("neuroid", list("abcd"))},
        dims=["presentation", "neuroid"],
    )
    model = from_stored(assembly.transpose(), "net")
    assert model.layers() == {"activations": (4,)}
    activations = model(stimuli([0, 1]), "activations")
    np.testing.assert_array_equal(activations.values, assembly.values)
    assert activations["region"].values.tolist() == list("abcd")


def test_missing_stimuli_are_listed(stimuli, arrays):
    model = from_stored(arrays, "net", stimulus_ids=IDS)
    with pytest.raises(ValueError, match=r"of 'net' lack 2 of 6 stimuli: '4-image4', '5-image5'; they hold 4"):
        model(stimuli([0, 1, 2, 3, 4, 5]), ["fc"])


def test_what_cannot_be_stored(arrays, stimuli):
    with pytest.raises(ValueError, match="repeat stimulus ids 'a'"):
        from_stored(arrays, "net", stimulus_ids=["a", "b", "a", "c"])
    with pytest.raises(ValueError, match=r"layer 'conv' of 'net' has shape \(4, 2, 3, 3\), expected 3 rows"):
        from_stored(arrays, "net", stimulus_ids=IDS[:3])
    arrays["fc"][2, 1] = np.nan
    with pytest.raises(ValueError, match="layer 'fc' .* 1 of 4 stimuli, first for '2-image2'"):
        from_stored(arrays, "net", stimulus_ids=IDS)(stimuli([0, 1, 2, 3]), "fc")
