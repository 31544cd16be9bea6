"""Activations of stimuli: extraction, preprocessing, caching and reduction, shared by all adapters.

An *activations model* is any object with an ``identifier``, a method ``layers()`` that returns the shape of each
layer's output for one image, and a call ``model(stimuli, layers)`` that returns a ``NeuroidAssembly``.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.activations.cache import ActivationCache as ActivationCache
    from bsjax.activations.extraction import ExtractedActivations as ExtractedActivations
    from bsjax.activations.inputs.microsaccades import Microsaccades as Microsaccades
    from bsjax.activations.network import ActivationsModel as ActivationsModel
    from bsjax.activations.network import Network as Network
    from bsjax.activations.options import ExtractionOptions as ExtractionOptions
    from bsjax.activations.options import Progress as Progress
    from bsjax.activations.reducers import PCA as PCA
    from bsjax.activations.reducers import SparseRandomProjection as SparseRandomProjection
    from bsjax.activations.reducers import SpatialPooling as SpatialPooling
    from bsjax.activations.reducers import Subsampling as Subsampling
    from bsjax.activations.reducers import make_reducer as make_reducer
    from bsjax.activations.temporal import TemporalActivations as TemporalActivations
    from bsjax.core.memory import MemoryEstimate as MemoryEstimate

__getattr__, __dir__, __all__ = on_first_use(globals())
