"""Models of other libraries by name."""

import re

import numpy as np
import pytest

import bsjax
from bsjax.models.sources.by_name import Name
from tests.models.conftest import record

IMAGES = [np.random.default_rng(n).integers(0, 256, (20, 20, 3), np.uint8) for n in range(3)]


@pytest.fixture
def shown(stimulus_set):
    return stimulus_set(IMAGES)


@pytest.fixture
def stored(tmp_path, shown):
    rng = np.random.default_rng(0)
    layers = {"a.1": rng.normal(size=(3, 4)), "b": rng.normal(size=(3, 2, 5))}
    np.savez(tmp_path / "net.npz", **layers, stimulus_ids=shown["stimulus_id"].to_numpy(str))
    return f"stored:{tmp_path}/net.npz", layers


@pytest.fixture(scope="module")
def folder(tmp_path_factory, transformers):
    """A tiny Hugging Face ViT and ResNet, saved without their processors."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("models")
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    vit = transformers.ViTConfig(**sizes, image_size=16, patch_size=8)
    transformers.ViTForImageClassification(vit).save_pretrained(path / "vit")
    resnet = transformers.ResNetConfig(embedding_size=4, hidden_sizes=[4, 8], depths=[1, 1], layer_type="basic")
    transformers.ResNetForImageClassification(resnet).save_pretrained(path / "resnet")
    return path


def test_one_layer_is_every_region(stored, shown):
    name, layers = stored
    model = bsjax.load_model(f"{name}@b")
    assert model.identifier == f"{name}@b" and model.visual_degrees() == 8
    for region in ("V1", "IT"):
        np.testing.assert_array_equal(record(model, region, shown), layers["b"].reshape(3, -1).astype(np.float32))


def test_layers_of_each_region_and_degrees(stored, shown):
    name, layers = stored
    model = bsjax.load_model(f"{name}?degrees=6.5@V1=a.1,IT=b+a.1")
    assert model.visual_degrees() == 6.5
    assert set(model.region_layer_map) == {"V1", "IT"}
    both = np.concatenate([layers["b"].reshape(3, -1), layers["a.1"]], axis=1)
    np.testing.assert_array_equal(record(model, "IT", shown), both.astype(np.float32))
    with pytest.raises(ValueError, match="no layer for V4"):
        model.start_recording("V4", time_bins=[(0, 100)])


def test_without_a_layer_all_are_listed(stored):
    name, _ = stored
    with pytest.raises(ValueError, match=r"names no layer; .*@V1=LAYER.* one image: a.1 \(4,\), b \(2, 5\)$"):
        bsjax.load_model(name)
    with pytest.raises(ValueError, match=rf"'{re.escape(name)}@LAYER'.*'{re.escape(name)}@V1=LAYER"):
        bsjax.load_model(f"{name}@")
    with pytest.raises(ValueError, match=r"has no layer 'bb'; nearest: b; its layers, .* b \(2, 5\)"):
        bsjax.load_model(f"{name}@bb")


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("timm:@a", "expected source:name"),
        ("timm:net@V1=a,b", "layers must be one"),
        ("timm:net?degrees=wide@a", "degrees must be a number, got 'wide'"),
        ("timm:net?size=8@a", "no setting 'size' of timm, which has weights, seed, degrees"),
    ],
)
def test_what_does_not_follow_the_grammar(identifier, message):
    with pytest.raises(ValueError, match=message):
        bsjax.load_model(identifier)


def test_a_path_may_hold_an_at_sign():
    assert Name.of("huggingface:a@b/c@V1=x").name == "a@b/c"


def test_unknown_sources_and_networks(torchvision):
    with pytest.raises(KeyError, match="no source 'torchvison', only torchvision, timm, huggingface, stored"):
        bsjax.load_model("torchvison:resnet50@layer4")
    with pytest.raises(KeyError, match="torchvision has no classification network 'resnet-50'"):
        bsjax.load_model("torchvision:resnet-50@layer4")


def test_random_weights_of_torchvision_are_the_same_each_time(torchvision, shown):
    name = "torchvision:squeezenet1_1?weights=none@V4=features.12"
    first, second, other = (
        record(bsjax.load_model(identifier), "V4", shown).values
        for identifier in (name, name, name.replace("none", "none&seed=1"))
    )
    np.testing.assert_array_equal(first, second)
    assert np.abs(first - other).max() > 1e-3


@pytest.mark.slow
def test_layers_of_huggingface_as_in_the_base_model(folder, shown):
    model = bsjax.load_model(f"huggingface:{folder}/vit@V1=layers.0,IT=vit.layers.1")
    assert model.region_layer_map == {"V1": ["vit.layers.0"], "IT": ["vit.layers.1"]}
    assert record(model, "V1", shown).shape == (3, 80)
    untrained = bsjax.load_model(f"huggingface:{folder}/resnet?weights=none@encoder.stages.0")
    assert record(untrained, "V1", shown).shape[0] == 3


def test_names_go_where_identifiers_go(stored, monkeypatch):
    from bsjax.scoring import jobs_of
    from bsjax.scoring.job import built_model

    name, _ = stored
    identifiers = [f"{name}?degrees=6@b", "pixels"]
    assert [job.model for job in jobs_of(identifiers, "Simulated.V1-ridge")] == identifiers
    [job] = jobs_of(identifiers[0], "Simulated.V1-ridge")
    assert built_model(job).visual_degrees() == 6
