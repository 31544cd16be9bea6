"""Brain models: candidate models of the ventral stream that benchmarks score.

``list_models`` and the registry are loaded at once. Everything else is loaded on first use, so that listing models
imports neither JAX nor xarray.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.models.brain_model import BrainModel as BrainModel
    from bsjax.models.brain_model import RecordingTarget as RecordingTarget
    from bsjax.models.brain_model import Task as Task
    from bsjax.models.commitment import ModelCommitment as ModelCommitment
    from bsjax.models.precomputed import PrecomputedFeatures as PrecomputedFeatures
    from bsjax.models.registry import list_models as list_models
    from bsjax.models.registry import load_model as load_model
    from bsjax.models.registry import model_registry as model_registry
    from bsjax.models.screen import place_on_screen as place_on_screen

__getattr__, __dir__, __all__ = on_first_use(globals())
