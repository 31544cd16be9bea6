"""Models with candidate layers alone: the layer of a region is chosen when it is first recorded, once."""

import json
import shutil

import jax.numpy as jnp
import pytest

import bsjax
from bsjax import ModelCommitment
from bsjax.adapters import from_jax, from_stored, unit_preprocessing
from bsjax.scoring.layers import choice, commitment

BIN = [(0, 100)]
CHOICE = "model 'small' has no region_layer_map: choosing its layer for V1 among 2 by Simulated.V1-cka"


@pytest.fixture(autouse=True)
def data_that_are_here(monkeypatch, tmp_path):
    monkeypatch.setitem(choice.PUBLIC, "V1", "Simulated.V1-cka")
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))


def layers_of(images):
    edges = jnp.abs(jnp.diff(images[..., 0], axis=1))[:, ::8, ::8].reshape(len(images), -1)
    return {"mean": images.mean((1, 2)), "edges": edges}


def small(layers=("mean", "edges"), identifier="small"):
    activations = from_jax(layers_of, identifier, preprocess=unit_preprocessing(32))
    return ModelCommitment(identifier, activations, layers=list(layers))


@pytest.mark.slow
def test_the_layer_is_chosen_when_the_region_is_first_recorded():
    model = small()
    assert model.region_layer_map == {}
    with pytest.warns(UserWarning, match=CHOICE):
        model.start_recording("V1", BIN)
    by_hand = bsjax.choose_layers(small(), benchmarks={"V1": "Simulated.V1-cka"}, nested=False)
    assert model.region_layer_map == {"V1": [by_hand.region_layer_map["V1"]]} == {"V1": ["edges"]}
    model.start_recording("V1", BIN)  # as warnings are errors here: nothing is chosen again


@pytest.fixture(scope="module")
def chosen_before(tmp_path_factory):
    """A home where the layer was chosen."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, pytest.warns(UserWarning, match=CHOICE):
        patch.setitem(choice.PUBLIC, "V1", "Simulated.V1-cka")
        patch.setenv("BSJAX_HOME", str(home))
        small().start_recording("V1", BIN)
    return home


@pytest.fixture
def kept(chosen_before, tmp_path):
    """The file of a choice that was made before."""
    shutil.copytree(chosen_before, tmp_path, dirs_exist_ok=True)
    [file] = (tmp_path / "region_layers").iterdir()
    return file


@pytest.mark.slow
def test_the_choice_is_kept_for_other_processes(kept):
    assert json.loads(kept.read_text())["V1"] == ["edges"]
    again = small()
    again.start_recording("V1", BIN)
    assert again.region_layer_map == {"V1": ["edges"]}


@pytest.mark.slow
@pytest.mark.parametrize("content", ["[]", '{"V1": ["no such layer"]}'])
def test_a_kept_choice_that_is_damaged_is_made_again(kept, content):
    kept.write_text(content)
    with pytest.warns(UserWarning, match=CHOICE):
        small().start_recording("V1", BIN)
    assert json.loads(kept.read_text())["V1"] == ["edges"]


def test_data_that_cannot_be_had_leave_other_ways(monkeypatch):
    def offline(*args, **kwargs):
        raise ConnectionError("no network")

    monkeypatch.setattr(commitment, "choose_layers", offline)
    with pytest.warns(UserWarning, match=CHOICE), pytest.raises(ConnectionError, match="^no network") as raised:
        small().start_recording("V1", BIN)
    assert "`bsjax layers MODEL -b V1=Simulated.V1-cka --save" in str(raised.value)


@pytest.mark.slow
def test_other_candidates_are_another_choice(kept):
    other = small(["mean"])
    with pytest.warns(UserWarning, match="among 1 by"):
        other.start_recording("V1", BIN)
    assert other.region_layer_map == {"V1": ["mean"]}


@pytest.mark.slow
def test_where_nothing_vouches_for_the_model_its_choice_is_not_kept(tmp_path):
    shown = bsjax.load_benchmark("Simulated.V1-cka").target
    ids = shown["stimulus_id"].values
    stored = from_stored({"all": shown.values.astype("float32")}, "small", stimulus_ids=ids)
    model = ModelCommitment("small", stored, layers=["all"])
    with pytest.warns(UserWarning, match="among 1 by"):
        model.start_recording("V1", BIN)
    assert model.region_layer_map == {"V1": ["all"]}
    assert not (tmp_path / "region_layers").exists()
