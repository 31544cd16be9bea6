"""Identities of networks: all that decides the activations changes them, and nothing else."""

import functools
import os
import textwrap
import unittest.mock

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from bsjax.adapters import from_flax
from bsjax.adapters.jax.network import JaxNetwork
from bsjax.adapters.torch.content import torch_identity
from bsjax.adapters.torch.network import TorchNetwork
from bsjax.core.digests.arrays import Undigestible
from tests.support.paths import REPOSITORY
from tests.support.processes import printed_by

torch = pytest.importorskip("torch")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.bn = torch.nn.BatchNorm2d(4)
        self.unregistered = [torch.nn.Linear(2, 2)]
        self.gain, self.activation = 2.0, torch.nn.functional.relu
        self.device, self.calls, self.last, self.tail = "cpu", 0, None, None
        self.register_buffer("offset", torch.ones(2), persistent=False)

    def forward(self, x):
        self.calls += 1
        self.last = x
        x = self.activation(self.bn(self.conv(x * self.gain)))
        self.tail = x
        return self.scaled(self.tail)

    def scaled(self, x):
        return x * 1.0


class Other(Net):
    def scaled(self, x):
        return x * 1.5


def identity(net):
    return TorchNetwork(net, "net").digest(np.ones((1, 3, 4, 4), np.float32))


def changed(change):
    made = Net()
    change(made)
    return identity(made)


@pytest.mark.slow
def test_what_does_not_change_a_torch_network():
    before = identity(Net())
    assert before == identity(Net()) == changed(torch.nn.Module.eval) == changed(torch.nn.Module.train)
    assert before == changed(lambda net: net.conv.eval()) == changed(lambda net: net.requires_grad_(False))
    assert before == changed(lambda net: setattr(net, "device", "cuda:1"))
    assert before == changed(lambda net: net.to(memory_format=torch.channels_last))
    assert before == changed(lambda net: net.eval()(torch.ones(1, 3, 4, 4)))  # counts, and keeps what it saw
    assert before == identity(torch.compile(Net(), backend="eager"))
    assert before == changed(lambda net: setattr(net, "conv", torch.compile(net.conv, backend="eager")))
    assert before == changed(lambda net: net.compile(backend="eager"))
    assert before == changed(lambda net: net.conv.register_forward_hook(lambda *_: None).remove())


CHANGES = {
    "weight": lambda net: net.conv.weight.data[0, 0, 0].fill_(0.125),
    "buffer": lambda net: net.bn.running_var.mul_(2),
    "buffer that is not saved": lambda net: net.offset.add_(1),
    "stride": lambda net: setattr(net.conv, "stride", (2, 2)),
    "constant": lambda net: setattr(net, "gain", 2.5),
    "function": lambda net: setattr(net, "activation", torch.tanh),
    "module in a list": lambda net: net.unregistered[0].bias.data.add_(1),
    "double precision": lambda net: net.double(),
    "half precision": lambda net: net.bfloat16(),
    "submodule": lambda net: setattr(net, "bn", torch.nn.Identity()),
    "hook": lambda net: net.conv.register_forward_hook(lambda module, inputs, output: output * 2),
    "hook before": lambda net: net.register_forward_pre_hook(lambda module, inputs: inputs),
    "method of its own": lambda net: setattr(net, "scaled", lambda x: x),
}


@pytest.mark.slow
def test_what_changes_a_torch_network():
    digests = {"": identity(Net()), "class": identity(Other())}
    digests |= {name: changed(change) for name, change in CHANGES.items()}
    assert len(set(digests.values())) == len(digests)


def own(*inputs, **options):
    return inputs[-1] * 1.5


def code_of_own(patch):
    patch.setattr(torch.nn.functional.relu, "__code__", own.__code__)


