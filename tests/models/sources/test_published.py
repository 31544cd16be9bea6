"""Models that are published on Brain-Score, by name."""

import numpy as np
import pytest
from PIL import Image

import bsjax
from bsjax.models.sources import published
from bsjax.models.sources.published import PublishedModel, load_published, published_models
from tests.models.conftest import record

IMAGES = [np.random.default_rng(n).integers(0, 256, (60, 45 + 30 * n, 3), np.uint8) for n in range(2)]
REGIONS = ["V1", "V2", "V4", "IT"]


@pytest.fixture
def published_as(monkeypatch):
    """A table of one row."""

    def publish(**facts):
        facts = {"behavioral_readout_layer": facts["layers"][-1], **facts}
        monkeypatch.setattr(published, "published_models", lambda: {"mine": PublishedModel("mine", **facts)})

    return publish


def test_every_row_is_well_formed():
    for model in published_models().values():
        assert model.hub in ("torchvision", "timm", "huggingface") and model.network, model
        assert (model.weights != "default") == (model.hub == "torchvision"), model
        assert model.layers and len(set(model.layers)) == len(model.layers), model
        layers, facts = model.region_layer_map, model.preprocessing or {"size": 1}
        assert layers is None or (list(layers) == REGIONS and all(layers.values())), model
        assert model.behavioral_readout_layer and 0 < model.visual_degrees < 100, model
        assert model.resized is None or (model.hub == "huggingface" and model.resized > 0 and not model.preprocessing)
        assert set(facts) <= {"size", "shorter_side", "mean", "std", "resample"}, model
        assert 0 < facts["size"] <= facts.get("shorter_side", facts["size"]), model
        assert all(len(facts.get(name, [0] * 3)) == 3 for name in ("mean", "std")), model


def test_published_models_are_found_but_not_listed():
    registry = bsjax.model_registry
    assert "alexnet" not in registry and "alexnet" not in bsjax.list_models()
    assert registry.match("alexnet") == ["alexnet"] and registry.is_of_source("alexnet")
    assert registry.requires("alexnet") == ()
    with pytest.raises(KeyError, match="no model matches 'alexn[*]'; nearest: alexnet"):
        registry.match("alexn*")
    with pytest.raises(KeyError, match="nearest: alexnet, .*; see `bsjax list models --published`"):
        load_published("alexnett")


def test_a_plugin_comes_before_what_is_published(monkeypatch, tmp_path):
    (tmp_path / "models" / "alexnet").mkdir(parents=True)
    init = tmp_path / "models" / "alexnet" / "__init__.py"
    init.write_text("from bsjax import model_registry\nmodel_registry['alexnet'] = lambda: 'a plugin'\n")
    monkeypatch.setenv("BSJAX_PLUGINS", str(tmp_path))
    assert bsjax.load_model("alexnet") == "a plugin"


def seen(network, layer, batch):
    """What a layer of a torch network gives for a batch."""
    torch = pytest.importorskip("torch")
    found = {}
    network.get_submodule(layer).register_forward_hook(lambda *called: found.update(output=called[2].clone()))
    with torch.no_grad():
        network.eval()(batch)
    return found["output"].flatten(1)


def test_a_network_of_torchvision(torchvision, stimulus_set):
    torch = pytest.importorskip("torch")
    model = load_published("shufflenet_v2_x1_0", weights=None, seed=3)
    assert model.identifier == "shufflenet_v2_x1_0" and model.visual_degrees() == 8
    assert model.behavioral_readout_layer == "fc" and model.layers[0] == "conv1"
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = torchvision.models.shufflenet_v2_x1_0(weights=None)
    transforms = torchvision.transforms
    normalise = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    transform = transforms.Compose([transforms.Resize((224, 224)), transforms.ToTensor(), normalise])
    batch = torch.stack([transform(Image.fromarray(image)) for image in IMAGES])
    [layer] = model.region_layer_map["IT"]
    wanted = seen(network, layer, batch)
    np.testing.assert_allclose(record(model, "IT", stimulus_set(IMAGES)).values, wanted, rtol=1e-4, atol=1e-5)


def test_a_network_of_timm_with_the_preprocessing_of_timm(timm, stimulus_set):
    torch = pytest.importorskip("torch")
    model = load_published("convnext_femto_ols:d1_in1k", weights=None)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = timm.create_model("convnext_femto_ols.d1_in1k")
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(network), is_training=False)
    batch = torch.stack([transform(Image.fromarray(image)) for image in IMAGES])
    [layer] = model.region_layer_map["IT"]
    wanted = seen(network, layer, batch)
    np.testing.assert_allclose(record(model, "IT", stimulus_set(IMAGES)).values, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("facts", [{"resized": 40}, {"preprocessing": {"size": 32, "resample": "bicubic"}}])
def test_a_model_of_hugging_face(facts, published_as, stimulus_set, tmp_path, transformers):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    config = transformers.ConvNextConfig(hidden_sizes=[4, 8], depths=[1, 1], num_stages=2, num_labels=5)
    network = transformers.ConvNextForImageClassification(config)
    network.save_pretrained(tmp_path)
    processor = transformers.ConvNextImageProcessorPil(size={"shortest_edge": 28}, crop_pct=0.875, image_mean=[0.1] * 3)
    processor.save_pretrained(tmp_path)
    layers = {"V1": "convnext.encoder.stages.0", "IT": "convnext.encoder.stages.1"}
    published_as(
        **{"hub": "huggingface", "network": str(tmp_path), "layers": ["classifier"], "region_layer_map": layers},
        **facts,
    )
    model = load_published("mine")
    side = facts.get("resized", 32)
    squares = [Image.fromarray(image).resize((side, side), Image.Resampling.BICUBIC) for image in IMAGES]
    if "resized" in facts:
        batch = processor(images=squares, return_tensors="pt")["pixel_values"]
    else:
        mean, std = np.array((0.485, 0.456, 0.406)), np.array((0.229, 0.224, 0.225))
        pixels = np.stack([(np.asarray(square) / 255 - mean) / std for square in squares]).astype(np.float32)
        batch = torch.from_numpy(pixels.transpose(0, 3, 1, 2))
    wanted = seen(network, layers["IT"], batch)
    assert batch.shape[2:] == ((28, 28) if "resized" in facts else (32, 32))
    np.testing.assert_allclose(record(model, "IT", stimulus_set(IMAGES)).values, wanted, rtol=1e-4, atol=1e-5)
