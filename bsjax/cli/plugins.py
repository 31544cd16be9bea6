"""The option ``--plugins`` (or ``--brainscore``), and the commands ``bsjax new`` and ``bsjax check``."""

import enum
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from bsjax.cli.checks import Allow, print_checks
from bsjax.cli.terminal import complain, configure_jax

Item = TypeVar("Item")


def _shown(found: Iterator[Item]) -> Iterator[Item]:
    """Items that are computed as they are asked for; a bar is shown until each is ready."""
    from bsjax.core.watching import stage
    from bsjax.scoring.display.bars import shown

    while True:
        with shown(), stage("checking"):
            item = next(found, None)
        if item is None:
            return
        yield item


def _use(folders: list[Path] | None) -> list[Path]:
    from bsjax.core.discovery import use_plugins

    for folder in reversed(folders or []):  # the first is searched first
        use_plugins(folder)
    return folders or []  # Typer 0.15 takes the length of the result


Plugins = Annotated[
    list[Path] | None,
    typer.Option(
        "--plugins",
        "--brainscore",
        metavar="DIR",
        help="A folder of plugins of bsjax or Brain-Score, in addition to those of $BSJAX_PLUGINS; repeatable.",
        callback=_use,
        is_eager=True,
    ),
]
"""The option ``--plugins``; its callback extends the search path, so commands need not use the value."""


class Kind(enum.StrEnum):
    """Kinds of skeletons, and the workflow."""

    benchmark = "benchmark"
    model = "model"
    metric = "metric"
    data = "data"
    workflow = "workflow"


def new(
    context: typer.Context,
    what: Annotated[
        Kind,
        typer.Argument(
            metavar="WHAT",
            help="Kind of plugin: benchmark, model, metric or data. Or workflow: GitHub then checks the plugins of a "
            "repository.",
        ),
    ],
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Name of the plugin; for benchmarks and data, author and year: Doe2026. A workflow has no name.",
            show_default=False,
        ),
    ] = "",
    kind: Annotated[
        str,
        typer.Option(
            help="Variant of a benchmark: neural (the default), behaviour, properties or fmri. Variant of a model: jax "
            "(the default), torch, flax or activations (stored in a file)."
        ),
    ] = "",
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Parent of the new folder; for a workflow, the repository.")
    ] = Path("."),
    plugins: Plugins = None,
) -> None:
    """Write a working plugin, or a workflow that checks plugins.

    The plugin is a starting point: it contains a small simulated example, passing tests, and comments where your own
    data or network belong.
    """
    configure_jax()
    from bsjax.data.publishing.checklist import name_problems
    from bsjax.submission import write_skeleton, write_workflow

    if what is Kind.workflow:
        if name or kind:
            raise typer.BadParameter("a workflow takes neither NAME nor --kind: leave them out", param_hint="NAME")
        typer.echo(write_workflow(to))
        return
    if not name:
        raise typer.BadParameter("a plugin needs a name", param_hint="NAME")
    if what in (Kind.benchmark, Kind.data):
        for problem in name_problems(name):  # only a convention: the plugin works with any name
            complain(problem)
    folder = write_skeleton(what.value, name, to, kind)
    for path in sorted(folder.iterdir()):
        typer.echo(path)
    beside = [*(context.find_root().params.get("plugins") or []), *(plugins or [])]
    where = " ".join(["bsjax", *(f"--plugins {shlex.quote(str(one))}" for one in dict.fromkeys([to, *beside]))])
    use = {
        Kind.benchmark: f"{where} score -m {'gabor-v1' if kind == 'properties' else 'pixels'} -b '{name}*'",
        Kind.model: f"{where} score -m {name} -b Simulated.V1-ridge",
        Kind.metric: f"{where} list metrics",
        Kind.data: f"{where} data show {name}",
    }
    has_data = what is Kind.benchmark and not (folder / "data.py").exists()
    if has_data:
        typer.echo(f"\nNo data.py is written, since data {name} are registered already; submit both in one folder.")
    checked = f"{where if has_data else 'bsjax'} check {shlex.quote(str(folder))}"
    typer.echo(f"\nuse it:    {use[what]}\ncheck it:  {checked}")


def check(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A plugin, or a folder of plugins.")],
    timeout: Annotated[
        float, typer.Option("--timeout", metavar="SECONDS", help="Time limit for the tests of each plugin.")
    ] = 600.0,
    allow: Allow = None,
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="MODEL", help="First record a model's features for the tests of benchmarks."),
    ] = None,
    plugins: Plugins = None,
) -> None:
    """Run the checklist for submissions.

    Benchmarks, models, metrics and data are loaded and tried, and the plugin's tests run. Failed checks say what to do.
    """
    configure_jax()
    from bsjax.submission import check_plugins, record_plugins

    for path, score in record_plugins(folder, record) if record else ():
        typer.echo(f"{path}: PrecomputedTests().run_test(..., expected={score:.6g})")
    failed, total = 0, 0
    names: set[str] = set()
    skipped: list[str] = []
    for title, checks in _shown(check_plugins(folder, timeout)):
        failed_here, total_here = print_checks(title, checks, allow or [])
        failed, total = failed + failed_here, total + total_here
        names |= {item.name for item in checks}
        skipped += [item.asks for item in checks if item.skipped]
    unknown = sorted(set(allow or []) - names)
    if unknown:
        complain(f"--allow {', '.join(unknown)}: no item has this name; there are: {', '.join(sorted(names))}")
    if failed:
        complain(f"{failed} of {total} items fail")
    if failed or unknown:
        raise typer.Exit(1)
    typer.echo(f"all {total} items pass" + (f"; skipped: {', '.join(skipped)}" if skipped else ""))
