"""``bsjax leaderboard``: a website of the stored scores."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bsjax.cli.results import Benchmarks, Models, Place
from bsjax.cli.terminal import complain
from bsjax.core.messages import counted, in_words

if TYPE_CHECKING:
    from bsjax.leaderboard import Site

app = typer.Typer(
    help="Build and serve a website of the stored scores.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class How(StrEnum):
    """Treatment of missing scores in averages."""

    available = "available"
    website = "website"


Averages = Annotated[
    How,
    typer.Option(
        "--how",
        help="Omit missing scores from averages (available), or count them as zero like Brain-Score's website "
        "(website). The page can show both, and starts with this one.",
    ),
]
Excluded = Annotated[
    list[str] | None,
    typer.Option("--exclude", metavar="NAME", help="A model, benchmark or glob to leave out; repeatable."),
]
Title = Annotated[str, typer.Option("--title", metavar="TEXT", help="Title of the site.")]

_HERE = "127.0.0.1"


@app.command()
def build(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Output folder: a new one, or a site built earlier.")],
    results: Place = None,
    model: Models = None,
    benchmark: Benchmarks = None,
    exclude: Excluded = None,
    how: Averages = How.available,
    title: Title = "",
) -> None:
    """Write the site to a folder. It works without server and network: open its index.html."""
    site = _built(out, results, {"models": model, "benchmarks": benchmark, "exclude": exclude}, how, title)
    typer.echo(str(site.folder / "index.html"))


@app.command()
def serve(
    out: Annotated[
        Path | None, typer.Argument(metavar="[OUT]", help="Output folder. [default: a temporary folder]")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="The port; 0 selects a free one.")] = 8000,
    results: Place = None,
    model: Models = None,
    benchmark: Benchmarks = None,
    exclude: Excluded = None,
    how: Averages = How.available,
    title: Title = "",
) -> None:
    """Write the site and serve it on this machine until Ctrl-C."""
    # Imported here, because every other command would wait for it.
    from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

    class Quiet(SimpleHTTPRequestHandler):
        """A file server without access log."""

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with ExitStack() as opened:
        folder = out or Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="bsjax-site-"))) / "site"
        site = _built(folder, results, {"models": model, "benchmarks": benchmark, "exclude": exclude}, how, title)
        try:
            server = ThreadingHTTPServer((_HERE, port), partial(Quiet, directory=str(site.folder)))
        except OSError as error:
            why = error.strerror or error
            raise type(error)(f"port {port} cannot be had: {why}; give another by --port, or 0 for any") from error
        with server:
            typer.echo(f"http://{_HERE}:{server.server_port}/")
            try:
                server.serve_forever()
            except KeyboardInterrupt:
                complain("stopped")


def _built(out: Path, results: str | None, shown: dict[str, list[str] | None], how: How, title: str) -> Site:
    from bsjax.core.watching import stage
    from bsjax.scoring.display import bars

    with bars.shown(), stage("building the site"):
        from bsjax.leaderboard import build as write
        from bsjax.results import ResultStore

        asked = {name: patterns for name, patterns in shown.items() if patterns}
        with ResultStore(results, read_only=True) as store:
            site = write(store, out, **asked, how=how.value, title=title)
    for note in site.notes:
        complain(note)
    shown_models, shown_benchmarks = counted(site.n_models, "model"), counted(site.n_benchmarks, "benchmark")
    complain(f"{shown_models}, {shown_benchmarks}: {counted(site.n_files, 'file')}, {in_words(site.n_bytes)}")
    return site
