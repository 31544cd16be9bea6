"""``bsjax cache``: see, bound and check the activations that are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from bsjax.cli.terminal import complain, in_columns

if TYPE_CHECKING:
    from bsjax.activations.cache import ActivationCache, Entry

app = typer.Typer(
    help="See, bound and check the activations that are kept.", no_args_is_help=True, rich_markup_mode=None
)

_HEADER = ("model", "layer", "stimuli", "units", "size", "last used")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST = 100 * 365.25 * 86400


@app.command("ls")
def list_entries() -> None:
    """List what is kept, the last used first.

    Work that was not finished says how many stimuli are done.
    """
    entries = _cache().entries()
    if not entries:
        typer.echo("nothing is kept")
        return
    typer.echo("\n".join(in_columns([_HEADER, *map(_row, entries)])))


@app.command()
def size() -> None:
    """Print how much is kept, how much may be, and where."""
    from bsjax.core.messages import in_words

    cache = _cache()
    typer.echo(f"{in_words(cache.size())} of at most {in_words(cache.max_bytes)} in {cache.root}")


@app.command()
def prune(
    max_size: Annotated[
        str | None,
        typer.Option("--max-size", metavar="SIZE", help="Keep this much, e.g. 10GB: what was used last stays."),
    ] = None,
    unused_for: Annotated[
        str | None, typer.Option("--unused-for", metavar="TIME", help="Only what was not used for so long, e.g. 30d.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Only what is of this model, or glob.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove all that is kept.")] = False,
) -> None:
    """Remove activations that are kept; they are computed again when they are wanted.

    What is being computed at the moment stays.
    """
    from bsjax.core.messages import in_words

    if everything and (max_size, unused_for, model) != (None, None, None):
        raise ValueError("--all removes everything: leave out the other options")
    if not everything and (max_size, unused_for, model) == (None, None, None):
        raise ValueError("say what to remove: --max-size 10GB, --unused-for 30d, --model NAME or --all")
    cache = _cache()
    removed = cache.prune(
        max_bytes=0 if everything else max_size,
        unused_for=None if unused_for is None else _duration(unused_for),
        model=model,
    )
    freed = in_words(sum(entry.n_bytes for entry in removed))
    typer.echo(f"removed {_counted(removed)}, {freed}; {in_words(cache.size())} are left in {cache.root}")


@app.command()
def verify(delete: Annotated[bool, typer.Option("--delete", help="Remove those that are damaged.")] = False) -> None:
    """Read all that is kept, and name what is damaged."""
    cache = _cache()
    problems = cache.verify()
    for problem in problems:
        removed = delete and cache.remove(problem.key)
        typer.echo(f"{problem.folder}: {problem.what}{' (removed)' if removed else ''}")
    if problems:
        complain(f"{len(problems)} of the activations that are kept are damaged")
        raise typer.Exit(1)
    whole = [entry for entry in cache.entries() if entry.complete]
    typer.echo(f"{_counted(whole)}: all as written")


def _cache() -> ActivationCache:
    """The user's cache, also while ``$RESULTCACHING_DISABLE`` is set."""
    from bsjax.activations.cache import ActivationCache

    return ActivationCache()


def _row(entry: Entry) -> tuple[str, ...]:
    from bsjax.core.messages import in_words

    n_rows, units = entry.shape[0], " x ".join(map(str, entry.shape[1:]))
    stimuli = str(n_rows) if entry.complete else f"{entry.rows_done} of {n_rows}"
    used = entry.last_used.astimezone().strftime("%Y-%m-%d %H:%M")
    return entry.identifier, entry.layer, stimuli, units or "1", in_words(entry.n_bytes), used


def _counted(entries: Sequence[Entry]) -> str:
    return f"{len(entries)} {'entry' if len(entries) == 1 else 'entries'}"


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", text)
    if found is None:
        raise ValueError(f"--unused-for needs a time such as 12h, 30d or 4w, got {text!r}")
    seconds = float(found[1]) * _SECONDS[found[2]]
    if seconds > _LONGEST:
        raise ValueError(f"--unused-for needs a time of at most 100 years, got {text!r}")
    return timedelta(seconds=seconds)
