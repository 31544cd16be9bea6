"""Brain models: what can be scored.

``list_models`` and the registry are loaded at once, everything else when it is first used, so that listing
models loads neither JAX nor xarray.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use
from bsjax.models.registry import list_models, load_model, model_registry

if TYPE_CHECKING:
    from bsjax.models.brain_model import BrainModel, RecordingTarget, Task
    from bsjax.models.commitment import ModelCommitment
    from bsjax.models.precomputed import PrecomputedFeatures
    from bsjax.models.screen import place_on_screen

__all__ = [
    "BrainModel",
    "ModelCommitment",
    "PrecomputedFeatures",
    "RecordingTarget",
    "Task",
    "list_models",
    "load_model",
    "model_registry",
    "place_on_screen",
]

_SOURCES = {
    "bsjax.models.brain_model": ("BrainModel", "RecordingTarget", "Task"),
    "bsjax.models.commitment": ("ModelCommitment",),
    "bsjax.models.precomputed": ("PrecomputedFeatures",),
    "bsjax.models.screen": ("place_on_screen",),
}
__getattr__, __dir__ = on_first_use(globals(), _SOURCES)
