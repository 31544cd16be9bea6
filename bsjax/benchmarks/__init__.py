"""Benchmarks: a comparison of a model's recordings with measured ones, with its ceiling.

The kinds that several data sets share are in ``kinds``, what is one experiment's own in ``families``. Nothing is read
when a benchmark is listed or loaded, only when it scores.
"""

from typing import TYPE_CHECKING

from bsjax.benchmarks.registry import benchmark_registry, builtin_benchmarks, list_benchmarks, load_benchmark
from bsjax.core.public_names import on_first_use

if TYPE_CHECKING:
    from bsjax.benchmarks.base import Benchmark, BenchmarkBase, Undefined
    from bsjax.benchmarks.ceilings import Ceiling, constant_ceiling
    from bsjax.benchmarks.descriptions import Paradigm
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
    "Undefined",
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

# The classes need xarray and JAX, which a listing does not. The last three modules have what
# benchmarks of one's own are made with, under the names that it has in Brain-Score.
_SOURCES = {
    "bsjax.benchmarks.base": (
        "Benchmark",
        "BenchmarkBase",
        "Undefined",
    ),
    "bsjax.benchmarks.ceilings": (
        "Ceiling",
        "constant_ceiling",
    ),
    "bsjax.benchmarks.descriptions": ("Paradigm",),
    "bsjax.benchmarks.experiment": ("timebins_from_assembly",),
    "bsjax.benchmarks.families.marques2020.properties": ("PropertiesBenchmark",),
    "bsjax.benchmarks.kinds.fixed_split": ("TrainTestNeuralBenchmark",),
    "bsjax.benchmarks.kinds.multi_subject": (
        "KFoldNeuralBenchmark",
        "MultiSubjectNeuralBenchmark",
    ),
    "bsjax.benchmarks.kinds.neural": ("NeuralBenchmark",),
    "bsjax.benchmarks.kinds.rsa": ("RSABenchmark",),
    "bsjax.benchmarks.lazy_loading": ("LazyLoad",),
    "bsjax.benchmarks.prepare.steps": (
        "filter_reliable_neuroids",
        "flatten_timebins_into_neuroids",
    ),
    "bsjax.data": ("average_repetition",),
    "bsjax.labelled.normalise": (
        "bound_score",
        "ceil_score",
        "explained_variance",
    ),
    "bsjax.models": ("place_on_screen",),
}
__getattr__, __dir__ = on_first_use(globals(), _SOURCES)
