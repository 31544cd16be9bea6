"""Adapters, which make activations models from networks, JAX functions or stored activations.

An *activations model* is any object with an ``identifier``, a method ``layers()`` that returns the shape of each
layer's output for one image, and a call ``model(stimuli, layers)`` that returns a ``NeuroidAssembly``. Frameworks are
imported only when their adapter is called.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.activations.extraction import ExtractedActivations as ExtractedActivations
    from bsjax.activations.inputs.preprocessing import IMAGENET_MEAN as IMAGENET_MEAN
    from bsjax.activations.inputs.preprocessing import IMAGENET_STD as IMAGENET_STD
    from bsjax.activations.inputs.preprocessing import imagenet_preprocessing as imagenet_preprocessing
    from bsjax.activations.inputs.preprocessing import preprocess_images as preprocess_images
    from bsjax.activations.inputs.preprocessing import unit_preprocessing as unit_preprocessing
    from bsjax.activations.network import ActivationsModel as ActivationsModel
    from bsjax.activations.network import Network as Network
    from bsjax.adapters.hubs.huggingface import from_huggingface as from_huggingface
    from bsjax.adapters.hubs.timm import from_timm as from_timm
    from bsjax.adapters.hubs.torchvision import from_torchvision as from_torchvision
    from bsjax.adapters.jax.flax import from_flax as from_flax
    from bsjax.adapters.jax.function import from_jax as from_jax
    from bsjax.adapters.jax.keras import from_keras as from_keras
    from bsjax.adapters.stored.model import StoredActivations as StoredActivations
    from bsjax.adapters.stored.model import from_stored as from_stored
    from bsjax.adapters.torch.adapter import from_torch as from_torch

__getattr__, __dir__, __all__ = on_first_use(globals())
