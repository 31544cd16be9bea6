"""The same architecture with the same weights, in torch and in flax."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from bsjax.adapters import from_flax, from_torch, imagenet_preprocessing

torch = pytest.importorskip("torch")

SIZE = 24


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


def give_weights(theirs, ours):
    """Copy the weights of a torch module into a flax module whose parts have the same names."""

    def array(tensor):
        return jnp.asarray(tensor.detach().numpy())

    for name, part in list(theirs.named_modules())[1:]:
        twin = getattr(ours, name)
        if isinstance(part, torch.nn.Conv2d):
            twin.kernel[...] = array(part.weight.permute(2, 3, 1, 0))
        elif isinstance(part, torch.nn.Linear):
            twin.kernel[...] = array(part.weight.T)
        else:
            twin.scale[...] = array(part.weight)
            twin.mean[...], twin.var[...] = array(part.running_mean), array(part.running_var)
        twin.bias[...] = array(part.bias)
    return ours


LAYERS = ["conv1", "bn", "conv2", "fc", "output"]


@pytest.mark.slow
def test_activations_agree_layer_by_layer(stimuli):
    torch.manual_seed(0)
    module = TorchConv()
    in_torch = from_torch(module, "net", imagenet_preprocessing(SIZE), batch_size=5, cache=None)
    nhwc = imagenet_preprocessing(SIZE, "NHWC")
    twin = give_weights(module, FlaxConv(nnx.Rngs(0)))
    in_flax = from_flax(twin, "net", preprocess=nhwc, batch_size=5, cache=None)
    shown = stimuli(list(range(12)))
    ours, theirs = in_torch(shown, LAYERS), in_flax(shown, LAYERS)
    for layer in LAYERS:
        shape = in_torch.layers()[layer]
        values = ours.sel(layer=layer).values.reshape(12, *shape)
        if len(shape) == 3:  # channels last
            values = values.transpose(0, 2, 3, 1)
        found = theirs.sel(layer=layer).values
        np.testing.assert_allclose(values.reshape(12, -1), found, atol=1e-5, err_msg=layer)
        assert found.std() > 0.01
