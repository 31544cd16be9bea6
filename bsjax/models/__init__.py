"""Brain models: what can be scored.

``list_models`` and the registry are loaded at once, everything else when it is first used, so that listing
models loads neither JAX nor xarray.
"""

from importlib import import_module
from typing import TYPE_CHECKING

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

_MODULE_OF = {
    "BrainModel": "brain_model",
    "ModelCommitment": "commitment",
    "PrecomputedFeatures": "precomputed",
    "RecordingTarget": "brain_model",
    "Task": "brain_model",
    "place_on_screen": "screen",
}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
