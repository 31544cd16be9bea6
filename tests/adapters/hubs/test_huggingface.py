"""Vision models of Hugging Face, made from their configurations."""

import numpy as np
import pytest
from PIL import Image

from bsjax.adapters import from_huggingface

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def vit(transformers):
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=16,
        patch_size=8,
        num_labels=5,
    )
    return transformers.ViTForImageClassification(config)


@pytest.fixture(scope="module")
def resnet(transformers):
    torch.manual_seed(0)
    config = transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic")
    return transformers.ResNetModel(config)


@pytest.fixture(scope="module")
def saved(vit, transformers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("vit")
    vit.save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": 16, "width": 16}, image_mean=[0.1] * 3).save_pretrained(folder)
    return folder


def pictures(shown):
    return [Image.open(shown.get_stimulus(stimulus_id)) for stimulus_id in shown["stimulus_id"]]


@pytest.mark.slow
def test_a_vit_sees_what_its_own_processor_makes(vit, transformers, stimuli):
    model = from_huggingface(vit)
    assert model.identifier == "vit"
    layers = model.layers()
    assert layers["vit.layers.1"] == (5, 16) and layers["output"] == layers["classifier"] == (5,)
    shown = stimuli([0, 1, 2])
    pixels = transformers.ViTImageProcessorPil(size={"height": 16, "width": 16})(pictures(shown), return_tensors="pt")
    with torch.no_grad():
        wanted = vit.eval()(**pixels, output_hidden_states=True)
    np.testing.assert_allclose(model(shown, "output").values, wanted.logits, atol=1e-6)
    last = model(shown, "vit.layers.1").values
    np.testing.assert_allclose(last, wanted.hidden_states[2].flatten(1), atol=1e-6)


@pytest.mark.slow
def test_a_resnet_and_its_further_outputs(resnet, transformers, stimuli):
    model = from_huggingface(resnet, "resnet")
    layers = model.layers()
    assert layers["encoder.stages.1"] == (16, 28, 28) and layers["output.pooler_output"] == (16, 1, 1)
    shown = stimuli([0, 1])
    pixels = transformers.ConvNextImageProcessorPil(size={"shortest_edge": 224})(pictures(shown), return_tensors="pt")
    with torch.no_grad():
        wanted = resnet.eval()(**pixels)
    activations = model(shown, ["output", "output.pooler_output"])
    np.testing.assert_allclose(activations.sel(layer="output"), wanted.last_hidden_state.flatten(1), atol=1e-5)
    np.testing.assert_allclose(
        activations.sel(layer="output.pooler_output"), wanted.pooler_output.flatten(1), atol=1e-6
    )


@pytest.mark.slow
def test_a_folder_holds_the_model_and_its_processor(vit, saved, transformers, stimuli):
    model = from_huggingface(saved, "saved")
    shown = stimuli([0, 1])
    processor = transformers.AutoImageProcessor.from_pretrained(saved, backend="pil")
    same = from_huggingface(vit, "made", processor=processor)
    np.testing.assert_allclose(model(shown, "output").values, same(shown, "output").values, atol=1e-6)
    assert np.abs(model(shown, "output").values - from_huggingface(vit)(shown, "output").values).max() > 1e-3


@pytest.mark.slow
def test_random_weights_come_from_the_configuration_and_the_seed(saved, stimuli):
    shown = stimuli([0])
    state = torch.get_rng_state()
    values = [
        from_huggingface(str(saved), weights=weights, seed=seed)(shown, "output").values
        for weights, seed in ((None, 1), (None, 1), (None, 2), ("default", 0))
    ]
    np.testing.assert_array_equal(values[0], values[1])
    assert len({value.tobytes() for value in values}) == 3
    assert torch.equal(state, torch.get_rng_state())


def test_of_a_model_that_sees_and_reads_the_part_that_sees(transformers, stimuli, tmp_path):
    sizes = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    vision = transformers.CLIPVisionConfig(**sizes, image_size=16, patch_size=8)
    text = transformers.CLIPTextConfig(**sizes, vocab_size=10)
    whole = transformers.CLIPModel(
        transformers.CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=8)
    )
    whole.save_pretrained(tmp_path)
    shown = stimuli([0])
    loaded = from_huggingface(tmp_path)(shown, "output")
    np.testing.assert_allclose(loaded, from_huggingface(whole.vision_model)(shown, "output"), atol=1e-6)
    with pytest.raises(ValueError, match=r"model 'clip' \(CLIPModel\) fails on what its preprocessing made, float32"):
        from_huggingface(whole, "clip").layers()


def test_weights_that_lack_a_part_are_refused(vit, saved, tmp_path):
    weights = {name: value for name, value in vit.state_dict().items() if "layers.1.mlp" not in name}
    vit.save_pretrained(tmp_path, state_dict=weights)
    with pytest.raises(ValueError, match=r"lack 4 of those of ViTForImageClassification: vit.layers.1.mlp.fc1.bias, "):
        from_huggingface(tmp_path)


def test_what_is_not_there_is_said_in_one_line(no_network, saved, tmp_path, transformers):
    with pytest.raises(FileNotFoundError) as error:
        from_huggingface("google/vit-base-patch16-224")
    message = str(error.value)
    places = f"in {no_network / 'hub'} and at https://huggingface.co/google/vit-base-patch16-224"
    assert message.startswith(f"no Hugging Face model google/vit-base-patch16-224 {places} (")
    assert "\n" not in message
    with pytest.raises(FileNotFoundError, match="no folder of a Hugging Face model at /no/such/folder"):
        from_huggingface("/no/such/folder")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="it has no config.json"):
        from_huggingface(tmp_path / "empty")
    (tmp_path / "empty" / "config.json").write_bytes((saved / "config.json").read_bytes())
    with pytest.raises(FileNotFoundError, match="no weights of Hugging Face's"):
        from_huggingface(tmp_path / "empty")
    assert from_huggingface(tmp_path / "empty", weights=None).layers()["output"] == (5,)
