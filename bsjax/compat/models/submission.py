"""Checks of models for plugins in the former layout, which they call when run as a script."""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from bsjax.benchmarks.families.simulated.benchmark import population
from bsjax.compat.models.commitment import ModelCommitment
from bsjax.models.brain_model import Task
from bsjax.models.registry import model_registry

_N_STIMULI = 6


def check_base_models(module: str | ModuleType) -> None:
    """Build each model of a module, record its layers, and fit a label read-out.

    Args:
        module: a module with ``get_model_list()``, ``get_model(name)`` and ``get_layers(name)``; or its name.

    Raises:
        ValueError: a model is missing or has no layers; further errors of the extraction.
    """
    held = _module(module)
    for name in held.get_model_list():
        layers = held.get_layers(name)
        if not isinstance(layers, list) or not layers:
            raise ValueError(f"get_layers({name!r}) must give a list of layers, got {layers!r}")
        check_processing(name, held)


def check_processing(model_identifier: str, module: str | ModuleType) -> None:
    """Record the layers of one model of a module, and fit a label read-out."""
    held = _module(module)
    layers = held.get_layers(model_identifier)
    model = held.get_model(model_identifier)
    check_brain_model_processing(ModelCommitment(model_identifier, model, layers, region_layer_map={"IT": layers[-1]}))


def check_brain_models(module: str | ModuleType) -> None:
    """Build each brain model of a module, and record from it."""
    held = _module(module)
    for name in held.get_model_list():
        check_brain_model_processing(held.get_model(name))


def check_brain_model_processing(model: Any) -> None:
    """Record from IT and fit a label read-out; returns nothing if both succeed.

    Raises:
        ValueError: the model does not respond to all stimuli.
    """
    stimuli = population().stimuli.head(_N_STIMULI)
    stimuli = stimuli.assign(image_label=[f"label {n % 2}" for n in range(len(stimuli))])
    model.start_recording("IT", time_bins=[(70, 170)])
    seen = [model.look_at(stimuli)]
    model.start_task(Task.probabilities, stimuli)
    seen.append(model.look_at(stimuli))
    for answers in seen:
        if answers is None or answers.sizes.get("presentation") != len(stimuli):
            raise ValueError(
                f"model {model.identifier!r} does not answer all of {len(stimuli)} stimuli, but {answers!r}"
            )


def load_model_bibtex(identifier: str) -> str | None:
    """The publication of a plugin's model, from ``model.get_bibtex``; None if there is none."""
    plugin = model_registry.plugin_of(identifier)
    if plugin is None or not plugin.module:
        return None
    model_registry[identifier]  # imports the plugin
    try:
        return import_module(f"{plugin.module}.model").get_bibtex(identifier) or None
    except (ModuleNotFoundError, AttributeError):
        return None


def _module(module: str | ModuleType) -> Any:
    return sys.modules.get(module) or import_module(module) if isinstance(module, str) else module
