"""torch modules."""

import sys
from collections import OrderedDict
from dataclasses import dataclass

import jax
import numpy as np
import pytest
from flax import nnx
from PIL import Image

from bsjax.adapters import from_flax, from_torch, imagenet_preprocessing

torch = pytest.importorskip("torch")

SIX = imagenet_preprocessing(6)


class Calls(torch.nn.Module):
    """Calls one function; with parameters, if ``n`` of them are wanted."""

    def __init__(self, function, **parts):
        super().__init__()
        self.function = function
        for name, part in parts.items():
            self.add_module(name, part)

    def forward(self, x):
        return self.function(self, x)


def small_net():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        OrderedDict(
            conv1=torch.nn.Conv2d(3, 4, 3, padding=1),
            bn=torch.nn.BatchNorm2d(4),
            relu=torch.nn.ReLU(inplace=True),
            pool=torch.nn.MaxPool2d(2),
            block=torch.nn.Sequential(torch.nn.Conv2d(4, 5, 3), torch.nn.Tanh()),
            flat=torch.nn.Flatten(),
            fc=torch.nn.Linear(5, 7),
        )
    )


def trained_statistics(net):
    """Batch normalisation that is not the identity."""
    net.bn.running_mean.copy_(torch.tensor([0.1, -0.2, 0.3, 0.0]))
    net.bn.running_var.copy_(torch.tensor([0.5, 1.5, 2.0, 1.0]))
    return net


class FlaxNet(nnx.Module):
    def __init__(self, rngs):
        self.conv1 = nnx.Conv(3, 4, (3, 3), padding=1, rngs=rngs)
        self.bn = nnx.BatchNorm(4, epsilon=1e-5, rngs=rngs)
        self.block = nnx.Conv(4, 5, (3, 3), padding="VALID", rngs=rngs)
        self.fc = nnx.Linear(5, 7, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.bn(self.conv1(x))), (2, 2), strides=(2, 2))
        return self.fc(jax.numpy.tanh(self.block(x)).reshape(len(x), -1))


def in_flax(net):
    """The same architecture and weights."""

    def array(tensor):
        return jax.numpy.asarray(tensor.detach().numpy())

    twin = FlaxNet(nnx.Rngs(0))
    for ours, theirs in ((twin.conv1, net.conv1), (twin.block, net.block[0])):
        ours.kernel[...] = array(theirs.weight.permute(2, 3, 1, 0))
        ours.bias[...] = array(theirs.bias)
    twin.bn.mean[...], twin.bn.var[...] = array(net.bn.running_mean), array(net.bn.running_var)
    twin.fc.kernel[...], twin.fc.bias[...] = array(net.fc.weight.T), array(net.fc.bias)
    return twin


def test_torch_and_flax_agree(stimuli):
    net = trained_statistics(small_net())
    shown = stimuli(list(range(12)))
    ours = from_torch(net, "net", SIX, batch_size=5)
    theirs = from_flax(in_flax(net), "net", preprocess=imagenet_preprocessing(6, "NHWC"), batch_size=5)
    np.testing.assert_allclose(ours(shown, "fc").values, theirs(shown, "fc").values, atol=1e-5)
    for torch_layer, flax_layer in [("conv1", "conv1"), ("bn", "bn"), ("block.0", "block")]:
        shape = ours.layers()[torch_layer]
        channels_last = ours(shown, torch_layer).values.reshape(12, *shape).transpose(0, 2, 3, 1)
        np.testing.assert_allclose(
            channels_last.reshape(12, -1), theirs(shown, flax_layer).values, atol=1e-5, err_msg=torch_layer
        )


