"""``bsjax show``: what a benchmark does, and whom to cite."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bsjax.cli.plugins import Plugins
from bsjax.cli.terminal import configure_jax

if TYPE_CHECKING:
    from bsjax.benchmarks import Benchmark


def show(
    benchmark: Annotated[str, typer.Argument(metavar="BENCHMARK", help="A benchmark, by its identifier.")],
    data: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the recordings, for benchmarks that need it.")
    ] = None,
    plugins: Plugins = None,
) -> None:
    """Say what a benchmark shows, records and compares, and print its BibTeX.

    No data are read or fetched.
    """
    configure_jax()
    from bsjax.benchmarks import benchmark_registry
    from bsjax.scoring.resolution import arguments_of, found_benchmarks, is_many

    if is_many(benchmark):
        raise ValueError(f"show takes one benchmark, got the pattern {benchmark!r}; see `bsjax list benchmarks`")
    arguments = arguments_of(found_benchmarks(benchmark), {} if data is None else {"data": data})
    loaded: Any = benchmark_registry[benchmark](**arguments[benchmark])
    describe = getattr(loaded, "describe", None)
    typer.echo(describe() if callable(describe) else "\n".join(_known(loaded)))
    plugin = benchmark_registry.plugin_of(benchmark)
    if plugin is not None:
        typer.echo(f"{'plugin':<12}{plugin.folder}")
    typer.echo(f"\n{getattr(loaded, 'bibtex', '').strip() or 'no BibTeX: no publication is named'}")


def _known(benchmark: Benchmark) -> Iterator[str]:
    """What can be told of a benchmark that does not describe itself."""
    parent = getattr(benchmark, "parent", "")
    yield (
        f"{benchmark.identifier}, version {getattr(benchmark, 'version', 'not stated')}"
        + (f", averaged under {parent}" if parent else "")
    )
    yield ""
    kind = type(benchmark)
    about = (kind.__doc__ or "").strip().partition("\n\n")[0]
    yield f"{'class':<12}{kind.__module__}.{kind.__qualname__}"
    if about:
        yield f"{'about':<12}{' '.join(about.split())}"
