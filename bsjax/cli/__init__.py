"""The command line ``bsjax``: ``score``, ``list``, ``show``, ``layers``, ``results``, ``leaderboard``, ``new``,
``check``, ``data``, ``cache``, ``warm-up``, and the commands for submissions.

Only this package prints, and configures JAX for the process.
"""

from __future__ import annotations

import enum
import importlib
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

import bsjax
from bsjax.cli.behaviour import Behaviour, against_people, draw_against_people, print_against_people, stored_models
from bsjax.cli.cache import app as cache_app
from bsjax.cli.cache import warm_up
from bsjax.cli.data import app as data_app
from bsjax.cli.extraction import BatchSize, Cached, Data, Memory, Reducer, ReducerImages, extraction_options
from bsjax.cli.layers import layers
from bsjax.cli.leaderboard import app as leaderboard_app
from bsjax.cli.listing import data_table, described, matching, published_table, table_lines
from bsjax.cli.outputs import Figure, check_figure, check_outputs, draw, written
from bsjax.cli.plugins import Plugins, check, new
from bsjax.cli.results import Place as Results
from bsjax.cli.results import app as results_app
from bsjax.cli.results import store_of_scores
from bsjax.cli.show import show
from bsjax.cli.streams import keep_streams
from bsjax.cli.submission.operators import app as accounts_app
from bsjax.cli.submission.operators import protect
from bsjax.cli.submission.queue import app as submissions_app
from bsjax.cli.submission.serve import serve
from bsjax.cli.submission.submit import submit
from bsjax.cli.terminal import complain, configure_jax, width
from bsjax.core.discovery import not_exiting, one_line
from bsjax.core.extras import installation_of

if TYPE_CHECKING:
    from bsjax.core.registry import Registry
    from bsjax.scoring import Outcome

# The exit code after Ctrl-C, as in shells.
_INTERRUPTED = 130


_ORDER = ["score", "list", "show", "layers", "results", "leaderboard", "new", "check", "data", "cache", "warm-up"]
_ORDER += ["submit", "submissions", "accounts", "protect", "serve"]
_HELP = """Score models against brains and behaviour.

\b
  bsjax score -m gabor-v1 -b Simulated.V1-ridge        a model on a benchmark
  bsjax score -m torchvision:resnet50@layer4 -b '*IT*' a layer of a network
  bsjax list benchmarks '*V4*'                         those that match a pattern
"""


class _Commands(TyperGroup):
    """The group of all commands, in which no called code can end the process."""

    def list_commands(self, ctx: Any) -> list[str]:
        """List the commands in the order in which users need them."""
        return sorted(super().list_commands(ctx), key=_ORDER.index)

    def invoke(self, ctx: Any) -> Any:
        with not_exiting():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Commands,
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(data_app, name="data")
app.add_typer(cache_app, name="cache")
app.add_typer(results_app, name="results")
app.add_typer(leaderboard_app, name="leaderboard")
app.add_typer(submissions_app, name="submissions")
app.add_typer(accounts_app, name="accounts")
app.command(short_help="Choose the layers of a model for each brain region.")(layers)
app.command(short_help="Explain a benchmark, metric, model or data set.")(show)
app.command(short_help="Write a working plugin as a starting point.")(new)
app.command()(check)
app.command("warm-up", short_help="Compile the programs of metrics ahead of their use.")(warm_up)
app.command(short_help="Submit a model or benchmark, to be scored in a sandbox.")(submit)
app.command(short_help="Mark benchmarks as private, or list private benchmarks.")(protect)
app.command(short_help="Accept submissions over a network.")(serve)


class Kind(enum.StrEnum):
    """Kinds of entries that can be listed."""

    models = "models"
    benchmarks = "benchmarks"
    metrics = "metrics"
    ceilings = "ceilings"
    data = "data"


_REGISTRIES = {
    Kind.models: ("bsjax.models", "model_registry"),
    Kind.benchmarks: ("bsjax.benchmarks", "benchmark_registry"),
    Kind.metrics: ("bsjax.labelled", "metric_registry"),
    Kind.ceilings: ("bsjax.labelled", "metric_registry"),
    Kind.data: ("bsjax.data", "data_registry"),
}


