"""Benchmarks: a comparison of a model's recordings with measured ones, with its ceiling.

Each family of benchmarks is one module. Nothing is read when a benchmark is listed or loaded, only when it
scores.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from bsjax.benchmarks.base import Benchmark
from bsjax.benchmarks.registry import benchmark_registry, builtin_benchmarks, list_benchmarks, load_benchmark

if TYPE_CHECKING:
    from bsjax.benchmarks.base import BenchmarkBase, Paradigm
    from bsjax.benchmarks.ceilings import Ceiling, constant_ceiling
    from bsjax.benchmarks.experiment import timebins_from_assembly
    from bsjax.benchmarks.families.marques2020.properties import PropertiesBenchmark
    from bsjax.benchmarks.kinds.fixed_split import TrainTestNeuralBenchmark
    from bsjax.benchmarks.kinds.multi_subject import KFoldNeuralBenchmark, MultiSubjectNeuralBenchmark
    from bsjax.benchmarks.kinds.neural import NeuralBenchmark
    from bsjax.benchmarks.kinds.rsa import RSABenchmark
    from bsjax.benchmarks.lazy_loading import LazyLoad
    from bsjax.benchmarks.prepare.steps import filter_reliable_neuroids, flatten_timebins_into_neuroids
    from bsjax.data import average_repetition
    from bsjax.labelled.normalise import bound_score, ceil_score, explained_variance
    from bsjax.models import place_on_screen

# The classes need xarray and JAX, which a listing does not.
_LAZY = {
    "BenchmarkBase": "bsjax.benchmarks.base",
    "Paradigm": "bsjax.benchmarks.base",
    "Ceiling": "bsjax.benchmarks.ceilings",
    "constant_ceiling": "bsjax.benchmarks.ceilings",
    "timebins_from_assembly": "bsjax.benchmarks.experiment",
    "LazyLoad": "bsjax.benchmarks.lazy_loading",
    "KFoldNeuralBenchmark": "bsjax.benchmarks.kinds.multi_subject",
    "MultiSubjectNeuralBenchmark": "bsjax.benchmarks.kinds.multi_subject",
    "NeuralBenchmark": "bsjax.benchmarks.kinds.neural",
    "filter_reliable_neuroids": "bsjax.benchmarks.prepare.steps",
    "flatten_timebins_into_neuroids": "bsjax.benchmarks.prepare.steps",
    "PropertiesBenchmark": "bsjax.benchmarks.families.marques2020.properties",
    "RSABenchmark": "bsjax.benchmarks.kinds.rsa",
    "TrainTestNeuralBenchmark": "bsjax.benchmarks.kinds.fixed_split",
    # what benchmarks of one's own are made with, under the names that they have in Brain-Score
    "average_repetition": "bsjax.data",
    "bound_score": "bsjax.labelled.normalise",
    "ceil_score": "bsjax.labelled.normalise",
    "explained_variance": "bsjax.labelled.normalise",
    "place_on_screen": "bsjax.models",
}

__all__ = [
    "Benchmark",
    "BenchmarkBase",
    "Ceiling",
    "KFoldNeuralBenchmark",
    "LazyLoad",
    "MultiSubjectNeuralBenchmark",
    "NeuralBenchmark",
    "Paradigm",
    "PropertiesBenchmark",
    "RSABenchmark",
    "TrainTestNeuralBenchmark",
    "average_repetition",
    "benchmark_registry",
    "bound_score",
    "builtin_benchmarks",
    "ceil_score",
    "constant_ceiling",
    "explained_variance",
    "filter_reliable_neuroids",
    "flatten_timebins_into_neuroids",
    "list_benchmarks",
    "load_benchmark",
    "place_on_screen",
    "timebins_from_assembly",
]


def __getattr__(name: str) -> object:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'bsjax.benchmarks' has no attribute {name!r}")
