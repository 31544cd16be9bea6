"""``bsjax accounts`` and ``bsjax protect``: operators manage accounts and private benchmarks."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Annotated

import typer

from bsjax.cli.results import Place, open_store, table, when
from bsjax.cli.terminal import complain
from bsjax.core.memory import parse_bytes

if TYPE_CHECKING:
    from bsjax.results import ResultStore

app = typer.Typer(help="Manage accounts for submissions over a network.", no_args_is_help=True, rich_markup_mode=None)

_HEADER = ("name", "operator", "e-mail", "created", "revoked")
_PROTECTED = ("benchmark", "stimuli", "decimals", "limit", "days", "since")


@app.command()
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Up to 40 letters, digits, and - _ .")],
    operator: Annotated[bool, typer.Option("--operator", help="Allow it to see and review all submissions.")] = False,
    email: Annotated[str | None, typer.Option("--email", metavar="ADDRESS", help="Address of its owner.")] = None,
    uploads: Annotated[
        int | None, typer.Option("--uploads", metavar="N", min=0, help="Uploads per hour, instead of the default.")
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", metavar="SIZE", help="Upload size such as 4GB, instead of the default.")
    ] = None,
    results: Place = None,
) -> None:
    """Add an account, and print its token, which is shown only once."""
    from bsjax.submission.accounts import add_account

    limits = {"uploads": uploads, "bytes": None if size is None else parse_bytes(size)}
    with open_store(results, read_only=False) as store:
        token = add_account(store, name, operator, email, {name: n for name, n in limits.items() if n is not None})
    complain(f"the token of {name} follows; it is not stored, so pass it on to its owner now")
    typer.echo(token)


@app.command("ls")
def list_accounts(results: Place = None) -> None:
    """List accounts."""
    from bsjax.submission.accounts import accounts

    with open_store(results) as store:
        rows = [
            (each.name, "yes" if each.is_operator else "", each.email or "", when(each.created), when(each.revoked))
            for each in accounts(store)
        ]
    typer.echo("\n".join(table([_HEADER, *rows], names=(0,))) if rows else "no accounts")


@app.command()
def revoke(name: Annotated[str, typer.Argument(metavar="NAME", help="The account.")], results: Place = None) -> None:
    """Invalidate the token of an account; its submissions are kept."""
    from bsjax.submission.accounts import revoke as revoke_account

    with open_store(results, read_only=False) as store:
        revoke_account(store, name)


def protect(
    benchmark: Annotated[
        str | None, typer.Argument(metavar="[BENCHMARK]", help="Identifier or glob. [default: list private benchmarks]")
    ] = None,
    stimuli: Annotated[bool, typer.Option("--stimuli", help="Its stimuli are also private.")] = False,
    decimals: Annotated[
        int, typer.Option(metavar="N", min=0, max=6, help="Decimals of the scores that are shown.")
    ] = 2,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="Submissions of an account per period.")] = 5,
    days: Annotated[int, typer.Option(metavar="N", min=1, help="Length of the period in days.")] = 7,
    off: Annotated[bool, typer.Option("--off", help="Make it public again.")] = False,
    results: Place = None,
) -> None:
    """Mark benchmarks as private, or list private benchmarks.

    Scores on a private benchmark are rounded and limited in number per period. A new score is shown only if it improves
    on the best by more than chance explains. Values of neuroids, subjects or stimuli are never shown.
    """
    from bsjax.submission import protection

    if benchmark is None and off:
        raise ValueError("name the benchmark that is to be public again")
    with open_store(results, read_only=benchmark is None) as store:
        if benchmark is None:
            _list_protected(store)
        elif off:
            protection.unprotect(store, benchmark)
        else:
            protection.protect(store, benchmark, stimuli, decimals, limit, days)
            _check_there(benchmark)


def _list_protected(store: ResultStore) -> None:
    from bsjax.submission.protection import protections

    rows = [
        (each.benchmark, "private" if each.stimuli_private else "public", str(each.decimals))
        + (str(each.limit_per_period), str(each.period_days), when(each.created))
        for each in protections(store)
    ]
    typer.echo("\n".join(table([_PROTECTED, *rows], names=(0,))) if rows else "no benchmark is private")


def _check_there(benchmark: str) -> None:
    """Print a warning if no registered benchmark matches, e.g. after a spelling mistake."""
    from bsjax.benchmarks import benchmark_registry

    if not any(fnmatchcase(name, benchmark) for name in benchmark_registry):
        complain(f"no installed benchmark is named {benchmark!r}: the setting takes effect once one is")
