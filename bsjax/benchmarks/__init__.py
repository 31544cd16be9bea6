"""Benchmarks: a comparison of a model's recordings with measured ones, with its ceiling.

Each family of benchmarks is one module. Nothing is read when a benchmark is listed or loaded, only when it
scores.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from bsjax.benchmarks.benchmark import Benchmark
from bsjax.benchmarks.registry import benchmark_registry, builtin_benchmarks, list_benchmarks, load_benchmark

if TYPE_CHECKING:
    from bsjax.benchmarks.neural import NeuralBenchmark

__all__ = [
    "Benchmark",
    "NeuralBenchmark",
    "benchmark_registry",
    "builtin_benchmarks",
    "list_benchmarks",
    "load_benchmark",
]


def __getattr__(name: str) -> object:
    # the class needs xarray and JAX, which a listing does not
    if name == "NeuralBenchmark":
        return import_module("bsjax.benchmarks.neural").NeuralBenchmark
    raise AttributeError(f"module 'bsjax.benchmarks' has no attribute {name!r}")
