"""flax modules, nnx and linen."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from bsjax.adapters import from_flax, imagenet_preprocessing
from tests.adapters.conftest import pixels_of

SIX = imagenet_preprocessing(6, "NHWC")


class InheritsItsCall(nnx.Conv):
    pass


class Block(nnx.Module):
    def __init__(self, width, rngs):
        self.dense = nnx.Linear(width, width, rngs=rngs)

    def __call__(self, x):
        return jnp.tanh(self.dense(x))


class Net(nnx.Module):
    def __init__(self, rngs):
        self.conv = InheritsItsCall(3, 4, (3, 3), rngs=rngs)
        self.bn = nnx.BatchNorm(4, rngs=rngs)
        self.blocks = nnx.List([Block(4, rngs) for _ in range(12)])
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.again = nnx.Linear(4, 4, rngs=rngs)
        self.unused = nnx.Linear(4, 4, rngs=rngs)

    def __call__(self, x):
        print("traced", x.shape)
        x = self.bn(self.conv(x))
        for block in self.blocks:
            x = block(x)
        x = self.drop(x).mean((1, 2))
        return self.again(self.again(x)), x


@pytest.fixture
def net():
    return Net(nnx.Rngs(0))


@pytest.fixture
def run(net):
    model = from_flax(net, "net", preprocess=SIX)
    return lambda shown, layer: model(shown, [layer]).values.reshape(-1, *model.layers()[layer])


def test_nnx_layers_in_the_order_of_their_computation(net):
    layers = from_flax(net, "net", preprocess=SIX).layers()
    blocks = [name for n in range(12) for name in (f"blocks.{n}.dense", f"blocks.{n}")]
    assert list(layers) == ["conv", "bn", *blocks, "drop", "again", "output", "output.1"]
    assert layers["conv"] == layers["blocks.11"] == (6, 6, 4) and layers["output"] == (4,)


@pytest.mark.slow
def test_nnx_activations_follow_from_one_another(net, run, stimuli):
    shown = stimuli([0, 5, 2])
    bn = run(shown, "bn")
    np.testing.assert_allclose(bn, run(shown, "conv") / np.sqrt(1 + 1e-5), rtol=1e-5)  # fresh statistics
    np.testing.assert_allclose(run(shown, "blocks.0.dense"), net.blocks[0].dense(bn), atol=1e-5)
    np.testing.assert_allclose(run(shown, "blocks.0"), np.tanh(run(shown, "blocks.0.dense")), atol=1e-5)
    np.testing.assert_array_equal(run(shown, "drop"), run(shown, "blocks.11"))  # evaluation: no dropout
    last_call = net.again(net.again(run(shown, "drop").mean((1, 2))))
    np.testing.assert_allclose(run(shown, "again"), last_call, atol=1e-6)
    np.testing.assert_array_equal(run(shown, "output"), run(shown, "again"))
    np.testing.assert_allclose(run(shown, "output.1"), run(shown, "drop").mean((1, 2)), atol=1e-6)


def test_an_nnx_module_is_not_changed(net, stimuli):
    net.train()
    classes = {path: type(part) for path, part in nnx.iter_modules(net)}
    structure, before = nnx.split(net)
    from_flax(net, "net", preprocess=SIX)(stimuli([0, 1]), ["bn", "output"])
    assert {path: type(part) for path, part in nnx.iter_modules(net)} == classes
    structure_after, after = nnx.split(net)
    assert structure_after == structure
    assert not net.bn.use_running_average and not net.drop.deterministic
    jax.tree.map(np.testing.assert_array_equal, jax.tree.map(plain, before), jax.tree.map(plain, after))


def plain(leaf):
    return np.asarray(jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf)


def test_weights_are_read_when_the_module_runs_without_compiling_again(net, stimuli, capsys):
    model = from_flax(net, "net", preprocess=SIX, batch_size=2, cache=None)
    before = model(stimuli([0, 1, 2]), ["again"]).values
    net.again.bias[...] += 1
    after = model(stimuli([0, 1, 2]), ["again"]).values
    np.testing.assert_allclose(after, before + np.asarray(net.again.kernel.sum(0)) + 1, atol=1e-5)
    assert capsys.readouterr().out.count("traced") == 1


def test_modules_inside_nnx_transformations(stimuli):
    class Remat(nnx.Module):
        def __init__(self, rngs):
            self.first, self.second = Block(3, rngs), Block(3, rngs)

        def __call__(self, x):
            x = nnx.remat(lambda module, x: module(x))(self.first, x)
            return nnx.jit(lambda module, x: module(x))(self.second, x)

    net = Remat(nnx.Rngs(0))
    model = from_flax(net, "net", preprocess=SIX)
    assert list(model.layers()) == ["first.dense", "first", "second.dense", "second", "output"]
    activations = model(stimuli([0]), ["first", "second"])
    first = activations.sel(layer="first").values.reshape(6, 6, 3)
    second = activations.sel(layer="second").values.reshape(6, 6, 3)
    np.testing.assert_allclose(second, net.second(first), atol=1e-6)


def test_an_nnx_submodule_may_be_called_output():
    class Named(nnx.Module):
        def __init__(self, rngs):
            self.output = nnx.Linear(3, 2, rngs=rngs)

        def __call__(self, x):
            return self.output(x).mean((1, 2))

    assert from_flax(Named(nnx.Rngs(0)), "net", preprocess=SIX).layers() == {"output": (6, 6, 2)}


class LinenBlock(nn.Module):
    @nn.compact
    def __call__(self, x):
        return {"hidden": jnp.tanh(nn.Dense(4)(x)), "also": x}


class LinenNet(nn.Module):
    @nn.compact
    def __call__(self, x, train=True):
        x = nn.Conv(4, (3, 3), name="conv")(x)
        x = nn.BatchNorm(use_running_average=not train)(x)
        x = LinenBlock(name="block")(x)["hidden"]
        dense = nn.Dense(4, name="again")
        return dense(dense(nn.Dropout(0.5, deterministic=not train)(x).mean((1, 2))))


@pytest.fixture
def linen():
    net = LinenNet()
    return net, net.init(jax.random.key(0), jnp.ones((1, 6, 6, 3)), train=False)


@pytest.mark.slow
def test_linen(linen, stimuli):
    net, variables = linen
    model = from_flax(net, "net", variables=variables, preprocess=SIX, arguments={"train": False}, batch_size=2)
    assert model.layers() == {
        "conv": (6, 6, 4),
        "BatchNorm_0": (6, 6, 4),
        "block.Dense_0": (6, 6, 4),
        "block": (6, 6, 4),
        "block.also": (6, 6, 4),
        "Dropout_0": (6, 6, 4),
        "again": (4,),
        "output": (4,),
    }
    shown = stimuli([0, 1, 2])
    batch = SIX(pixels_of(shown))
    activations = model(shown, ["block.Dense_0", "block", "again", "output"])
    np.testing.assert_allclose(
        activations.sel(layer="output").values, net.apply(variables, batch, train=False), atol=1e-6
    )
    np.testing.assert_array_equal(activations.sel(layer="again"), activations.sel(layer="output"))
    np.testing.assert_array_equal(model(shown, "block.also").values, model(shown, "BatchNorm_0").values)
    dense, block = activations.sel(layer="block.Dense_0").values, activations.sel(layer="block").values
    np.testing.assert_allclose(block, np.tanh(dense), atol=1e-6)
