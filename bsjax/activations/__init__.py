"""Activations of stimuli: extraction, preprocessing, caching and reduction, shared by all adapters.

An *activations model* is any object with an ``identifier``, a method ``layers()`` that returns the shape of each
layer's output for one image, and a call ``model(stimuli, layers)`` that returns a ``NeuroidAssembly``.
"""

from bsjax.activations.activations_model import ActivationsModel
from bsjax.activations.cache import ActivationCache
from bsjax.activations.extraction import ExtractedActivations
from bsjax.activations.inputs.microsaccades import Microsaccades
from bsjax.activations.network import Network
from bsjax.activations.options import ExtractionOptions
from bsjax.activations.progress import Progress
from bsjax.activations.reducers import PCA, SparseRandomProjection, SpatialPooling, Subsampling, make_reducer
from bsjax.activations.temporal import TemporalActivations
from bsjax.core.memory import MemoryEstimate

__all__ = [
    "PCA",
    "ActivationCache",
    "ActivationsModel",
    "ExtractedActivations",
    "ExtractionOptions",
    "MemoryEstimate",
    "Microsaccades",
    "Network",
    "Progress",
    "SparseRandomProjection",
    "SpatialPooling",
    "Subsampling",
    "TemporalActivations",
    "make_reducer",
]
