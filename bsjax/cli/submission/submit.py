"""``bsjax submit``: submission of a model or benchmark, which is checked and scored in a sandbox."""

from pathlib import Path
from typing import Annotated

import typer

from bsjax.cli.results import Place, open_store
from bsjax.cli.terminal import complain, configure_jax


def submit(
    source: Annotated[
        Path | None, typer.Argument(metavar="FOLDER_OR_ZIP", help="Plugins, or model.json with activations or choices.")
    ] = None,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark", "-b", metavar="NAME", help="Score on this benchmark, or glob; repeatable. [default: all]"
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME",
            help="Model that its benchmarks score; repeatable. [default: some built-in]",
        ),
    ] = None,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Name of the submission. [default: its file name]")
    ] = "",
    trust: Annotated[
        bool,
        typer.Option("--trust", help="Run it like your own code: without containment, and with access to recordings."),
    ] = False,
    queued: Annotated[bool, typer.Option("--queue", help="Only queue it, for `bsjax submissions work`.")] = False,
    self_test: Annotated[bool, typer.Option("--self-test", help="Test containment on this machine.")] = False,
    results: Place = None,
) -> None:
    """Submit a model or benchmark, to be checked and scored in a process without access to recordings.

    A model is scored on public benchmarks first, then on private ones. Its requirements are installed in a separate
    environment. Its code has access only to its own files and processes, and not to the network.
    """
    if self_test:
        _test()
        return
    if source is None:
        raise ValueError("give a folder or a zip to submit, or --self-test")
    configure_jax()
    from bsjax.cli.submission.queue import print_submission
    from bsjax.submission.handing_in import hand_in
    from bsjax.submission.steps import MODELS
    from bsjax.submission.worker import work

    with open_store(results, read_only=False) as store:
        made = hand_in(store, source, name=name, benchmarks=benchmark or ["*"], models=model or MODELS, trusted=trust)
        registers = "; ".join(f"{kind} {', '.join(names)}" for kind, names in made.facts["registers"].items())
        typer.echo(f"submission {made.id[:12]}: {registers}")
        if queued:
            typer.echo(f"queued; see `bsjax submissions show {made.id[:12]}`")
            return
        work(store, submission=made.id, until_idle=True, said=lambda line: typer.echo(f"  {line}"))
        if print_submission(store, made.id).state == "failed":
            raise typer.Exit(1)


def _test() -> None:
    """Run the self-test of containment and print its results."""
    from bsjax.submission.sandbox.self_test import self_test

    tried = list(self_test())
    for one in tried:
        state = typer.style("FAILED", fg=typer.colors.RED) if one.problem else typer.style("ok", fg=typer.colors.GREEN)
        typer.echo(f"  {state:<15}  {one.name:18}  {one.asks}" + (f": {one.problem}" if one.problem else ""))
    if any(one.problem for one in tried):
        complain("some tests fail: private benchmarks are refused here, and other submissions need --trust")
        raise typer.Exit(1)
    typer.echo("all tests pass")