PATCHES = {
    "a function": lambda patch: patch.setattr(torch.nn.functional, "relu", own),
    "a function of C": lambda patch: patch.setattr(torch, "relu", own),
    "one function for another": lambda patch: patch.setattr(torch.nn.functional, "relu", torch.nn.functional.gelu),
    "one of C for another": lambda patch: patch.setattr(torch, "relu", torch.tanh),
    "the code of a function": code_of_own,
    "a partial function": lambda patch: patch.setattr(torch.nn.functional, "relu", functools.partial(own, 2)),
    "a method": lambda patch: patch.setattr(torch.nn.ReLU, "forward", own),
    "a method of tensors": lambda patch: patch.setattr(torch.Tensor, "relu", own, raising=False),
    "a class": lambda patch: patch.setattr(torch.nn, "ReLU", Other),
    "a hook on all modules": lambda patch: patch.setitem(
        torch.nn.modules.module._global_forward_hooks, -1, lambda module, inputs, output: output * 2
    ),
}


class Calls(torch.nn.Module):
    def forward(self, x):
        return torch.nn.functional.relu(x)


@pytest.mark.slow
@pytest.mark.parametrize("made", [lambda: torch.nn.Sequential(torch.nn.ReLU()), Calls])
def test_changes_made_to_torch_itself(made, monkeypatch):
    digests = {"": torch_identity(made())}
    for name, change in PATCHES.items():
        with monkeypatch.context() as patch:
            change(patch)
            digests[name] = torch_identity(made())
        assert torch_identity(made()) == digests[""], name
    with unittest.mock.patch.object(torch.nn.functional, "relu"):
        digests["a mock"] = torch_identity(made())
    assert len(set(digests.values())) == len(digests)


@pytest.mark.slow
def test_modules_of_torch_itself():
    made = [
        lambda: torch.nn.LSTM(3, 4),
        lambda: torch.nn.TransformerEncoderLayer(8, 2, 8),
        lambda: torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3)),
        lambda: torch.fx.symbolic_trace(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())),
        lambda: torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Dropout(0.5)),
    ]
    digests = []
    for make in made:
        for _ in range(2):
            torch.manual_seed(0)
            digests.append(torch_identity(make()))
    assert digests[::2] == digests[1::2] and len(set(digests)) == len(made)


def test_graphs_differ_by_what_they_compute():
    def traced(function):
        return torch.fx.symbolic_trace(type("Own", (torch.nn.Module,), {"forward": function})())

    first, second = traced(lambda self, x: x + 1), traced(lambda self, x: x + 2)
    assert torch_identity(first) != torch_identity(second)


def test_what_nothing_vouches_for_is_named(tmp_path):
    with open(tmp_path / "file", "w") as file:
        with pytest.raises(Undigestible, match="content of a TextIOWrapper .*'log', of 'attributes', of 'conv'"):
            changed(lambda net: setattr(net.conv, "log", file))


