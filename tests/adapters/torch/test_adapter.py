"""torch modules."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from bsjax.activations import ActivationCache
from bsjax.adapters import from_torch, imagenet_preprocessing
from bsjax.adapters.torch.network import TorchNetwork
from tests.adapters.conftest import pixels_of

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


def test_activations_are_those_of_the_module(stimuli):
    net = trained_statistics(small_net()).eval()
    shown = stimuli([3, 1, 3])
    activations = from_torch(net, "net", SIX)(shown, ["pool", "output", "block.1"])
    with torch.no_grad():
        # Not in place, so that the steps can be taken apart here.
        pooled = net.pool(torch.relu(net.bn(net.conv1(torch.tensor(SIX(pixels_of(shown)))))))
        block = net.block(pooled)
        wanted = torch.cat([pooled.flatten(1), net.fc(block.flatten(1)), block.flatten(1)], 1)
    np.testing.assert_allclose(activations.values, wanted.numpy(), atol=1e-6)


def test_only_what_is_compiled_gets_batches_of_one_size(stimuli):
    sizes = []
    net = torch.nn.Flatten()
    net.register_forward_pre_hook(lambda _module, inputs: sizes.append(len(inputs[0])))
    model = from_torch(net, "net", SIX, batch_size=4, cache=None)
    assert model(stimuli(list(range(10))), "output").shape == (10, 108)
    assert sizes == [4, 2, 4, 2]  # two images tell whether the first axis of a layer is that of the images


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


class Pair(NamedTuple):
    first: object
    second: object


@dataclass
class Result:
    loss: object
    logits: object


@pytest.mark.parametrize(
    ("wrap", "further"),
    [
        (lambda x: (x, x + 1), ["1"]),
        (lambda x: {"hidden": x, "also": {"deep": x + 1}}, ["also.deep"]),
        (lambda x: Result(loss=x, logits=(None, x + 1)), ["logits.1"]),
        (lambda x: Pair(x, x + 1), ["second"]),
    ],
)
def test_the_tensors_of_a_structured_output(stimuli, wrap, further):
    net = Calls(lambda self, x: self.head(x), head=Calls(lambda self, x: wrap(x * 2)))
    model = from_torch(net, "net", SIX)
    names = [name for layer in ("head", "output") for name in (layer, *(f"{layer}.{part}" for part in further))]
    assert model.layers() == dict.fromkeys(names, (3, 6, 6))
    plain = from_torch(torch.nn.Identity(), "net", SIX)(stimuli([0, 1]), "output")
    np.testing.assert_array_equal(model(stimuli([0, 1]), "head").values, 2 * plain.values)
    for part in further:
        np.testing.assert_array_equal(model(stimuli([0, 1]), f"output.{part}").values, 2 * plain.values + 1)


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
    with pytest.raises(ValueError, match="out of order"):
        from_torch(net, "net", SIX)(stimuli([0]), ["relu"])
    assert net.training and net.relu.training
    assert not net.relu._forward_hooks


def test_nothing_records_gradients(stimuli):
    recorded = []

    def look(self, x):
        recorded.append((torch.is_grad_enabled(), self.conv(x).requires_grad))
        return x

    from_torch(Calls(look, conv=torch.nn.Conv2d(3, 1, 1)), "net", SIX)(stimuli([0]), "output")
    assert set(recorded) == {(False, False)}
    assert torch.is_grad_enabled()


def test_an_error_inside_the_module_names_the_model_and_what_it_was_given(stimuli):
    with pytest.raises(ValueError) as error:
        from_torch(small_net(), "net", imagenet_preprocessing(9))(stimuli([0, 1]), "fc")
    start = "model 'net' (Sequential) fails on what its preprocessing made, float32 (2, 3, 9, 9): RuntimeError: mat1 "
    assert str(error.value).startswith(start)

    def full(self, x):
        raise torch.OutOfMemoryError("CUDA out of memory")

    with pytest.raises(MemoryError, match=r"memory on float32 \(\d, 3, 6, 6\): choose a smaller batch_size="):
        from_torch(Calls(full), "net", SIX)(stimuli([0]), "output")


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_the_batch_has_the_dtype_of_the_parameters(stimuli, dtype):
    full = from_torch(small_net(), "net", SIX)(stimuli([0, 1]), "fc").values
    other = from_torch(small_net().to(dtype), "net", SIX)(stimuli([0, 1]), "fc")
    assert other.dtype == np.float32
    np.testing.assert_allclose(other.values, full, atol=1e-5 if dtype is torch.float64 else 0.03)


@pytest.mark.slow
def test_several_inputs_by_position_and_by_keyword(stimuli):
    class Indexed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Embedding.from_pretrained(torch.tensor([[1.0], [3.0]], dtype=torch.bfloat16))

        def forward(self, pixels, kind, *, power=1):
            assert pixels.dtype == torch.bfloat16 and kind.dtype == torch.int64
            return pixels.flatten(1) * self.scale(kind) * power

    def kinds(images):
        return np.arange(len(images)) % 2

    by_position = from_torch(Indexed(), "net", lambda images: (SIX(images), kinds(images)))
    by_keyword = from_torch(Indexed(), "net", lambda images: {"kind": kinds(images), "pixels": SIX(images)})
    plain = from_torch(torch.nn.Flatten().to(torch.bfloat16), "net", SIX)(stimuli([5, 6]), "output").values
    for model in (by_position, by_keyword):
        activations = model(stimuli([5, 6]), "output").values
        np.testing.assert_allclose(activations, plain * np.array([[1], [3]]), rtol=0.02)
    doubled = from_torch(Indexed(), "net", lambda images: (SIX(images), kinds(images)), arguments={"power": 2})
    np.testing.assert_array_equal(doubled(stimuli([5, 6]), "output").values, 2 * activations)


def test_pixels_of_a_byte_are_cast_and_a_module_without_parameters_takes_what_comes(stimuli):
    def as_bytes(images):
        return np.stack(images).transpose(0, 3, 1, 2)

    conv = torch.nn.Conv2d(3, 2, 1)
    with torch.no_grad():
        wanted = conv(torch.tensor(as_bytes(pixels_of(stimuli([0])))).float())
    np.testing.assert_allclose(
        from_torch(conv, "net", as_bytes)(stimuli([0]), "output").values,
        wanted.flatten(1).numpy(),
        rtol=1e-5,
        atol=1e-5,
    )
    kept = from_torch(Calls(lambda self, x: x + x), "net", as_bytes)(stimuli([0]), "output").values
    assert kept.max() < 256  # uint8 wraps around


@pytest.mark.parametrize("compile", ["whole", "part", "in place"])
def test_a_compiled_module_has_the_layers_and_the_activations_of_the_original(stimuli, compile):
    original = trained_statistics(small_net())
    compiled = trained_statistics(small_net())
    if compile == "whole":
        compiled = torch.compile(compiled, backend=broken)
    elif compile == "part":
        compiled.block = torch.compile(compiled.block, backend=broken)
    else:
        compiled.compile(backend=broken)
    ours, theirs = (from_torch(net, "net", SIX) for net in (compiled, original))
    assert ours.layers() == theirs.layers()
    layers = ["conv1", "block.0", "block", "output"]
    np.testing.assert_array_equal(ours(stimuli([0, 1]), layers).values, theirs(stimuli([0, 1]), layers).values)


def test_the_digest_knows_what_torch_is_set_to():
    network, batch = TorchNetwork(small_net(), "net"), np.zeros((2, 3, 6, 6), np.float32)
    before = network.digest(batch)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert network.digest(batch) != before
    assert TorchNetwork(small_net(), "net", arguments={"power": 2}).digest(batch) != before
    module = small_net()
    assert TorchNetwork(module, "net").digest(batch) == network.digest(batch) == before
    torch.set_default_dtype(torch.float64)
    try:
        # A network runs with the default dtype of when it was made.
        assert TorchNetwork(module, "net").digest(batch) != network.digest(batch) == before
    finally:
        torch.set_default_dtype(torch.float32)


def broken(graph, inputs):
    raise AssertionError("compiled")


def test_weights_are_read_when_the_module_runs(stimuli):
    net = small_net()
    model = from_torch(net, "net", SIX)
    before = model(stimuli([0]), "fc").values
    with torch.no_grad():
        net.fc.bias += 1
    np.testing.assert_allclose(model(stimuli([0]), "fc").values, before + 1, atol=1e-6)


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
@pytest.mark.parametrize(
    ("around", "which"),
    [(lambda net: net, "it"), (lambda net: torch.nn.Sequential(torch.nn.ReLU(), net), "part '1' of")],
)
def test_a_scripted_module_is_refused_in_one_line(around, which):
    scripted = torch.jit.script(torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3)))
    with pytest.raises(ValueError, match=f"layers of model 'net': {which}.* is a TorchScript module.*it was made from"):
        from_torch(around(scripted), "net", SIX)


@pytest.mark.parametrize("kept", [False, True])
def test_a_layer_that_does_not_run_for_every_batch(stimuli, tmp_path, kept):
    def some(self, x):
        """The first of all batches has it, and so has that of the images of the same brightness."""
        return self.bright(x) if x.mean() > self.least else x

    batches = [SIX(pixels_of(stimuli([n]))).mean() for n in range(4)]
    brightest = int(np.argmax(batches))
    darker = next(n for n in range(4) if n != brightest)
    net = Calls(some, bright=torch.nn.Flatten())
    net.least = float(np.sort(batches)[-2:].mean())
    cache = ActivationCache(tmp_path) if kept else None
    model = from_torch(net, "net", SIX, cache=cache, batch_size=1)
    line = f"layer 'bright' of model 'net' gives no output for the batch that begins with stimulus '1-image{darker}', "
    with pytest.raises(ValueError, match=line + "though it does for others: choose a layer that runs"):
        model(stimuli([brightest, darker]), ["bright"])
    assert model(stimuli([brightest]), "bright").shape == (1, 108)


def test_tokens_as_many_as_images_are_not_taken_for_them(stimuli):
    tokens = Calls(lambda net, x: net.layer(x.flatten(2).permute(2, 0, 1)).mean(0), layer=torch.nn.Identity())
    model = from_torch(tokens, "net", imagenet_preprocessing(2), cache=None, batch_size=4)
    with pytest.raises(ValueError, match="layer 'layer' .* the first axis must be the image"):
        model(stimuli(range(8)), "layer")
    assert model(stimuli(range(8)), "output").shape == (8, 3)


def keeps_a_tuple(net, x):
    net.held = net.cell(x.mean((2, 3)), net.held)
    return net.held[0]


def makes_a_table_once(net, x):
    x = x.flatten(2)
    if x.shape[1] > net.held:
        net.held, net.table = x.shape[1], torch.arange(x.shape[1]) / 10.0
    return x * net.table[:, None]


def makes_a_buffer_once(net, x):
    if not net.held:
        net.register_buffer("table", torch.ones(1))
        net.held = True
    return x * net.table


def builds_itself_once(net, x):
    if not net.held:
        net.layer, net.held = torch.nn.Linear(3, 2), True
    return net.layer(x.mean((2, 3)))


@pytest.mark.parametrize(
    ("function", "held"),
    [(keeps_a_tuple, None), (makes_a_table_once, 0), (makes_a_buffer_once, False), (builds_itself_once, False)],
)
def test_every_batch_starts_from_the_same_state(stimuli, function, held):
    net = Calls(function, cell=torch.nn.LSTMCell(3, 2))
    net.held = held
    model, shown = from_torch(net, "net", SIX, cache=None, batch_size=2), stimuli(range(5))
    model.layers()
    first, second = (model(shown, ["output"]).values for _ in range(2))
    np.testing.assert_array_equal(first, second)
    alone = from_torch(net, "net", SIX, cache=None, batch_size=1)(shown, ["output"])
    np.testing.assert_allclose(alone.values, first, atol=1e-6)


def test_parameters_are_counted_once():
    net = small_net()
    net.add_module("shared", net.fc)
    assert from_torch(net, "net", SIX).n_parameters == (3 * 9 + 1) * 4 + 2 * 4 + (4 * 9 + 1) * 5 + (5 + 1) * 7
