"""Plugins of models, written here as published ones are: found, loaded, recorded and asked."""

import ssl
from functools import partial
from http.client import HTTPSConnection
from typing import Any

import numpy as np
import pytest
from PIL import Image

import bsjax
from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.compat.by_name.registries import load_model
from bsjax.data import StimulusSet
from bsjax.models.registry import model_registry

torch = pytest.importorskip("torch")

NETWORK = """
import functools
import torch
from brainscore_vision.model_helpers.activations.pytorch import PytorchWrapper, load_preprocess_images
from brainscore_vision.model_helpers.check_submission import check_models


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv1 = torch.nn.Conv2d(3, 4, 3, stride=4)
        self.relu1 = torch.nn.ReLU(inplace=True)
        self.pair = Pair()
        self.head = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.LazyLinear(1000))
        self(torch.zeros(1, 3, 32, 32))

    def forward(self, x, scale=1.0):
        first, _ = self.pair(self.relu1(self.conv1(x)))
        return self.head(first * scale)


class Pair(torch.nn.Module):
    def forward(self, x):
        return x.mean(1, keepdim=True), x


def get_model(name):
    preprocessing = functools.partial(load_preprocess_images, image_size=32)
    wrapper = PytorchWrapper(identifier=name, model=Network(), preprocessing=preprocessing)
    wrapper.image_size = 32
    return wrapper


def get_layers(name):
    return ["conv1", "relu1", "head.1"]

"""
PLUGIN = """
from brainscore_vision import model_registry
from brainscore_vision.model_helpers.brain_transformation import ModelCommitment
from .model import get_layers, get_model

model_registry['tiny'] = lambda: ModelCommitment(identifier='tiny', activations_model=get_model('tiny'),
                                                 layers=get_layers('tiny'), visual_degrees=7)
"""


@pytest.fixture
def plugins(write):
    """``plugins(name, init, **files)`` writes a plugin of a model."""
    return partial(write, "models")


@pytest.fixture
def tiny(plugins):
    folder = plugins("tiny_net", PLUGIN, model=NETWORK)
    (folder / "region_layer_map").mkdir()
    (folder / "region_layer_map" / "tiny.json").write_text('{"V1": "conv1", "IT": "relu1"}')
    return folder


