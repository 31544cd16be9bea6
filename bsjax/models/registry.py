"""The registry of models: identifiers, factories, and one-line summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bsjax.core.registry import Registry

if TYPE_CHECKING:
    from bsjax.models.brain_model import BrainModel

model_registry = Registry("model", plugins="model_registry")
"""Models by identifier; ``model_registry["my-model"] = lambda: ModelCommitment(...)`` adds one."""

model_registry.register(
    "pixels",
    "bsjax.models.builtin.pixels:pixels",
    summary="the image itself, 32 x 32 RGB pixels",
)
model_registry.register(
    "gabor-v1",
    "bsjax.models.builtin.gabor_v1:gabor_v1",
    summary="quadrature Gabor filters, simple and complex cells, 8 degrees",
)
model_registry.register(
    "image-statistics",
    "bsjax.models.builtin.image_statistics:image_statistics",
    summary="33 image statistics: luminance, contrast, colour, edges and spatial frequencies",
)
model_registry.register(
    "random-network",
    "bsjax.models.builtin.random_network:random_network",
    summary="three convolutional layers with seeded random weights, in plain JAX",
)
model_registry.register(
    "stimulus-order",
    "bsjax.models.builtin.stimulus_order:stimulus_order",
    summary="control that sees no image: slow waves over the order of the stimuli",
)
model_registry.register(
    "v1-population",
    "bsjax.models.builtin.v1_population:v1_population",
    summary="V1 only: Gabor filters with properties sampled around published medians, and surround suppression",
)
model_registry.register(
    "hmax",
    "bsjax.models.builtin.hmax:hmax",
    summary="simple and complex cells from V1 to IT: alternating template matching and max pooling",
)
model_registry.register(
    "convnet-random",
    "bsjax.models.builtin.convnet:convnet_random",
    summary="small convolutional network with seeded random weights",
    requires=("flax",),
)
model_registry.register(
    "vit-random",
    "bsjax.models.builtin.vit:vit_random",
    summary="small vision transformer with seeded random weights",
    requires=("flax",),
)
model_registry.register(
    "cornet-random",
    "bsjax.models.builtin.cornet:cornet_random",
    summary="small recurrent network in the style of CORnet, with seeded random weights",
    requires=("flax",),
)
model_registry.register_source(
    "torchvision",
    "bsjax.models.sources.libraries:torchvision",
    summary="classification networks of torchvision",
    requires=("torchvision",),
)
model_registry.register_source(
    "timm", "bsjax.models.sources.libraries:timm", summary="networks of timm", requires=("timm",)
)
model_registry.register_source(
    "huggingface",
    "bsjax.models.sources.libraries:huggingface",
    summary="vision models of the Hugging Face hub or of a local folder",
    requires=("huggingface",),
)
model_registry.register_source(
    "stored", "bsjax.models.sources.libraries:stored", summary="stored activations in a file or folder"
)
model_registry.register_source(
    "brainscore",
    "bsjax.compat.by_name.registries:model_of_plugin",
    summary="models of Brain-Score plugins whose identifiers bsjax uses too",
    form="NAME",
)
model_registry.register_table(
    "bsjax.models.sources.published:published_models",
    "bsjax.models.sources.published:load_published",
    summary="model published on Brain-Score, with network and weights from a public hub",
)


def load_model(identifier: str) -> BrainModel:
    """Build a registered model, or a model of another library by its name there.

    Args:
        identifier: a name that :func:`list_models` shows; that of a published model such as ``"alexnet"``, see
            :func:`bsjax.models.sources.published.load_published`; or ``source:name@layers`` such as
            ``"torchvision:resnet50@layer4"``, see :func:`bsjax.models.sources.by_name.load_by_name`.

    Raises:
        KeyError: no such model; the message names the nearest ones.
        ImportError: the model needs an extra that is not installed; the message has the command.
        ValueError: layers of another library's model are not named or do not exist.
        FileNotFoundError: its weights are not stored locally and cannot be downloaded.

    Example:
        >>> load_model("gabor-v1").visual_degrees()
        8
    """
    return model_registry[identifier]()


def list_models() -> list[str]:
    """Identifiers of all registered models, in the order of registration.

    Example:
        >>> list_models()[:2]
        ['pixels', 'gabor-v1']
    """
    return list(model_registry)