@pytest.mark.slow
def test_another_process_and_another_line(tmp_path):
    (tmp_path / "net.py").write_text(
        textwrap.dedent("""
        import torch
        from helpers import helper
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(0)
                self.fc = torch.nn.Linear(3, 4)
            def forward(self, x):
                return helper(self.fc(x))
    """)
    )
    (tmp_path / "helpers.py").write_text("def helper(x):\n    return x * 2\n")
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent("""
        import sys
        from pathlib import Path
        import jax, numpy as np, net
        from bsjax.adapters import from_jax
        from bsjax.adapters.torch.content import torch_identity
        def function(parameters, batch):
            table = np.arange(3, dtype=np.float32)
            back = jax.pure_callback(lambda x: x + 1, jax.ShapeDtypeStruct(batch.shape, batch.dtype), batch)
            summed = jax.lax.scan(lambda c, x: (c + x, c), 0., batch[0])[1]
            return {"out": jax.nn.gelu(back @ parameters) + table, "all": summed}
        ones = np.ones((3, 3), np.float32)
        print(torch_identity(net.Net()), from_jax(function, "net", parameters=ones).recipe_digest())
        helpers = Path(__file__).with_name("helpers.py")
        helpers.write_text(helpers.read_text().replace("2", sys.argv[1]))
        del sys.modules["net"], sys.modules["helpers"]
        import net
        print(torch_identity(net.Net()))
    """)
    )

    def run(seed, factor):
        path = os.pathsep.join([str(tmp_path), str(REPOSITORY)])
        elsewhere = {"PYTHONHASHSEED": seed, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
        return printed_by(script, factor, **elsewhere).split()

    *first, edited_not = run("1", "2")
    *second, edited = run("2", "3")
    assert first == second and edited_not == first[0] != edited


WEIGHTS = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def closing_over(table, factor=2.0, offset=1):
    """A function with constants of all kinds: an array, a number, a host function."""
    table = jnp.asarray(table)

    def function(parameters, batch):
        hidden = jax.nn.relu(batch @ parameters["w"]) * factor
        host = jax.pure_callback(lambda x: x + offset, jax.ShapeDtypeStruct(hidden.shape, hidden.dtype), hidden)
        return {"host": host, "inner": jax.jit(lambda x: x @ table.T)(hidden)}

    return function


def of_jax(function, parameters=None):
    return JaxNetwork(function, lambda: (None, parameters or {"w": jnp.ones((5, 3))}), "net", lambda: function).digest(
        None
    )


def test_what_changes_a_jax_network_and_what_does_not():
    before = of_jax(closing_over(WEIGHTS))
    assert before == of_jax(closing_over(WEIGHTS.copy())) == of_jax(closing_over(jnp.asarray(WEIGHTS)))
    table = WEIGHTS.copy()
    table[3, 2] += 1e-3
    w = jnp.ones((5, 3))
    others = {
        "": before,
        "table": of_jax(closing_over(table)),
        "number": of_jax(closing_over(WEIGHTS, factor=2.5)),
        "host": of_jax(closing_over(WEIGHTS, offset=2)),
        "weight": of_jax(closing_over(WEIGHTS), {"w": w.at[4, 2].set(2)}),
        "name": of_jax(closing_over(WEIGHTS), {"v": w}),
        "width": of_jax(closing_over(WEIGHTS), {"w": jnp.ones((6, 3))}),
        "layer": of_jax(lambda *arguments: {"other": closing_over(WEIGHTS)(*arguments)["host"]}),
        "jitted": of_jax(jax.jit(closing_over(WEIGHTS))),
    }
    assert len(set(others.values())) == len(others)


@pytest.mark.parametrize("kind", ["torch", "jax"])
def test_a_version_vouches_for_the_code_and_not_for_the_weights(kind, tmp_path):
    with open(tmp_path / "file", "w") as file:

        def digest(weight, version):
            if kind == "jax":
                made = closing_over(WEIGHTS, offset=file)
                parameters = {"w": jnp.full((5, 3), weight)}
                return JaxNetwork(made, lambda: (None, parameters), "net", lambda: made).digest(None, version)
            net = torch.nn.Linear(2, 2)
            torch.nn.init.constant_(net.weight, weight)
            torch.nn.init.zeros_(net.bias)
            net.log = file
            return TorchNetwork(net, "net").digest(np.ones((2, 2), np.float32), version)

        assert digest(1.0, "1") == digest(1.0, "1")
        assert len({digest(1.0, "1"), digest(1.0, "2"), digest(2.0, "1")}) == 3
        with pytest.raises(Undigestible):
            digest(1.0, None)


@pytest.mark.slow
def test_flax_modules():
    def digest(**changes):
        options = {"features": 6, "epsilon": 1e-6, "seed": 0, **changes}

        class Own(nnx.Module):
            def __init__(self, rngs):
                self.fc = nnx.Linear(3, options["features"], rngs=rngs)
                self.norm = nnx.LayerNorm(options["features"], epsilon=options["epsilon"], rngs=rngs)
                self.drop = nnx.Dropout(0.5, rngs=rngs)

            def __call__(self, x):
                return self.drop(self.norm(self.fc(x)))

        return from_flax(Own(nnx.Rngs(options["seed"])), "net").recipe_digest()

    assert digest() == digest() is not None
    assert len({digest(), digest(features=7), digest(epsilon=1e-3), digest(seed=1)}) == 4
