"""``bsjax cache``: list, prune and verify cached activations; ``bsjax warm-up``: compile programs ahead of use."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from bsjax.cli.terminal import complain, configure_jax
from bsjax.core.messages import counted, in_columns, in_words

if TYPE_CHECKING:
    from bsjax.activations.cache import ActivationCache, Entry

app = typer.Typer(help="List, prune and verify cached activations.", no_args_is_help=True, rich_markup_mode=None)

_HEADER = ("model", "layer", "stimuli", "units", "size", "last used")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_LONGEST = 100 * 365.25 * 86400


@app.command("ls")
def list_entries() -> None:
    """List cached activations, the most recently used first.

    For incomplete entries, the number of finished stimuli is shown.
    """
    entries = _cache().entries()
    if not entries:
        typer.echo("no cached activations")
        return
    typer.echo("\n".join(in_columns([_HEADER, *map(_row, entries)])))


@app.command()
def size() -> None:
    """Print the size, the size limit and the location of the cache."""
    cache = _cache()
    typer.echo(f"{in_words(cache.size())} of {in_words(cache.max_bytes)} in {cache.root}")


@app.command()
def prune(
    max_size: Annotated[
        str | None,
        typer.Option(
            "--max-size", metavar="SIZE", help="Evict the least recently used entries until this size, e.g. 10GB."
        ),
    ] = None,
    unused_for: Annotated[
        str | None, typer.Option("--unused-for", metavar="TIME", help="Only entries not used for this time, e.g. 30d.")
    ] = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="Only entries of this model, or glob.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Remove all entries.")] = False,
) -> None:
    """Remove cached activations, which are recomputed when they are needed.

    Entries that are being computed are kept.
    """
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
    typer.echo(
        f"removed {counted(len(removed), 'entry', 'entries')}, {freed}; {in_words(cache.size())} remain in {cache.root}"
    )


@app.command()
def verify(delete: Annotated[bool, typer.Option("--delete", help="Remove damaged entries.")] = False) -> None:
    """Read all cached activations, and list damaged entries."""
    cache = _cache()
    problems = cache.verify()
    for problem in problems:
        removed = delete and cache.remove(problem.key)
        typer.echo(f"{problem.folder}: {problem.what}{' (removed)' if removed else ''}")
    if problems:
        complain(f"{len(problems)} of the cached entries are damaged")
        raise typer.Exit(1)
    whole = [entry for entry in cache.entries() if entry.complete]
    typer.echo(f"{counted(len(whole), 'entry', 'entries')}, all intact")


def warm_up(
    metrics: Annotated[list[str], typer.Argument(metavar="METRIC...", help="Metrics that compare two arrays.")],
    sizes: Annotated[
        list[str],
        typer.Option("--size", metavar="SIZE", help="Stimuli x features x neuroids, such as 50x1000x168; repeatable."),
    ],
) -> None:
    """Compile the programs of metrics for some sizes, and keep them on disk.

    Later processes then start with their first comparison in a fraction of the time.
    """
    numbers = [re.fullmatch(r"(\d+)x(\d+)x(\d+)", size) for size in sizes]
    for size, found in zip(sizes, numbers, strict=True):
        if found is None or "0" in found.groups():
            raise typer.BadParameter(f"stimuli x features x neuroids, such as 50x1000x168, got {size!r}")
    configure_jax()
    import bsjax

    made = bsjax.warm_up(metrics, [(int(n[1]), int(n[2]), int(n[3])) for n in numbers if n is not None])
    typer.echo(f"{counted(made, 'program')} ready")


def _cache() -> ActivationCache:
    """The user's cache, even if ``$RESULTCACHING_DISABLE`` is set."""
    from bsjax.activations.cache import ActivationCache

    return ActivationCache()


def _row(entry: Entry) -> tuple[str, ...]:
    n_rows, units = entry.shape[0], " x ".join(map(str, entry.shape[1:]))
    stimuli = str(n_rows) if entry.complete else f"{entry.rows_done} of {n_rows}"
    used = entry.last_used.astimezone().strftime("%Y-%m-%d %H:%M")
    return entry.identifier, entry.layer, stimuli, units or "1", in_words(entry.n_bytes), used


def _duration(text: str) -> timedelta:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhdw])\s*", text)
    if found is None:
        raise ValueError(f"--unused-for needs a time such as 12h, 30d or 4w, got {text!r}")
    seconds = float(found[1]) * _SECONDS[found[2]]
    if seconds > _LONGEST:
        raise ValueError(f"--unused-for needs a time of at most 100 years, got {text!r}")
    return timedelta(seconds=seconds)
