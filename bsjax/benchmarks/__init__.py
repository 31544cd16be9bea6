"""Benchmarks: a comparison of a model's recordings with measured ones, with its ceiling.

Each family of benchmarks is one module. Nothing is read when a benchmark is listed or loaded, only when it
scores.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from bsjax.benchmarks.benchmark import Benchmark
from bsjax.benchmarks.registry import benchmark_registry, builtin_benchmarks, list_benchmarks, load_benchmark

if TYPE_CHECKING:
    from bsjax.benchmarks.base import BenchmarkBase, Paradigm
    from bsjax.benchmarks.ceilings import Ceiling, constant_ceiling
    from bsjax.benchmarks.experiment import timebins_from_assembly
    from bsjax.benchmarks.lazy import LazyLoad
    from bsjax.benchmarks.multi_subject import KFoldNeuralBenchmark, MultiSubjectNeuralBenchmark
    from bsjax.benchmarks.neural import NeuralBenchmark
    from bsjax.benchmarks.preparation import filter_reliable_neuroids, flatten_timebins_into_neuroids
    from bsjax.benchmarks.properties import PropertiesBenchmark
    from bsjax.benchmarks.rsa import RSABenchmark
    from bsjax.benchmarks.train_test import TrainTestNeuralBenchmark
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
    "LazyLoad": "bsjax.benchmarks.lazy",
    "KFoldNeuralBenchmark": "bsjax.benchmarks.multi_subject",
    "MultiSubjectNeuralBenchmark": "bsjax.benchmarks.multi_subject",
    "NeuralBenchmark": "bsjax.benchmarks.neural",
    "filter_reliable_neuroids": "bsjax.benchmarks.preparation",
    "flatten_timebins_into_neuroids": "bsjax.benchmarks.preparation",
    "PropertiesBenchmark": "bsjax.benchmarks.properties",
    "RSABenchmark": "bsjax.benchmarks.rsa",
    "TrainTestNeuralBenchmark": "bsjax.benchmarks.train_test",
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
