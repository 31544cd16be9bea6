"""Adapters, which make activations models from networks, JAX functions or stored activations.

An *activations model* is any object with an ``identifier``, a method ``layers()`` that returns the shape of each
layer's output for one image, and a call ``model(stimuli, layers)`` that returns a ``NeuroidAssembly``. Frameworks are
imported only when their adapter is called.
"""

from bsjax.activations.activations_model import ActivationsModel
from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.preprocessing import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    imagenet_preprocessing,
    preprocess_images,
    unit_preprocessing,
)
from bsjax.activations.network import Network
from bsjax.adapters.hubs.huggingface import from_huggingface
from bsjax.adapters.hubs.timm import from_timm
from bsjax.adapters.hubs.torchvision import from_torchvision
from bsjax.adapters.jax.flax import from_flax
from bsjax.adapters.jax.function import from_jax
from bsjax.adapters.jax.keras import from_keras
from bsjax.adapters.stored.model import StoredActivations, from_stored
from bsjax.adapters.torch.adapter import from_torch

__all__ = [
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "ActivationsModel",
    "ExtractedActivations",
    "Network",
    "StoredActivations",
    "from_flax",
    "from_huggingface",
    "from_jax",
    "from_keras",
    "from_stored",
    "from_timm",
    "from_torch",
    "from_torchvision",
    "imagenet_preprocessing",
    "preprocess_images",
    "unit_preprocessing",
]
