"""The command line: ``bsjax score``, ``list`` and ``data``. The only place that prints or configures JAX."""

from __future__ import annotations

import enum
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import bsjax
from bsjax.cli.data import app as data_app
from bsjax.cli.listing import data_lines
from bsjax.cli.terminal import complain, configure_jax, one_line, width

if TYPE_CHECKING:
    from bsjax.registry import Registry
    from bsjax.scoring import Outcome, Pair

app = typer.Typer(
    help="Score models against brains and behaviour.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(data_app, name="data")


class Kind(enum.StrEnum):
    """What can be listed."""

    models = "models"
    benchmarks = "benchmarks"
    metrics = "metrics"
    data = "data"


_REGISTRIES = {
    Kind.models: ("bsjax.models", "model_registry"),
    Kind.benchmarks: ("bsjax.benchmarks", "benchmark_registry"),
    Kind.metrics: ("bsjax.labelled", "metric_registry"),
}


def main() -> None:
    """Run the command line: an error is one line on stderr and exit code 1, wrong usage is exit code 2."""
    try:
        app()
    except Exception as error:  # a user gets the message; tracebacks are for Python callers
        complain(one_line(error))
        sys.exit(1)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"bsjax {bsjax.__version__}")
        raise typer.Exit()


@app.command("list")
def list_registered(kind: Annotated[Kind, typer.Argument(help="What to list.")]) -> None:
    """List models, benchmarks, metrics or data, with one line on each.

    Of data, also what brain regions they are from, who may read them, and whether they are here already.
    """
    if kind is Kind.data:
        for line in data_lines():
            typer.echo(line)
        return
    registry = _registry(kind)
    longest = max(map(len, registry), default=0)
    for identifier in registry:
        missing = [extra for extra in registry.requires(identifier) if find_spec(extra) is None]
        install = f" [pip install 'bsjax[{','.join(missing)}]']" if missing else ""
        typer.echo(f"{identifier:{longest}}  {registry.summary(identifier)}{install}".rstrip())


@app.command()
def score(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="ID",
            help="A model, or a glob; may be given again. [default: all built-in]",
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            "-b",
            metavar="ID",
            help="A benchmark, or a glob. [default: all that need no download]",
        ),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the recordings, for benchmarks that need it."),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Also write all scores, in full, to this file."),
    ] = None,
) -> None:
    """Score models on benchmarks, and print a table with where the numbers come from."""
    if json_file is not None and json_file.is_dir():
        raise ValueError(f"--json needs a file, {json_file} is a folder")
    configure_jax()
    from bsjax.benchmarks import builtin_benchmarks
    from bsjax.scoring import legend, plan, run, table

    arguments = {} if data is None else {"data": data}
    benchmarks = benchmark or (["*"] if data is not None else builtin_benchmarks())
    pairs = plan(model or _installed_models(), benchmarks, **arguments)
    outcomes = []
    with _progress(len(pairs)) as (before, after):
        for outcome in run(pairs, before):
            after(outcome)
            outcomes.append(outcome)
    if json_file is not None:
        _write_json(json_file, outcomes)
    if any(outcome.score is not None for outcome in outcomes):
        columns = width()
        typer.echo(table(outcomes, columns))
        typer.echo("\n" + legend(outcomes, min(columns or 100, 100)))
    if any(outcome.error is not None for outcome in outcomes):
        raise typer.Exit(1)


def _registry(kind: Kind) -> Registry:
    module, name = _REGISTRIES[kind]
    return getattr(importlib.import_module(module), name)


def _installed_models() -> list[str]:
    """The registered models whose extras are there; the others are named on stderr."""
    registry, installed = _registry(Kind.models), []
    for identifier in registry:
        missing = [extra for extra in registry.requires(identifier) if find_spec(extra) is None]
        if missing:
            complain(f"{identifier} left out: it needs pip install 'bsjax[{','.join(missing)}]'")
        else:
            installed.append(identifier)
    return installed


@contextmanager
def _progress(n_pairs: int) -> Iterator[tuple[Callable[[Pair], None], Callable[[Outcome], None]]]:
    """What to call before and after each pair: a bar on a terminal, a line a pair elsewhere; errors at
    once."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    done = 0

    def report(outcome: Outcome) -> None:
        if outcome.error is not None:
            text = f"bsjax: {outcome.model} on {outcome.benchmark}: {outcome.error_line}"
            console.print(text, markup=False, highlight=False, soft_wrap=True)

    if not console.is_terminal:

        def log(outcome: Outcome) -> None:
            nonlocal done
            done += 1
            if outcome.error is None:
                typer.echo(
                    f"[{done}/{n_pairs}] {outcome.model} on {outcome.benchmark}: {outcome.seconds:.1f} s",
                    err=True,
                )
            report(outcome)

        yield (lambda pair: None), log
        return
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=n_pairs)

        def advance(outcome: Outcome) -> None:
            report(outcome)
            bar.advance(task)

        yield (lambda pair: bar.update(task, description=f"{pair.model} on {pair.benchmark}")), advance


def _write_json(path: Path, outcomes: list[Outcome]) -> None:
    from bsjax.data.files import write_atomically

    rows = [
        {
            "model": outcome.model,
            "benchmark": outcome.benchmark,
            "score": None if outcome.score is None else outcome.score.to_dict(),
            "error": outcome.error_line or None,
            "seconds": outcome.seconds,
        }
        for outcome in outcomes
    ]
    write_atomically(path, (json.dumps(rows, indent=1, ensure_ascii=False) + "\n").encode())
