"""bsjax scores models against brains and behaviour: Brain-Score rebuilt on JAX.

Every public name is imported on first use, so that ``import bsjax`` is quick and loads neither JAX nor
xarray.

Example:
    >>> import numpy as np
    >>> import bsjax
    >>> rng = np.random.default_rng(0)
    >>> features = rng.normal(size=(100, 20))
    >>> responses = features @ rng.normal(size=(20, 5))
    >>> round(float(bsjax.score_arrays(features, responses, metric="ridge")), 2)
    1.0
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use
from bsjax.core.version import __version__

if TYPE_CHECKING:
    from bsjax.benchmarks import benchmark_registry, list_benchmarks, load_benchmark
    from bsjax.data import (
        BehavioralAssembly,
        DataAssembly,
        NeuroidAssembly,
        PropertyAssembly,
        StimulusSet,
        data_registry,
        list_data,
        load_dataset,
        load_stimulus_set,
        stimulus_set_registry,
    )
    from bsjax.engine.memory_limit import memory_limit
    from bsjax.engine.program_cache import enable_compilation_cache
    from bsjax.labelled import Score, list_metrics, load_ceiling, load_metric, metric_registry, register_mapping
    from bsjax.models import BrainModel, ModelCommitment, list_models, load_model, model_registry
    from bsjax.scoring import choose_layers, score, score_arrays, score_sources

__all__ = [
    "BehavioralAssembly",
    "BrainModel",
    "DataAssembly",
    "ModelCommitment",
    "NeuroidAssembly",
    "PropertyAssembly",
    "Score",
    "StimulusSet",
    "__version__",
    "benchmark_registry",
    "choose_layers",
    "data_registry",
    "enable_compilation_cache",
    "list_benchmarks",
    "list_data",
    "list_metrics",
    "list_models",
    "load_benchmark",
    "load_ceiling",
    "load_dataset",
    "load_metric",
    "load_model",
    "load_stimulus_set",
    "memory_limit",
    "metric_registry",
    "model_registry",
    "register_mapping",
    "score",
    "score_arrays",
    "score_sources",
    "stimulus_set_registry",
]

# the module that each name comes from; the imports above say the same to type checkers, and a test compares
# the two
_SOURCES = {
    "bsjax.benchmarks": ("benchmark_registry", "list_benchmarks", "load_benchmark"),
    "bsjax.data": (
        "BehavioralAssembly",
        "DataAssembly",
        "NeuroidAssembly",
        "PropertyAssembly",
        "StimulusSet",
        "data_registry",
        "list_data",
        "load_dataset",
        "load_stimulus_set",
        "stimulus_set_registry",
    ),
    "bsjax.engine.program_cache": ("enable_compilation_cache",),
    "bsjax.labelled": ("Score", "list_metrics", "load_ceiling", "load_metric", "metric_registry", "register_mapping"),
    "bsjax.engine.memory_limit": ("memory_limit",),
    "bsjax.models": ("BrainModel", "ModelCommitment", "list_models", "load_model", "model_registry"),
    "bsjax.scoring": ("choose_layers", "score", "score_arrays", "score_sources"),
}
_SUBPACKAGES = ("adapters", "benchmarks", "data", "labelled", "metrics", "models", "plots", "scoring")
__getattr__, __dir__ = on_first_use(globals(), _SOURCES, _SUBPACKAGES)
