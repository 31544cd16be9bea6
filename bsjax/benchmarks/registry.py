"""The table of benchmarks: identifiers, where each is built, and one line on each."""

import inspect
from typing import TYPE_CHECKING, NamedTuple

from bsjax.registry import Registry

if TYPE_CHECKING:
    from bsjax.benchmarks.benchmark import Benchmark


class _Family(NamedTuple):
    """Benchmarks that share their data: ``prefix-metric`` is built by ``module:metric``."""

    prefix: str
    module: str
    summary: str
    needs_data: bool
    metrics: tuple[str, ...]


_METRICS = {
    "neuron_to_neuron": "the best single model unit for each neuroid",
    "pls": "partial least squares regression, 25 components",
    "ridge": "ridge regression, alpha 1",
    "cka": "centred kernel alignment, unbiased",
    "rdm": "representational dissimilarity matrices, Spearman",
}
_FAMILIES = (
    _Family(
        "Simulated.V1",
        "bsjax.benchmarks.simulated",
        "simulated V1 neuroids with Poisson trials",
        needs_data=False,
        metrics=("neuron_to_neuron", "pls", "ridge", "cka", "rdm"),
    ),
    _Family(
        "Cowley2026.V4",
        "bsjax.benchmarks.cowley2026",
        "macaque V4, 640 images (needs data=DIR)",
        needs_data=True,
        metrics=("pls", "ridge", "cka", "rdm"),
    ),
)

benchmark_registry = Registry("benchmark")
"""Benchmarks by identifier; ``benchmark_registry["My.V4-pls"] = factory`` adds one."""

for _family in _FAMILIES:
    for _metric in _family.metrics:
        benchmark_registry.register(
            f"{_family.prefix}-{_metric}",
            f"{_family.module}:{_metric}",
            summary=f"{_family.summary}; {_METRICS[_metric]}",
        )


def load_benchmark(identifier: str, **kwargs: object) -> "Benchmark":
    """Build a registered benchmark; its data are read when it first scores.

    Args:
        identifier: a name that :func:`list_benchmarks` shows.
        **kwargs: what the benchmark's factory takes, e.g. ``data=DIR`` for recordings that you hold yourself.

    Raises:
        KeyError: no such benchmark; the message names the nearest ones.
        ValueError: an argument that the benchmark does not take.

    Example:
        >>> from bsjax import load_benchmark
        >>> load_benchmark("Simulated.V1-pls").identifier
        'Simulated.V1-pls'
    """
    factory = benchmark_registry[identifier]
    try:
        inspect.signature(factory).bind(**kwargs)
    except TypeError as error:
        raise ValueError(f"benchmark {identifier!r}: {error}") from None
    return factory(**kwargs)


def list_benchmarks() -> list[str]:
    """Identifiers of all registered benchmarks, in the order of registration.

    Example:
        >>> from bsjax import list_benchmarks
        >>> "Cowley2026.V4-ridge" in list_benchmarks()
        True
    """
    return list(benchmark_registry)


def builtin_benchmarks() -> list[str]:
    """Identifiers of the benchmarks that come with their data: they need neither a download nor an argument.

    Example:
        >>> from bsjax.benchmarks import builtin_benchmarks
        >>> builtin_benchmarks()[0]
        'Simulated.V1-neuron_to_neuron'
    """
    return [f"{family.prefix}-{metric}" for family in _FAMILIES if not family.needs_data for metric in family.metrics]
