"""``bsjax leaderboard``: the site of the scores that are kept."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bsjax.cli.results import Benchmarks, Models, Place
from bsjax.cli.terminal import complain
from bsjax.core.messages import in_words

if TYPE_CHECKING:
    from bsjax.leaderboard import Site

app = typer.Typer(
    help="Build and open a site of the scores that are kept.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class How(StrEnum):
    """What averages do with scores that are missing."""

    available = "available"
    website = "website"


Averages = Annotated[
    How,
    typer.Option(
        "--how",
        help="Leave missing scores out of averages, or count them as zero as Brain-Score's website does. "
        "The page can show both, and begins with this.",
    ),
]
Excluded = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="NAME", help="A model or benchmark to leave out, or glob; may be given again."),
]
Title = Annotated[str, typer.Option("--title", metavar="TEXT", help="What the site is called.")]

_HERE = "127.0.0.1"


@app.command()
def build(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder: a new one, or a site that was built before.")],
    results: Place = None,
    model: Models = None,
    benchmark: Benchmarks = None,
    exclude: Excluded = None,
    how: Averages = How.available,
    title: Title = "",
) -> None:
    """Write the site to a folder of files, which needs no server and no network: open its index.html."""
    site = _built(out, results, {"models": model, "benchmarks": benchmark, "exclude": exclude}, how, title)
    typer.echo(str(site.folder / "index.html"))


@app.command()
def serve(
    out: Annotated[
        Path | None, typer.Argument(metavar="[OUT]", help="Where the site is written; a temporary folder if not given.")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 takes one that is free.")] = 8000,
    results: Place = None,
    model: Models = None,
    benchmark: Benchmarks = None,
    exclude: Excluded = None,
    how: Averages = How.available,
    title: Title = "",
) -> None:
    """Write the site and show it to browsers of this machine, until Ctrl-C."""
    with ExitStack() as opened:
        folder = out or Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="bsjax-site-"))) / "site"
        site = _built(folder, results, {"models": model, "benchmarks": benchmark, "exclude": exclude}, how, title)
        try:
            server = ThreadingHTTPServer((_HERE, port), partial(_Quiet, directory=str(site.folder)))
        except OSError as error:
            why = error.strerror or error
            raise type(error)(f"port {port} cannot be had: {why}; give another by --port, or 0 for any") from error
        with server:
            typer.echo(f"http://{_HERE}:{server.server_port}/")
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                complain("stopped")


class _Quiet(SimpleHTTPRequestHandler):
    """Gives files, and says nothing of it."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


def _built(out: Path, results: str | None, shown: dict[str, list[str] | None], how: How, title: str) -> Site:
    from bsjax.leaderboard import build as write
    from bsjax.results import ResultStore

    with ResultStore(results, read_only=True) as store:
        site = write(store, out, **{name: asked for name, asked in shown.items() if asked}, how=how.value, title=title)
    for note in site.notes:
        complain(note)
    counted = ((site.n_models, "model"), (site.n_benchmarks, "benchmark"), (site.n_files, "file"))
    models_shown, benchmarks_shown, files = (f"{n} {what}{'' if n == 1 else 's'}" for n, what in counted)
    complain(f"{models_shown}, {benchmarks_shown}: {files}, {in_words(site.n_bytes)}")
    return site
