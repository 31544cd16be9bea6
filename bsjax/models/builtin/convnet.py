"""A small convolutional network with random weights, as a baseline for the architecture alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bsjax.adapters import from_flax, imagenet_preprocessing
from bsjax.core.extras import import_extra
from bsjax.models.commitment import ModelCommitment

if TYPE_CHECKING:
    from flax import nnx

_SIZE = 96
_REGIONS = {"V1": "blocks.0", "V2": "blocks.1", "V4": "blocks.2", "IT": "blocks.3"}


def convnet_random(seed: int = 0) -> ModelCommitment:
    """Four blocks of convolution, ReLU and max pooling in flax, with random weights from He initialisation.

    Images are resized to 96 x 96 pixels and standardised as for ImageNet; the visual field is 8 degrees. Blocks 0 to 3
    have 16, 32, 64 and 128 channels, and each halves the resolution. They are mapped to V1, V2, V4 and IT. Nothing is
    trained.

    Args:
        seed: for the weights; another seed gives another model, with the seed in its identifier.

    Raises:
        ImportError: flax is not installed.

    Example:
        >>> convnet_random().activations_model.layers()["blocks.3"]
        (6, 6, 128)
    """
    identifier = "convnet-random" if seed == 0 else f"convnet-random-{seed}"
    activations = from_flax(make_convnet(seed), identifier, preprocess=imagenet_preprocessing(_SIZE, layout="NHWC"))
    return ModelCommitment(identifier, activations, layers=list(_REGIONS.values()), region_layer_map=_REGIONS)


def make_convnet(seed: int = 0, channels: tuple[int, ...] = (16, 32, 64, 128)) -> nnx.Module:
    """The network of :func:`convnet_random`, from ``(images, height, width, 3)`` to the last block's output.

    Example:
        >>> import jax.numpy as jnp
        >>> make_convnet(channels=(4,))(jnp.zeros((1, 8, 8, 3))).shape
        (1, 4, 4, 4)
    """
    import_extra("flax.nnx", "flax")
    from flax import nnx

    class Block(nnx.Module):
        def __init__(self, n_in: int, n_out: int, side: int, rngs: nnx.Rngs) -> None:
            he = nnx.initializers.he_normal()
            self.conv = nnx.Conv(n_in, n_out, (side, side), kernel_init=he, rngs=rngs)

        def __call__(self, images):
            return nnx.max_pool(nnx.relu(self.conv(images)), (2, 2), strides=(2, 2))

    class ConvNet(nnx.Module):
        def __init__(self, rngs: nnx.Rngs) -> None:
            widths = zip((3, *channels), channels, strict=False)
            self.blocks = nnx.List(
                [Block(n_in, n_out, 5 if n == 0 else 3, rngs) for n, (n_in, n_out) in enumerate(widths)]
            )

        def __call__(self, images):
            for block in self.blocks:
                images = block(images)
            return images

    return ConvNet(nnx.Rngs(seed))