def test_activations_are_those_of_the_module(stimuli):
    net = trained_statistics(small_net()).eval()
    shown = stimuli([3, 1, 3])
    activations = from_torch(net, "net", SIX)(shown, ["pool", "output", "block.1"])
    images = [np.asarray(Image.open(shown.get_stimulus(i))) for i in shown["stimulus_id"]]
    with torch.no_grad():
        # Not in place, so that the steps can be taken apart here.
        pooled = net.pool(torch.relu(net.bn(net.conv1(torch.tensor(SIX(images))))))
        block = net.block(pooled)
        wanted = torch.cat([pooled.flatten(1), net.fc(block.flatten(1)), block.flatten(1)], 1)
    np.testing.assert_allclose(activations.values, wanted.numpy(), atol=1e-6)


def test_layers_in_the_order_of_their_computation():
    assert from_torch(small_net(), "net", SIX).layers() == {
        "conv1": (4, 6, 6),
        "bn": (4, 6, 6),
        "relu": (4, 6, 6),
        "pool": (4, 3, 3),
        "block.0": (5, 1, 1),
        "block.1": (5, 1, 1),
        "block": (5, 1, 1),
        "flat": (5,),
        "fc": (7,),
        "output": (7,),
    }


def test_an_in_place_operation_does_not_change_what_was_recorded(stimuli):
    activations = from_torch(small_net(), "net", SIX)(stimuli([0, 1]), ["bn", "relu"])
    before = activations.sel(layer="bn").values
    assert (before < 0).any()
    np.testing.assert_array_equal(np.maximum(before, 0), activations.sel(layer="relu").values)


@dataclass
class Result:
    loss: object
    logits: object


@pytest.mark.parametrize(
    "wrap",
    [
        lambda x: (x, x + 1),
        lambda x: [None, (x,), x + 1],
        lambda x: {"hidden": x, "also": x + 1},
        lambda x: Result(loss=None, logits=x),
        lambda x: ("text", {"deep": [x]}),
    ],
)
def test_the_first_tensor_of_a_structured_output(stimuli, wrap):
    net = Calls(lambda self, x: self.head(x), head=Calls(lambda self, x: wrap(x * 2)))
    model = from_torch(net, "net", SIX)
    assert model.layers() == {"head": (3, 6, 6), "output": (3, 6, 6)}
    plain = from_torch(torch.nn.Identity(), "net", SIX)(stimuli([0, 1]), "output")
    np.testing.assert_array_equal(model(stimuli([0, 1]), "head").values, 2 * plain.values)


def test_a_submodule_without_a_tensor_or_a_call_is_no_layer(stimuli):
    net = Calls(lambda self, x: x + len(self.text(x)), text=Calls(lambda self, x: "ab"), unused=torch.nn.ReLU())
    model = from_torch(net, "net", SIX)
    assert list(model.layers()) == ["output"]
    with pytest.raises(ValueError, match=r"no layer 'unused'; .* output \(3, 6, 6\)"):
        model(stimuli([0]), ["output", "unused"])


def test_the_last_of_several_calls(stimuli):
    net = Calls(lambda self, x: self.twice(self.twice(x)), twice=Calls(lambda self, x: 2 * x))
    activations = from_torch(net, "net", SIX)(stimuli([0]), ["twice", "output"])
    np.testing.assert_array_equal(activations.sel(layer="twice").values, activations.sel(layer="output").values)


def test_a_module_with_two_names_is_a_layer_under_both(stimuli):
    relu = torch.nn.ReLU()
    model = from_torch(torch.nn.Sequential(relu, torch.nn.Flatten(), relu), "net", SIX)
    assert {"0", "2"} <= set(model.layers())


def test_a_submodule_may_be_called_output(stimuli):
    net = Calls(lambda self, x: self.output(x).mean((2, 3)), output=torch.nn.Identity())
    assert from_torch(net, "net", SIX).layers() == {"output": (3, 6, 6)}


def test_every_part_returns_to_its_mode_and_keeps_no_hook(stimuli):
    net = trained_statistics(small_net()).train()
    net.block.eval()
    modes = {name: part.training for name, part in net.named_modules()}
    statistics = net.bn.running_mean.clone()
    model = from_torch(net, "net", SIX)
    model(stimuli([0, 1]), ["bn"])
    model.layers()
    with pytest.raises(ValueError, match="no layer"):
        model(stimuli([0, 1]), ["bn", "absent"])
    assert {name: part.training for name, part in net.named_modules()} == modes
    assert all(not part._forward_hooks for part in net.modules())
    torch.testing.assert_close(net.bn.running_mean, statistics)


