"""A small vision transformer with random weights, as a baseline for patches and attention alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bsjax.adapters import from_flax, imagenet_preprocessing
from bsjax.core.extras import import_extra
from bsjax.models.commitment import ModelCommitment

if TYPE_CHECKING:
    from flax import nnx

_SIZE, _PATCH = 96, 8
_BLOCKS = 6
_REGIONS = {"V1": "blocks.0", "V2": "blocks.1", "V4": "blocks.3", "IT": "blocks.5"}


def vit_random(seed: int = 0) -> ModelCommitment:
    """Six self-attention blocks over patches of 8 x 8 pixels, with random weights.

    Images are resized to 96 x 96 pixels and standardised as for ImageNet; the visual field is 8 degrees. There are 144
    patches of 0.67 degrees and a class token, with 96 features each and 4 heads. Blocks have layer normalisation
    before attention and before a two-layer perceptron of four times the width (Dosovitskiy et al. 2021). The candidate
    layers are the blocks; V1, V2, V4 and IT are mapped to blocks 0, 1, 3 and 5, by depth. Nothing is trained.

    Args:
        seed: for the weights; another seed gives another model, with the seed in its identifier.

    Raises:
        ImportError: flax is not installed.

    References:
        Dosovitskiy, A., et al. (2021). An image is worth 16x16 words: transformers for image recognition at scale.
        International Conference on Learning Representations.

    Example:
        >>> vit_random().activations_model.layers()["blocks.5"]
        (145, 96)
    """
    identifier = "vit-random" if seed == 0 else f"vit-random-{seed}"
    activations = from_flax(make_vit(seed), identifier, preprocess=imagenet_preprocessing(_SIZE, layout="NHWC"))
    layers = [f"blocks.{number}" for number in range(_BLOCKS)]
    return ModelCommitment(identifier, activations, layers=layers, region_layer_map=_REGIONS)


def make_vit(seed: int = 0, size: int = _SIZE, width: int = 96, n_blocks: int = _BLOCKS) -> nnx.Module:
    """The network of :func:`vit_random`, from ``(images, size, size, 3)`` to the features of the class token.

    Example:
        >>> import jax.numpy as jnp
        >>> make_vit(size=16, width=8, n_blocks=1)(jnp.zeros((1, 16, 16, 3))).shape
        (1, 8)
    """
    import_extra("flax.nnx", "flax")
    import jax.numpy as jnp
    from flax import nnx

    def position(rngs: nnx.Rngs, n_tokens: int) -> nnx.Param:
        return nnx.Param(nnx.initializers.truncated_normal(0.02)(rngs.params(), (1, n_tokens, width), jnp.float32))

    class Block(nnx.Module):
        def __init__(self, rngs: nnx.Rngs) -> None:
            self.norm1 = nnx.LayerNorm(width, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
            self.norm2 = nnx.LayerNorm(width, rngs=rngs)
            self.mlp = nnx.Sequential(
                nnx.Linear(width, 4 * width, rngs=rngs), nnx.gelu, nnx.Linear(4 * width, width, rngs=rngs)
            )

        def __call__(self, tokens):
            tokens = tokens + self.attention(self.norm1(tokens))
            return tokens + self.mlp(self.norm2(tokens))

    class VisionTransformer(nnx.Module):
        def __init__(self, rngs: nnx.Rngs) -> None:
            self.patches = nnx.Conv(3, width, (_PATCH, _PATCH), strides=(_PATCH, _PATCH), rngs=rngs)
            self.class_token = position(rngs, 1)
            self.positions = position(rngs, (size // _PATCH) ** 2 + 1)
            self.blocks = nnx.List([Block(rngs) for _ in range(n_blocks)])
            self.norm = nnx.LayerNorm(width, rngs=rngs)

        def __call__(self, images):
            patches = self.patches(images).reshape(len(images), -1, width)
            first = jnp.broadcast_to(self.class_token[...], (len(images), 1, width))
            tokens = jnp.concatenate([first, patches], axis=1) + self.positions[...]
            for block in self.blocks:
                tokens = block(tokens)
            return self.norm(tokens)[:, 0]

    return VisionTransformer(nnx.Rngs(seed))
