"""Adapters: a torch or flax module, a JAX function or stored arrays become an activations model.

An *activations model* is any object with an ``identifier``, a method ``layers()`` that gives the shape of
each layer's output for one image, and a call ``model(stimuli, layers)`` that gives a ``NeuroidAssembly``.
torch and flax are imported when their adapter is called, not before.
"""

from bsjax.adapters.activations_model import ActivationsModel
from bsjax.adapters.extraction import ExtractedActivations, Network
from bsjax.adapters.flax import from_flax
from bsjax.adapters.jax_function import from_jax
from bsjax.adapters.preprocessing import (
    IMAGENET_MEAN,
    IMAGENET_STD,
    imagenet_preprocessing,
    preprocess_images,
    unit_preprocessing,
)
from bsjax.adapters.stored import StoredActivations, from_stored
from bsjax.adapters.torch import from_torch

__all__ = [
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "ActivationsModel",
    "ExtractedActivations",
    "Network",
    "StoredActivations",
    "from_flax",
    "from_jax",
    "from_stored",
    "from_torch",
    "imagenet_preprocessing",
    "preprocess_images",
    "unit_preprocessing",
]