def test_modes_and_hooks_are_restored_when_the_module_fails(stimuli):
    def fail(self, x):
        self.relu(x)
        raise RuntimeError("out of order")

    net = Calls(fail, relu=torch.nn.ReLU()).train()
    with pytest.raises(RuntimeError, match="out of order"):
        from_torch(net, "net", SIX)(stimuli([0]), ["relu"])
    assert net.training and net.relu.training
    assert not net.relu._forward_hooks


def test_nothing_records_gradients(stimuli):
    recorded = []

    def look(self, x):
        recorded.append((torch.is_grad_enabled(), self.conv(x).requires_grad))
        return x

    from_torch(Calls(look, conv=torch.nn.Conv2d(3, 1, 1)), "net", SIX)(stimuli([0]), "output")
    assert recorded == [(False, False)]
    assert torch.is_grad_enabled()


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_the_batch_has_the_dtype_of_the_parameters(stimuli, dtype):
    full = from_torch(small_net(), "net", SIX)(stimuli([0, 1]), "fc").values
    other = from_torch(small_net().to(dtype), "net", SIX)(stimuli([0, 1]), "fc")
    assert other.dtype == np.float32
    np.testing.assert_allclose(other.values, full, atol=1e-5 if dtype is torch.float64 else 0.03)


def test_images_in_batches_of_any_size_give_the_same(stimuli):
    net = trained_statistics(small_net())
    shown = stimuli(list(range(11)))
    whole, pieces = (from_torch(net, "net", SIX, batch_size=n)(shown, "fc").values for n in (64, 3))
    np.testing.assert_allclose(whole, pieces, atol=1e-6)


def test_weights_are_read_when_the_module_runs(stimuli):
    net = small_net()
    model = from_torch(net, "net", SIX)
    before = model(stimuli([0]), "fc").values
    with torch.no_grad():
        net.fc.bias += 1
    np.testing.assert_allclose(model(stimuli([0]), "fc").values, before + 1, atol=1e-6)


def test_nan_names_the_layer(stimuli):
    net = small_net()
    with torch.no_grad():
        net.fc.bias[2] = float("nan")
    model = from_torch(net, "net", SIX)
    assert np.isfinite(model(stimuli([0, 1]), "flat").values).all()
    with pytest.raises(ValueError, match="layer 'fc' of model 'net' gives NaN .* for 2 of 2 stimuli"):
        model(stimuli([0, 1]), ["flat", "fc"])


def test_a_preprocessing_may_return_tensors(stimuli):
    tensors = from_torch(small_net(), "net", lambda images: torch.from_numpy(SIX(images)))
    arrays = from_torch(small_net(), "net", SIX)
    np.testing.assert_array_equal(tensors(stimuli([0, 1]), "fc").values, arrays(stimuli([0, 1]), "fc").values)


def test_the_device_is_used(stimuli):
    devices = []

    def look(self, x):
        devices.append((x.device.type, self.fc.weight.device.type))
        return x

    device = "cuda" if torch.cuda.is_available() else "cpu"
    from_torch(Calls(look, fc=torch.nn.Linear(1, 1)), "net", SIX)(stimuli([0]), "output")
    from_torch(Calls(look, fc=torch.nn.Linear(1, 1)), "net", SIX, device="cpu")(stimuli([0]), "output")
    assert devices == [(device, device), ("cpu", "cpu")]


def test_only_modules_are_taken():
    with pytest.raises(ValueError, match="takes a torch.nn.Module, got function"):
        from_torch(lambda x: x, "net")


def test_without_torch_one_line_says_what_to_install(monkeypatch):
    net = small_net()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError) as error:
        from_torch(net, "net")
    assert str(error.value) == "torch is not installed; run: pip install 'bsjax[torch]'"