def main() -> None:
    """Run the command line.

    An error prints one line on stderr and gives exit code 1; wrong usage gives exit code 2. Warnings are lines on
    stderr. If stdout cannot be written, the command completes its work and ends with exit code 1, with a message unless
    stdout was a closed pipe.
    """
    output = keep_streams()
    warnings.showwarning = lambda message, *_, **__: complain(one_line(Warning(message)))
    code: Any = 0
    try:
        app()
    except SystemExit as end:
        code = end.code
    except Exception as error:  # a user gets the message; tracebacks are for Python callers
        complain(one_line(error))
        code = 1
    sys.stdout.flush()
    if output.lost is not None:
        code = code or 1
        if not output.reader_is_gone:
            complain(f"output to stdout was lost: {output.lost.strerror}")
    sys.exit(code)


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
    plugins: Plugins = None,
) -> None:
    if version:
        typer.echo(f"bsjax {bsjax.__version__}")
        raise typer.Exit()


@app.command("list", short_help="List models, benchmarks, metrics, ceilings or data.")
def list_registered(
    kind: Annotated[Kind, typer.Argument(help="What to list.")],
    patterns: Annotated[
        list[str] | None, typer.Argument(metavar="[GLOB]...", help="Patterns to match, such as '*V4*'. [default: all]")
    ] = None,
    published: Annotated[
        bool,
        typer.Option(
            "--published",
            help="List the models published on Brain-Score that need no plugin, which are otherwise omitted.",
        ),
    ] = False,
    plugins: Plugins = None,
) -> None:
    """List models, benchmarks, metrics, ceilings or data, with one line each.

    Benchmarks that need no download come first, marked with *. For data, the list includes the brain region, the
    access, and whether they are cached. Plugins are listed without running them; their problems are reported on stderr.
    """
    if published and kind is not Kind.models:
        raise typer.BadParameter(f"it lists models only, got {kind}", param_hint="--published")
    registry = _registry(kind)
    for note in registry.notes():
        complain(note)
    if published or kind is Kind.data:
        header, *rows = published_table() if published else data_table()
        names = set(matching((row[0] for row in rows), patterns, str(kind)))
        typer.echo("\n".join(table_lines([header, *(row for row in rows if row[0] in names)], width())))
        return
    names, listed = list(registry), {}
    if kind is Kind.ceilings:
        from bsjax.labelled import list_ceilings

        names = list_ceilings()
    for identifier in names:
        install = installation_of(registry.requires(identifier))
        listed[identifier] = registry.summary(identifier) + (f" [{install}]" if install else "")
    if kind is Kind.benchmarks:
        from bsjax.benchmarks import builtin_benchmarks

        here = builtin_benchmarks()
        listed = {name: f"* {listed[name]}" for name in here} | {n: s for n, s in listed.items() if n not in here}
    listed |= registry.sources()
    named = {name: listed[name] for name in matching(listed, patterns, str(kind))}
    typer.echo("\n".join(described(named, width())))


