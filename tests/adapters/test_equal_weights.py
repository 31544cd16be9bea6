"""The same architecture with the same weights, in torch and in flax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import bsjax
from bsjax.adapters import from_flax, from_torch, imagenet_preprocessing

torch = pytest.importorskip("torch")

SIZE, WIDTH, HEADS, PATCH = 24, 24, 3, 8


class TorchConv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.bn = torch.nn.BatchNorm2d(4)
        self.conv2 = torch.nn.Conv2d(4, 5, 3, stride=2)
        self.fc = torch.nn.Linear(5, 7)
        self.bn.running_mean.copy_(torch.tensor([0.1, -0.2, 0.3, 0.0]))
        self.bn.running_var.copy_(torch.tensor([0.5, 1.5, 2.0, 1.0]))

    def forward(self, x):
        x = torch.relu_(self.bn(self.conv1(x)))
        x = torch.tanh(self.conv2(torch.nn.functional.max_pool2d(x, 2)))
        return self.fc(x.mean((2, 3)))


class FlaxConv(nnx.Module):
    def __init__(self, rngs):
        self.conv1 = nnx.Conv(3, 4, (3, 3), padding=1, rngs=rngs)
        self.bn = nnx.BatchNorm(4, epsilon=1e-5, rngs=rngs)
        self.conv2 = nnx.Conv(4, 5, (3, 3), strides=2, padding="VALID", rngs=rngs)
        self.fc = nnx.Linear(5, 7, rngs=rngs)

    def __call__(self, x):
        x = nnx.max_pool(nnx.relu(self.bn(self.conv1(x))), (2, 2), strides=(2, 2))
        return self.fc(jnp.tanh(self.conv2(x)).mean((1, 2)))


class TorchBlock(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = torch.nn.LayerNorm(WIDTH), torch.nn.LayerNorm(WIDTH)
        self.qkv, self.proj = torch.nn.Linear(WIDTH, 3 * WIDTH), torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        n, tokens, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).reshape(n, tokens, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        seen = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        x = x + self.proj(seen.reshape(n, tokens, WIDTH))
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm2(x))))


class FlaxBlock(nnx.Module):
    def __init__(self, rngs):
        self.norm1, self.norm2 = (nnx.LayerNorm(WIDTH, epsilon=1e-5, rngs=rngs) for _ in range(2))
        self.qkv, self.proj = nnx.Linear(WIDTH, 3 * WIDTH, rngs=rngs), nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.up, self.down = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs), nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)

    def __call__(self, x):
        n, tokens, _ = x.shape
        q, k, v = jnp.moveaxis(self.qkv(self.norm1(x)).reshape(n, tokens, 3, HEADS, -1), 2, 0)
        x = x + self.proj(jax.nn.dot_product_attention(q, k, v).reshape(n, tokens, WIDTH))
        return x + self.down(jax.nn.gelu(self.up(self.norm2(x)), approximate=False))


class TorchViT(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = torch.nn.Conv2d(3, WIDTH, PATCH, stride=PATCH)
        self.blocks = torch.nn.ModuleList(TorchBlock() for _ in range(3))

    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return x.mean(1)


class FlaxViT(nnx.Module):
    def __init__(self, rngs):
        self.patch = nnx.Conv(3, WIDTH, (PATCH, PATCH), strides=PATCH, padding="VALID", rngs=rngs)
        self.blocks = nnx.List([FlaxBlock(rngs) for _ in range(3)])

    def __call__(self, x):
        x = self.patch(x).reshape(len(x), -1, WIDTH)
        for block in self.blocks:
            x = block(x)
        return x.mean(1)


def give_weights(theirs, ours):
    """Copy the weights of a torch module into a flax module whose parts have the same names."""

    def array(tensor):
        return jnp.asarray(tensor.detach().numpy())

    for name, part in theirs.named_modules():
        twin = ours
        for key in filter(None, name.split(".")):
            twin = twin[int(key)] if key.isdigit() else getattr(twin, key)
        if isinstance(part, torch.nn.Conv2d):
            twin.kernel[...] = array(part.weight.permute(2, 3, 1, 0))
        elif isinstance(part, torch.nn.Linear):
            twin.kernel[...] = array(part.weight.T)
        elif isinstance(part, (torch.nn.BatchNorm2d, torch.nn.LayerNorm)):
            twin.scale[...] = array(part.weight)
        else:
            continue
        twin.bias[...] = array(part.bias)
        if isinstance(part, torch.nn.BatchNorm2d):
            twin.mean[...], twin.var[...] = array(part.running_mean), array(part.running_var)
    return ours


CONV_LAYERS = ["conv1", "bn", "conv2", "fc", "output"]
VIT_LAYERS = [
    "patch",
    *(f"blocks.{n}{part}" for n in range(3) for part in ("", ".qkv", ".proj", ".up", ".norm2")),
    "output",
]


def twins(in_torch, in_flax):
    torch.manual_seed(0)
    module = in_torch()
    ours = from_torch(module, "net", imagenet_preprocessing(SIZE), batch_size=5, cache=None)
    nhwc = imagenet_preprocessing(SIZE, "NHWC")
    theirs = from_flax(give_weights(module, in_flax(nnx.Rngs(0))), "net", preprocess=nhwc, batch_size=5, cache=None)
    return ours, theirs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("in_torch", "in_flax", "layers"), [(TorchConv, FlaxConv, CONV_LAYERS), (TorchViT, FlaxViT, VIT_LAYERS)]
)
def test_activations_agree_layer_by_layer(stimuli, in_torch, in_flax, layers):
    ours, theirs = twins(in_torch, in_flax)
    shown = stimuli(list(range(12)))
    in_torch_order, in_flax_order = ours(shown, layers), theirs(shown, layers)
    for layer in layers:
        shape = ours.layers()[layer]
        values = in_torch_order.sel(layer=layer).values.reshape(12, *shape)
        if len(shape) == 3:  # channels last
            values = values.transpose(0, 2, 3, 1)
        found = in_flax_order.sel(layer=layer).values
        np.testing.assert_allclose(values.reshape(12, -1), found, atol=1e-5, err_msg=layer)
        assert found.std() > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    ("in_torch", "in_flax", "layer"), [(TorchConv, FlaxConv, "conv2"), (TorchViT, FlaxViT, "blocks.2")]
)
def test_scores_agree(in_torch, in_flax, layer):
    ours, theirs = (
        float(bsjax.score(bsjax.ModelCommitment("net", net, region_layer_map={"V1": layer}), "Simulated.V1-ridge"))
        for net in twins(in_torch, in_flax)
    )
    assert abs(ours - theirs) < 1e-4 * min(abs(ours), 1)
