"""A random convolutional network in plain JAX, as a baseline for generic non-linear features."""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from bsjax.adapters import from_jax, unit_preprocessing
from bsjax.models.builtin.any_region import AnyRegion

_SIZE = 64
_CHANNELS = (16, 32, 64)
_GRID = 8
_REGIONS = {"V1": "block0", "V2": "block1", "V4": "block1", "IT": "block2"}


def random_network(seed: int = 0) -> AnyRegion:
    """Three 5 x 5 convolutions with stride two, each followed by a ReLU, with random weights.

    Images are resized to 64 x 64 pixels. The layers ``block0`` to ``block2`` have 16, 32 and 64 channels, averaged to
    8 x 8 positions. They are mapped to V1; V2 and V4; and IT and all other regions. Weights come from He
    initialisation. Unlike ``vit-random``, it needs no other library.

    Args:
        seed: for the weights; another seed gives another model, with the seed in its identifier.

    Example:
        >>> random_network().activations_model.layers()
        {'block0': (8, 8, 16), 'block1': (8, 8, 32), 'block2': (8, 8, 64)}
    """
    identifier = "random-network" if seed == 0 else f"random-network-{seed}"
    activations = from_jax(blocks, identifier, preprocess=unit_preprocessing(_SIZE), parameters=random_weights(seed))
    layers = [f"block{number}" for number in range(len(_CHANNELS))]
    return AnyRegion(identifier, activations, layers=layers, region_layer_map=_REGIONS)


def random_weights(seed: int) -> list[jax.Array]:
    """Filters of each convolution, ``(5, 5, channels in, channels out)``.

    Example:
        >>> [weights.shape for weights in random_weights(0)]
        [(5, 5, 3, 16), (5, 5, 16, 32), (5, 5, 32, 64)]
    """
    rng = np.random.RandomState(seed)
    shapes = [(5, 5, *widths) for widths in zip((3, *_CHANNELS), _CHANNELS, strict=False)]
    return [jnp.asarray(rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[:3])), jnp.float32) for shape in shapes]


def blocks(filters: Sequence[jax.Array], images: jax.Array) -> dict[str, jax.Array]:
    """The output of each convolution, averaged to 8 x 8 positions.

    Args:
        filters: from :func:`random_weights`.
        images: RGB in [0, 1], ``(images, pixels, pixels, 3)``.
    """
    made, x = {}, 2 * images - 1
    for number, weights in enumerate(filters):
        x = jax.nn.relu(
            jax.lax.conv_general_dilated(
                x, weights, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), precision="highest"
            )
        )
        n, side, _, channels = x.shape
        places = x.reshape(n, _GRID, side // _GRID, _GRID, side // _GRID, channels)
        made[f"block{number}"] = places.mean((2, 4))
    return made
