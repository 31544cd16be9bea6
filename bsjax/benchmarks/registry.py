"""The registry of benchmarks: identifiers, builders, and the facts known without building a benchmark."""

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

# Names from the Brain-Score tutorials, such as "MajajHong2015.IT.public-pls".
_OTHER_NAMES = {re.sub(r"public(\.\w+)-", r"\1.public-", name): name for name in builtin_rows() if "public." in name}
benchmark_registry.register_table(lambda: _OTHER_NAMES, lambda name: benchmark_registry[_OTHER_NAMES[name]]())


def load_benchmark(identifier: str, **kwargs: object) -> "Benchmark":
    """Build a registered benchmark; its data are loaded when it first scores.

    Args:
        identifier: a name that :func:`list_benchmarks` shows.
        **kwargs: arguments of the benchmark's factory, e.g. ``data=DIR`` for recordings in a folder of your own.

    Raises:
        KeyError: the benchmark is unknown; the message names the nearest ones.
        ValueError: the benchmark does not take the argument.

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
    """The facts known about a benchmark without building it: version, parent, data, metric, citation, and more.

    A plugin is not run for this, so its row holds only the identifier, the line for lists, and the folder.

    Args:
        identifier: a name that :func:`list_benchmarks` shows.

    Raises:
        KeyError: the benchmark is unknown; the message names the nearest ones.

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
    """The plugin that declares the benchmark ``brainscore:NAME``."""
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
    """Identifiers of the benchmarks that ship with their data and need neither a download nor an argument.

    Example:
        >>> from bsjax.benchmarks import builtin_benchmarks
        >>> builtin_benchmarks()[0]
        'Marques2020_Cavanaugh2002-grating_summation_field'
    """
    return [row.identifier for row in builtin_rows().values() if row.with_data]