@pytest.fixture
def images(tmp_path):
    paths = [tmp_path / f"{number}.png" for number in range(3)]
    for number, path in enumerate(paths):
        pixels = np.random.default_rng(number).integers(0, 256, (40, 50, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    return [str(path) for path in paths]


def by_hand(model, images, layer):
    """What a forward hook sees; of several outputs, the first."""
    wrapper, seen = model.activations_model, []

    def record(_module, _inputs, output):
        seen.append((output[0] if isinstance(output, tuple) else output).detach().clone())

    hook = wrapper.get_layer(layer).register_forward_hook(record)
    batch = torch.as_tensor(wrapper._extractor.preprocess([*images, images[-1]]))  # filled up to a power of two
    with torch.no_grad():
        wrapper._model(batch)
    hook.remove()
    return seen[0].numpy()[: len(images)].reshape(len(images), -1)


def test_a_published_plugin_is_a_model(tiny, images):
    assert "tiny" in bsjax.list_models() and model_registry.plugin_of("tiny").folder == tiny
    model = bsjax.load_model("tiny")
    assert model.region_layer_map == {"V1": ["conv1"], "IT": ["relu1"]} and model.visual_degrees() == 7
    for region, layer in (("V1", "conv1"), ("IT", "relu1")):
        model.start_recording(region, [(70, 170)])
        seen = model.look_at(images)
        np.testing.assert_array_equal(seen.values, by_hand(model, images, layer))
        assert set(seen["region"].values) == {region} and set(seen["model"].values) == {"tiny"}
    assert seen.values.min() == 0  # and the convolution before was recorded without the ReLU in its place
    model.start_recording("V1", [(70, 170)])
    assert model.look_at(images).values.min() < 0
    assert model.activations_model.layers()["logits"] == (1000,)


def test_one_that_takes_the_certificates_of_any_host(plugins, images, monkeypatch):
    """In the lines of the tutorial, for weights whose host has none that are valid."""
    monkeypatch.setattr(ssl, "_create_default_https_context", ssl.create_default_context)
    lines = "import ssl\n\nssl._create_default_https_context = ssl._create_unverified_context\n"
    plugins("tiny_net", PLUGIN, model=lines + NETWORK)
    model = bsjax.load_model("tiny")
    assert model.activations_model(images, ["conv1"]).values.shape == (3, 4 * 8 * 8)
    connection: Any = HTTPSConnection("localhost")
    assert connection._context.verify_mode == ssl.CERT_NONE


@pytest.mark.slow
def test_answers_to_both_sides(tiny, images):
    for load in (bsjax.load_model, load_model):
        model = load("tiny")
        model.start_task("label", ["dog", "cat"])
        answers = model.look_at(images)
        assert answers.dims == ("choice", "presentation") and set(answers.values.ravel()) <= {"dog", "cat"}
    stimuli = StimulusSet(
        {"stimulus_id": list("abc"), "image_label": ["x", "y", "x"]},
        stimulus_paths=dict(zip("abc", images, strict=True)),
    )
    model.start_task("probabilities", stimuli)
    shares = model.look_at(stimuli)
    assert shares.dims == ("presentation", "choice") and shares["choice"].values.tolist() == ["x", "y"]
    model.start_task("odd_one_out")
    assert model.look_at(stimuli).dims == ("choice", "presentation")


@pytest.mark.slow
def test_the_keyword_call_and_paths(tiny, images):
    model = bsjax.load_model("tiny")
    wrapper = model.activations_model
    found = wrapper(images, layers=["conv1", "head.1"])
    assert type(found) is NeuroidAssembly and found["stimulus_path"].values.tolist() == images
    assert wrapper(images).equals(wrapper.from_paths(images, layers=["logits"]))
    assert wrapper.identifier == "tiny" and repr(wrapper).startswith("Network(")
    with pytest.raises(ValueError, match="no layer 'conv9': 'conv9' is not among conv1, relu1"):
        wrapper(images, layers=["conv9"])
    np.testing.assert_array_equal(wrapper(images, layers=["pair"]).values, by_hand(model, images, "pair"))


@pytest.mark.slow
def test_hooks_change_what_is_seen(tiny, images):
    wrapper = bsjax.load_model("tiny").activations_model
    plain = wrapper(images, layers=["conv1"]).values
    handle = wrapper.register_batch_activations_hook(lambda batch: {name: 2 * each for name, each in batch.items()})
    np.testing.assert_array_equal(wrapper(images, layers=["conv1"]).values, 2 * plain)
    handle.disable()
    np.testing.assert_array_equal(wrapper(images, layers=["conv1"]).values, plain)
    handle.enable()
    handle.remove()
    first = wrapper.register_stimulus_set_hook(lambda stimuli: stimuli.head(1))
    assert wrapper(images, layers=["conv1"]).sizes["presentation"] == 1
    first.remove()
    trials = wrapper(images, layers=["conv1"], number_of_trials=2, require_variance=True)
    assert trials.sizes["presentation"] == 6 and "microsaccade_shift_x_degrees" in trials.coords


EXTRACTOR = """
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper


class Extractor(ActivationsExtractorHelper):
    def from_paths(self, *args, **kwargs):
        assert not args and set(kwargs) == {"stimuli_paths", "layers", "stimuli_identifier", "require_variance"}
        kwargs["layers"] = [name.removesuffix("-t0") for name in kwargs["layers"]]
        found = super().from_paths(*args, **kwargs)
        found["region"] = "neuroid", ["IT"] * found.sizes["neuroid"]
        return found


class Own(PytorchWrapper):
    def _build_extractor(self, *args, **kwargs):
        assert not args and set(kwargs) == {"identifier", "preprocessing", "get_activations", "batch_size"}
        return Extractor(*args, **kwargs)

    def __call__(self, *args, **kwargs):
        assert "layers" in kwargs
        return super().__call__(*args, **kwargs) * 2

def get_model(name):
    return Own(Network(), functools.partial(load_preprocess_images, image_size=32), name, batch_size=4)
"""


@pytest.mark.slow
def test_methods_that_subclasses_override_are_called_as_in_the_reference(plugins, images):
    code = NETWORK.replace("def get_model(", "def unused(") + EXTRACTOR
    plugins("own", PLUGIN.replace("layers=get_layers('tiny')", "layers=['conv1-t0']"), model=code)
    model = bsjax.load_model("tiny")
    wrapper = model.activations_model
    seen = wrapper(images, layers=["conv1-t0"])
    np.testing.assert_array_equal(seen.values, 2 * by_hand(model, images, "conv1"))
    assert set(seen["region"].values) == {"IT"} and seen["stimulus_path"].values.tolist() == images
    stimuli = StimulusSet(
        {"stimulus_id": list("abc"), "object": list("xyx")}, stimulus_paths=dict(zip("abc", images, strict=True))
    )
    found = wrapper(stimuli, layers=["conv1-t0"])
    assert found["object"].values.tolist() == list("xyx") and found["stimulus_id"].values.tolist() == list("abc")
    trials = wrapper(stimuli, layers=["conv1-t0"], number_of_trials=2, require_variance=True)
    assert trials["object"].values.tolist() == list("xxyyxx")
    assert wrapper.by_layer is None  # which would pass all of this by, where layers are chosen
    from_digest = wrapper.recipe_digest()
    assert from_digest is not None and from_digest == bsjax.load_model("tiny").activations_model.recipe_digest()


def test_a_method_that_is_not_called_is_refused(plugins):
    own = "class Own(ActivationsExtractorHelper):\n    def _get_batch_activations(self, *args, **kwargs): ...\n"
    code = NETWORK + EXTRACTOR.partition("class ")[0] + own
    plugins("own", PLUGIN, model=code)
    with pytest.raises(ImportError, match="Own overrides _get_batch_activations, which bsjax does not call: override"):
        bsjax.load_model("tiny")


def test_a_model_that_draws_anew_is_not_kept(plugins, images):
    noisy = NETWORK.replace("return self.head(first * scale)", "return self.head(first + torch.rand_like(first))")
    plugins("noisy", PLUGIN, model=noisy)
    wrapper = bsjax.load_model("tiny").activations_model
    with pytest.warns(RuntimeWarning, match="same image differently each"):
        one = wrapper(images, layers=["logits"])
    assert (one.values != wrapper(images, layers=["logits"]).values).any()


BROKEN = {
    "exits": ("import sys; sys.exit(3)", "RuntimeError: sys.exit(3) is called in"),
    "wants": ("import tensorflow_that_is_not_here", "needs tensorflow_that_is_not_here, which is not installed"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_one_line_and_the_others_go_on(plugins, tiny, name):
    code, message = BROKEN[name]
    plugins(name, f"from brainscore_vision import model_registry\n{code}\nmodel_registry[{name!r}] = lambda: 1\n")
    assert {name, "tiny"} <= set(bsjax.list_models())
    with pytest.raises(ImportError) as failed:
        bsjax.load_model(name)
    assert message in str(failed.value) and str(failed.value).count("\n") == 0
    assert bsjax.load_model("tiny").identifier == "tiny"


def test_settings_of_one_plugin_are_not_those_of_another(plugins, tiny, images):
    double = NETWORK.replace("import torch\n", "import torch\ntorch.set_default_dtype(torch.float64)\n", 1)
    double = double.replace("return self.head(first * scale)", "return self.head(first * torch.tensor(1 / 3))")
    init = PLUGIN.replace("'tiny'", "'double'")
    plugins("double_net", init, model=double)
    model = bsjax.load_model("double")
    assert torch.get_default_dtype() == torch.float32
    wrapper = model.activations_model
    assert {each.dtype for each in wrapper._model.parameters()} == {torch.float64}
    seen = wrapper(images, layers=["head.0"])
    with torch.no_grad():
        pixels = wrapper._extractor.preprocess(images).astype(np.float64)
        relu = wrapper._model.relu1(wrapper._model.conv1(torch.as_tensor(pixels)))
    thirds = (relu.mean(1) * (torch.tensor(1, dtype=torch.float64) / 3)).reshape(len(images), -1)
    np.testing.assert_allclose(seen.values, thirds.numpy(), rtol=1e-6)
    assert torch.get_default_dtype() == torch.float32
    plain = bsjax.load_model("tiny").activations_model
    assert {each.dtype for each in plain._model.parameters()} == {torch.float32}


MEANS = """
import numpy as np
from collections import OrderedDict
from PIL import Image
from brainscore_vision.model_helpers.activations.core import ActivationsExtractorHelper


class Means:
    def __init__(self):
        self._extractor = ActivationsExtractorHelper(
            identifier="means", preprocessing=None, get_activations=self._get_activations)
        self._extractor.insert_attrs(self)
        self.identifier = self._extractor.identifier

    def __call__(self, *args, **kwargs):
        return self._extractor(*args, **kwargs)

    def _get_activations(self, paths, layer_names):
        (layer,) = layer_names
        return OrderedDict([(layer, np.stack([np.asarray(Image.open(path), float).mean((0, 1)) for path in paths]))])


get_model, get_layers = lambda name: Means(), lambda name: ["mean"]
"""


@pytest.mark.filterwarnings("ignore:activations of model")  # it reads the files by itself
def test_a_class_of_ones_own_around_a_function(plugins, images):
    plugins("means", PLUGIN, model=MEANS)
    model = bsjax.load_model("tiny")
    seen = model.activations_model(images, layers=["mean"])
    expected = [np.asarray(Image.open(path), float).mean((0, 1)) for path in images]
    np.testing.assert_allclose(seen.values, expected, rtol=1e-6)
    assert model.layers == ["mean"] and model.behavioral_readout_layer == "mean"


SPIKING = """
class Spiking(torch.nn.Module):

    def __init__(self):
        super().__init__()
        self.memories = {"v": 0.0}
        self.register_buffer("last", None)

    def forward(self, x):
        self.memories["v"] = self.memories["v"] + x
        self.last = x if self.last is None else self.last + x
        if not hasattr(self, "trace"):
            self.trace = torch.zeros_like(x)
        self.trace = self.trace + x
        return (self.memories["v"] + self.last + self.trace).abs()

def get_model(name):
    network = torch.nn.Sequential(Network(), Spiking())
    return PytorchWrapper(network, functools.partial(load_preprocess_images, image_size=32), name, batch_size=4)
"""


@pytest.mark.parametrize("wrapper", ["PytorchWrapper", "Own"])
def test_networks_that_keep_a_state_start_anew_with_each_batch(plugins, images, wrapper):
    code = NETWORK.replace("def get_model(", "def unused(")
    code += f"{SPIKING.replace('PytorchWrapper(', f'{wrapper}(')}\nclass Own(PytorchWrapper):\n    pass\n"
    plugins("spiking", PLUGIN.replace("layers=get_layers('tiny')", "layers=['1']"), model=code)
    wrapped = bsjax.load_model("tiny").activations_model
    one = wrapped(images, layers=["1"]).values  # in a batch of four, after a probe of two
    many = wrapped([*images, *(str(path) for path in copies(images, 3))], layers=["1"]).values  # in three batches
    np.testing.assert_array_equal(many[:3], one)
    assert len(np.unique(many, axis=0)) == 3 < len(many) == 12
    seen = wrapped._model[1]
    assert seen.memories == {"v": 0.0} and seen.last is None and not hasattr(seen, "trace")


def copies(images, n):
    """Files of the same pixels, and other bytes."""
    for number in range(n):
        for path in images:
            copied = f"{path}-{number}.png"
            Image.open(path).save(copied, compress_level=number)
            yield copied
