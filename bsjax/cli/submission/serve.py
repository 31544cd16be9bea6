"""``bsjax serve``: the web service for submissions."""

import os
from typing import Annotated

import typer

from bsjax.cli.results import Place, open_store
from bsjax.cli.terminal import complain


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port to listen on.")] = 8000,
    workers: Annotated[
        int, typer.Option("--workers", metavar="N", min=0, help="Number of workers to run; 0 if they run elsewhere.")
    ] = 1,
    benchmark: Annotated[
        list[str] | None,
        typer.Option(
            "--benchmark",
            "-b",
            metavar="NAME",
            help="Score models on this benchmark, or glob; repeatable. [default: all]",
        ),
    ] = None,
    title: Annotated[str, typer.Option("--title", metavar="TEXT", help="Title of all pages.")] = "Submissions",
    public_url: Annotated[
        str | None, typer.Option("--public-url", metavar="URL", help="URL for browsers, such as https://lab.org.")
    ] = None,
    results: Place = None,
) -> None:
    """Accept and score submissions over a network, and show them and the leaderboard, until Ctrl-C.

    Add accounts with `bsjax accounts add`. Use a reverse proxy for TLS. Each request is logged as a line of JSON on
    stdout.
    """
    from bsjax.core.extras import import_extra

    uvicorn = import_extra("uvicorn", "service")
    for module in ("fastapi", "multipart", "itsdangerous"):
        import_extra(module, "service")
    from bsjax.service import service
    from bsjax.service.mail import VARIABLE
    from bsjax.service.workers import workers as started

    url = public_url or f"http://{host}:{port}"
    with open_store(results, read_only=False) as store:
        app = service(
            store, benchmarks=benchmark or ["*"], title=title, public_url=url, mail=os.environ.get(VARIABLE) or None
        )
        with started(store.place, workers):
            complain(f"{url}: Ctrl-C stops it")
            uvicorn.run(
                app, host=host, port=port, access_log=False, log_level="warning", server_header=False, lifespan="on"
            )