@app.command()
def score(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="ID",
            help="A model, a glob, or source:name@layer; repeatable. [default: all built-in]",
        ),
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            "-b",
            metavar="ID",
            help="A benchmark or glob; repeatable. [default: all that need no download]",
        ),
    ] = None,
    data: Data = None,
    images: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of the images, for benchmarks whose data do not include them."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Also write the complete scores to this file.")
    ] = None,
    figure: Figure = None,
    behaviour: Behaviour = None,
    batch_size: BatchSize = None,
    memory: Memory = None,
    reducer: Reducer = None,
    reducer_images: ReducerImages = None,
    cache: Cached = True,
    isolated: Annotated[
        bool,
        typer.Option(
            "--isolated",
            help="Score each pair in a separate process, with the requirements.txt of its plugins installed in a "
            "separate environment.",
        ),
    ] = False,
    results: Results = None,
    resample: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Also compute scores and ceilings in bootstrap draws of stimuli, neuroids or subjects, or of two of "
            "them. A colon gives the number of draws: stimuli,subjects:500. [default number: 1000] A slash gives a "
            "coordinate within which stimuli are drawn: stimuli/object_name.",
        ),
    ] = None,
    null: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Also compute scores for N permutations of the stimuli, to estimate chance level.",
        ),
    ] = None,
    baselines: Annotated[
        list[str] | None,
        typer.Option(
            "--baseline",
            metavar="NAME",
            help="Also score this model, or glob, as a baseline that is no model of the brain; all: the baselines of "
            "bsjax. Repeatable.",
        ),
    ] = None,
    planned: Annotated[
        bool,
        typer.Option(
            "--plan", help="Only show which scores would be computed, which are stored, and which cannot be computed."
        ),
    ] = False,
    again: Annotated[
        bool, typer.Option("--again/--only-missing", help="Recompute scores that are already stored.")
    ] = False,
    workers: Annotated[
        str | None,
        typer.Option(
            metavar="N|ADDRESS",
            help="Score in N processes on this machine, or on the workers of the Dask scheduler at an address (needs "
            "Dask).",
        ),
    ] = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Time limit per cell, after which it fails and its process is killed (needs --workers N).",
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--legend", help="Explain below the table how each number is computed.")
    ] = False,
    plugins: Plugins = None,
) -> None:
    """Score models on benchmarks, and print a table.

    Each score is saved to the store of results as soon as it is computed (see `bsjax results`). Stored scores are not
    computed again. Ctrl-C stops after the running cells; a second Ctrl-C stops them too.

    Models of other libraries are named source:name@layer: torchvision:resnet50@layer4, timm:..., huggingface:...,
    stored:activations.npz@layer.
    """
    check_outputs({"--json": json_file, "--figure": figure})
    arguments: dict[str, Any] = {
        name: folder for name, folder in (("data", data), ("images", images)) if folder is not None
    }
    if arguments and not (benchmark or behaviour):
        raise ValueError(f"--{next(iter(arguments))} needs --benchmark: the benchmarks that the folder is for")
    check_figure(figure)
    by = _number_or_address(workers)
    if isolated and (behaviour or reducer):
        other = "--behaviour" if behaviour else "--reducer"
        raise ValueError(
            f"{other} cannot be used with --isolated, as it makes objects in this process: leave out one of them"
        )
    configure_jax()
    stored = stored_models(behaviour)
    from bsjax.benchmarks import builtin_benchmarks
    from bsjax.cli.progress import scoring
    from bsjax.scoring import Beside, brief_legend, legend, plan, run_plan, table, watched

    benchmarks = benchmark or (["Geirhos2021*-error_consistency"] if stored else builtin_benchmarks())
    models = [*(model or []), *stored] or _installed_models()
    extraction = extraction_options(batch_size, memory, reducer, reducer_images, cache)
    kept = store_of_scores(results)
    drawn = None
    if resample is not None:
        from bsjax.labelled.resampling.draws import Resampling

        drawn = Resampling.parse(resample)
    cells = plan(
        models,
        benchmarks,
        extraction,
        store=kept,
        again=again,
        isolated=isolated,
        beside=Beside.of(drawn, null, True if baselines == ["all"] else baselines or False),
        predict=planned,
        **arguments,
    )
    if planned:
        typer.echo(str(cells))
        return
    with scoring() as progress, watched(progress):
        progress.expect(len(cells.of("compute")))
        progress.begin(cells)
        grid = run_plan(cells, kept, again=again, workers=by, timeout=timeout)
    outcomes = grid.outcomes(raw_values=True if json_file or figure or stored else "draws")
    if grid.interrupted:
        complain("stopped; run the same command again to compute the rest")
    whole = all(outcome.error is None for outcome in outcomes)
    if json_file is not None:
        whole &= written("--json", lambda: _write_json(json_file, outcomes))
    if any(outcome.score is not None for outcome in outcomes):
        columns = width()
        typer.echo(table(outcomes, columns))
        typer.echo("\n" + (legend if explain else brief_legend)(outcomes, min(columns or 100, 100)))
    compared = against_people(stored, [cell.job for cell in cells], outcomes)
    print_against_people(compared)
    if figure is not None:
        whole &= written(
            "--figure", lambda: draw_against_people(compared, figure) if stored else draw(outcomes, figure)
        )
    if grid.interrupted:
        raise typer.Exit(_INTERRUPTED)
    if not whole:
        raise typer.Exit(1)


def _number_or_address(workers: str | None) -> int | str | None:
    """Parse ``--workers``: a number of processes, or the address of a scheduler."""
    if workers is None or ":" in workers:
        return workers
    if not workers.isdigit() or int(workers) < 1:
        raise typer.BadParameter(
            f"a number from 1, or an address such as tcp://head:8786, got {workers!r}", param_hint="--workers"
        )
    return int(workers)


def _registry(kind: Kind) -> Registry:
    module, name = _REGISTRIES[kind]
    return getattr(importlib.import_module(module), name)


def _installed_models() -> list[str]:
    """The registered models whose extras are installed; the others are named on stderr."""
    registry, installed = _registry(Kind.models), []
    for identifier in registry:
        install = installation_of(registry.requires(identifier))
        if install:
            complain(f"{identifier} left out: it needs {install}")
        else:
            installed.append(identifier)
    return installed


def _write_json(path: Path, outcomes: list[Outcome]) -> None:
    from bsjax.core.files import as_json, write_atomically

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
    write_atomically(path, as_json(rows, indent=1) + b"\n")
