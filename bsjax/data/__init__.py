"""Stimulus sets and assemblies: types, files, readers, and the registries of data."""

from bsjax.data.assemblies import BehavioralAssembly, DataAssembly, NeuroidAssembly, PropertyAssembly
from bsjax.data.catalogue import (
    data_registry,
    list_data,
    load_dataset,
    load_stimulus_set,
    stimulus_set_registry,
)
from bsjax.data.files import cache_dir, write_atomically
from bsjax.data.images import image_size, load_image
from bsjax.data.repetitions import average_repetition
from bsjax.data.stimuli import StimulusSet

__all__ = [
    "BehavioralAssembly",
    "DataAssembly",
    "NeuroidAssembly",
    "PropertyAssembly",
    "StimulusSet",
    "average_repetition",
    "cache_dir",
    "data_registry",
    "image_size",
    "list_data",
    "load_dataset",
    "load_image",
    "load_stimulus_set",
    "stimulus_set_registry",
    "write_atomically",
]
