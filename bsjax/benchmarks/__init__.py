"""Benchmarks: comparisons of a model's responses with measured ones, each with its noise ceiling.

``kinds`` holds the kinds of benchmarks that several data sets share, ``families`` the experiments with code of their
own. Listing or loading a benchmark reads no data; scoring does.
"""

from typing import TYPE_CHECKING

from bsjax.core.public_names import on_first_use

# The classes need xarray and JAX; listing benchmarks does not, so the classes are imported on first use. The names from
# other packages are those needed to write a benchmark, under their Brain-Score names.
if TYPE_CHECKING:
    from bsjax.benchmarks.base import Benchmark as Benchmark
    from bsjax.benchmarks.base import BenchmarkBase as BenchmarkBase
    from bsjax.benchmarks.base import Undefined as Undefined
    from bsjax.benchmarks.ceilings import Ceiling as Ceiling
    from bsjax.benchmarks.ceilings import constant_ceiling as constant_ceiling
    from bsjax.benchmarks.descriptions import Paradigm as Paradigm
    from bsjax.benchmarks.experiment import timebins_from_assembly as timebins_from_assembly
    from bsjax.benchmarks.families.marques2020.properties import PropertiesBenchmark as PropertiesBenchmark
    from bsjax.benchmarks.kinds.behavioural import BehavioralBenchmark as BehavioralBenchmark
    from bsjax.benchmarks.kinds.fixed_split import TrainTestNeuralBenchmark as TrainTestNeuralBenchmark
    from bsjax.benchmarks.kinds.multi_subject import KFoldNeuralBenchmark as KFoldNeuralBenchmark
    from bsjax.benchmarks.kinds.multi_subject import MultiSubjectNeuralBenchmark as MultiSubjectNeuralBenchmark
    from bsjax.benchmarks.kinds.neural import NeuralBenchmark as NeuralBenchmark
    from bsjax.benchmarks.kinds.rsa import RSABenchmark as RSABenchmark
    from bsjax.benchmarks.lazy_loading import LazyLoad as LazyLoad
    from bsjax.benchmarks.prepare.choices import most_probable as most_probable
    from bsjax.benchmarks.prepare.steps import filter_reliable_neuroids as filter_reliable_neuroids
    from bsjax.benchmarks.prepare.steps import flatten_timebins_into_neuroids as flatten_timebins_into_neuroids
    from bsjax.benchmarks.registry import benchmark_registry as benchmark_registry
    from bsjax.benchmarks.registry import benchmark_row as benchmark_row
    from bsjax.benchmarks.registry import benchmark_rows as benchmark_rows
    from bsjax.benchmarks.registry import builtin_benchmarks as builtin_benchmarks
    from bsjax.benchmarks.registry import list_benchmarks as list_benchmarks
    from bsjax.benchmarks.registry import load_benchmark as load_benchmark
    from bsjax.benchmarks.rows.row import BenchmarkRow as BenchmarkRow
    from bsjax.data import average_repetition as average_repetition
    from bsjax.labelled.normalise import bound_score as bound_score
    from bsjax.labelled.normalise import ceil_score as ceil_score
    from bsjax.labelled.normalise import explained_variance as explained_variance
    from bsjax.models import place_on_screen as place_on_screen

__getattr__, __dir__, __all__ = on_first_use(globals())
