"""The registry of benchmarks: identifiers, what builds each, and what is known of it without building it."""

import inspect
import re
from typing import TYPE_CHECKING

from bsjax.benchmarks.rows.row import BenchmarkRow
from bsjax.benchmarks.rows.tables import builtin_rows
from bsjax.core.discovery import Plugin, brainscore_plugins
from bsjax.core.registry import Registry

if TYPE_CHECKING:
    from bsjax.benchmarks.base import Benchmark

benchmark_registry = Registry("benchmark", plugins="benchmark_registry")
"""Benchmarks by identifier; ``benchmark_registry["My.V4-pls"] = factory`` adds one."""

for _row in builtin_rows().values():
    benchmark_registry.register(_row.identifier, _row.builder, _row.summary, row=_row)

benchmark_registry.register_source(
    "brainscore",
    "bsjax.compat.by_name.registries:benchmark_of_plugin",
    summary="benchmarks of Brain-Score's plugins whose identifiers are bsjax's too",
    form="NAME",
)

# Names of the tutorials, such as "MajajHong2015.IT.public-pls".
_OTHER_NAMES = {re.sub(r"public(\.\w+)-", r"\1.public-", name): name for name in builtin_rows() if "public." in name}
benchmark_registry.register_table(lambda: _OTHER_NAMES, lambda name: benchmark_registry[_OTHER_NAMES[name]]())


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


def benchmark_row(identifier: str) -> BenchmarkRow:
    """What is known of a benchmark without building it: its version, parent, data, metric, citation, and more.

    Of a plugin's, which is not run for it, that is the identifier, the line for lists, and the folder.

    Args:
        identifier: a name that :func:`list_benchmarks` shows.

    Raises:
        KeyError: no such benchmark; the message names the nearest ones.

    Example:
        >>> from bsjax.benchmarks import benchmark_row
        >>> row = benchmark_row("Simulated.V1-ridge")
        >>> row.version, row.parent, row.metric
        (2, 'V1', 'ridge')
    """
    row = benchmark_registry.row(identifier)
    if isinstance(row, BenchmarkRow):
        return row
    plugin = benchmark_registry.plugin_of(identifier) or _of_brainscore(identifier)
    folder = "" if plugin is None else str(plugin.folder)
    return BenchmarkRow(identifier=identifier, summary=benchmark_registry.summary(identifier), plugin=folder)


def _of_brainscore(name: str) -> Plugin | None:
    """The plugin of ``brainscore:NAME``."""
    declared = "benchmark_registry", name.removeprefix("brainscore:")
    if declared[1] == name:
        return None
    plugins = (each for each in brainscore_plugins() if declared in [one[:2] for one in each.declarations])
    return next(plugins, None)


def benchmark_rows() -> list[BenchmarkRow]:
    """The rows of all registered benchmarks, in the order of registration.

    Example:
        >>> from bsjax.benchmarks import benchmark_rows
        >>> sum(row.modality == "fMRI" and row.parent == "V4" for row in benchmark_rows())
        16
    """
    return [benchmark_row(identifier) for identifier in benchmark_registry]


def builtin_benchmarks() -> list[str]:
    """Identifiers of the benchmarks that come with their data: they need neither a download nor an argument.

    Example:
        >>> from bsjax.benchmarks import builtin_benchmarks
        >>> builtin_benchmarks()[0]
        'Marques2020_Cavanaugh2002-grating_summation_field'
    """
    return [row.identifier for row in builtin_rows().values() if row.with_data]
