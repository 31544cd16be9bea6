"""The jobs of a grid, from requests for models and benchmarks, and their order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bsjax.benchmarks import benchmark_row
from bsjax.scoring.job import Job, Options
from bsjax.scoring.resolution import BenchmarkLike, ModelLike, arguments_of, found_benchmarks, found_models

if TYPE_CHECKING:
    from bsjax.scoring.job import Beside

# How many benchmarks stay loaded, with trials and ceilings. Jobs run model by model within groups of this size.
KEPT_BENCHMARKS = 16


def jobs_of(
    models: ModelLike | Iterable[ModelLike],
    benchmarks: BenchmarkLike | Iterable[BenchmarkLike],
    extraction: Mapping[str, Any] | None = None,
    *,
    isolated: bool = False,
    beside: Beside | None = None,
    **benchmark_arguments: object,
) -> list[Job]:
    """The jobs that identifiers, globs and objects stand for; no model and no data are loaded.

    Benchmarks on the same data follow each other, so that a model's activations for their stimuli are computed once
    and then read from the cache. Within a group of benchmarks that fit in memory together, jobs are ordered by model.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, those of
            :class:`~bsjax.activations.ExtractedActivations`, e.g. ``{"memory": "2GB"}``.
        isolated: whether each job runs in a separate process. Plugins are then not imported here to check which
            arguments they take.
        beside: analyses in addition to each score; None for none.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an identifier is unknown.
        ValueError: an object is neither a model nor a benchmark, or no benchmark takes an argument.

    Example:
        >>> [job.benchmark for job in jobs_of("pixels", ["Simulated.V1-ridge", "Simulated.V1-p*"])]
        ['Simulated.V1-ridge', 'Simulated.V1-pls']
    """
    rows, columns = found_models(models), found_benchmarks(benchmarks)
    arguments = arguments_of(columns, benchmark_arguments, plugins=not isolated)
    return [
        Job(model, columns[name], Options.of(extraction, arguments[name], beside, isolated))
        for names in _together(columns)
        for model in rows.values()
        for name in names
    ]


def _together(benchmarks: Mapping[str, BenchmarkLike]) -> list[list[str]]:
    """Group benchmarks that stay loaded together; those on the same data are adjacent."""
    on_same_data: dict[Hashable, list[str]] = {}
    for name, benchmark in benchmarks.items():
        on_same_data.setdefault(same_data(benchmark), []).append(name)
    groups: list[list[str]] = []
    for names in on_same_data.values():
        if groups and len(groups[-1]) + len(names) <= KEPT_BENCHMARKS:
            groups[-1] += names
        else:
            groups.append(list(names))
    return groups


def same_data(benchmark: BenchmarkLike) -> Hashable:
    """A key that is equal for benchmarks that show the same stimuli."""
    if not isinstance(benchmark, str):
        return benchmark.identifier
    row = benchmark_row(benchmark)
    return (row.data, row.stimuli) if row.data else benchmark
