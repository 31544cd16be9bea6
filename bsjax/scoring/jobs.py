"""The jobs of a grid: what models and benchmarks are asked for by, and the order in which they are run."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bsjax.benchmarks import benchmark_row
from bsjax.scoring.job import Job, Options
from bsjax.scoring.resolution import BenchmarkLike, ModelLike, arguments_of, found_benchmarks, found_models

if TYPE_CHECKING:
    from bsjax.scoring.beside import Beside

# Benchmarks that are kept with their trials and ceilings. The jobs of as many run together, model by model.
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
    """The jobs that globs, identifiers and objects stand for; no model and no data are loaded.

    Benchmarks on the same data follow each other, so that a model's activations for their stimuli are computed once
    and found in the store by the others. Jobs come model by model, of as many benchmarks as are kept.

    Args:
        models: identifiers, globs, models.
        benchmarks: identifiers, globs, benchmarks.
        extraction: options for the extraction of activations, those of
            :class:`~bsjax.activations.ExtractedActivations`, e.g. ``{"memory": "2GB"}``.
        isolated: whether each runs in a process of its own; then no plugin is imported here to see what arguments it
            takes.
        beside: what is computed beside each score; None for nothing.
        **benchmark_arguments: for the registered benchmarks that take them.

    Raises:
        KeyError: an unknown identifier.
        ValueError: an object that is neither, or an argument that no benchmark takes.

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
    """The benchmarks in groups that are kept at the same time; those on the same data are next to each other."""
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
    """What two benchmarks have in common that show the same stimuli; itself, of one that is not registered."""
    if not isinstance(benchmark, str):
        return benchmark.identifier
    row = benchmark_row(benchmark)
    return (row.data, row.stimuli) if row.data else benchmark
