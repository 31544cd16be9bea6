# vision/brainscore_vision/benchmarks/yourbenchmark/__init__.py
from bsjax import benchmark_registry
from .benchmark import YourBenchmarkIT

benchmark_registry['YourBenchmark.IT-pls'] = YourBenchmarkIT
