"""The registry of models: identifiers, factories, and one-line summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bsjax.core.registry import Registry

if TYPE_CHECKING:
    from bsjax.models.brain_model import BrainModel

model_registry = Registry("model", plugins="model_registry")
"""Models by identifier; ``model_registry["my-model"] = lambda: ModelCommitment(...)`` adds one."""

_BUILTIN = {
    "pixels": "the image itself, 32 x 32 RGB pixels",
    "gabor-v1": "quadrature Gabor filters, simple and complex cells, 8 degrees",
    "image-statistics": "33 image statistics: luminance, contrast, colour, edges and spatial frequencies",
    "random-network": "three convolutional layers with seeded random weights, in plain JAX",
    "stimulus-order": "control that sees no image: slow waves over the order of the stimuli",
    "v1-population": "V1 only: Gabor filters with properties sampled around published medians, "
    "and surround suppression",
    "hmax": "simple and complex cells from V1 to IT: alternating template matching and max pooling",
}
_OF_FLAX = {
    "vit-random": "small vision transformer with seeded random weights",
    "cornet-random": "small recurrent network in the style of CORnet, with seeded random weights",
}
for _name, _summary in (_BUILTIN | _OF_FLAX).items():
    _module, _function = _name.removesuffix("-random").replace("-", "_"), _name.replace("-", "_")
    _requires = ("flax",) if _name in _OF_FLAX else ()
    model_registry.register(_name, f"bsjax.models.builtin.{_module}:{_function}", _summary, _requires)

for _name, _summary, _requires in (
    ("torchvision", "classification networks of torchvision", ("torchvision",)),
    ("timm", "networks of timm", ("timm",)),
    ("huggingface", "vision models of the Hugging Face hub or of a local folder", ("huggingface",)),
    ("stored", "stored activations in a file or folder", ()),
):
    model_registry.register_source(_name, f"bsjax.models.sources.libraries:{_name}", _summary, _requires)
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
