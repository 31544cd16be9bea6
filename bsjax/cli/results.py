"""``bsjax results``: list, compare and exchange stored scores."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bsjax.cli.outputs import check_outputs
from bsjax.cli.terminal import complain, width
from bsjax.cli.transfers import Report, transfers
from bsjax.core.messages import counted, printable, some

if TYPE_CHECKING:
    from bsjax.labelled import Score
    from bsjax.results import ResultStore

app = typer.Typer(help="List, compare and exchange stored scores.", no_args_is_help=True, rich_markup_mode=None)

Place = Annotated[
    str | None,
    typer.Option(
        "--results",
        metavar="PLACE",
        help="The store: a SQLite file or postgresql://... [default: $BSJAX_RESULTS, or results.db in $BSJAX_HOME]",
    ),
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", metavar="NAME", help="Only this model, or glob; repeatable."),
]
Benchmarks = Annotated[
    list[str] | None,
    typer.Option("--benchmark", "-b", metavar="NAME", help="Only this benchmark, or glob; repeatable."),
]
Limit = Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Largest number of rows.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
RawValues = Annotated[
    bool, typer.Option(" /--no-raw-values", help="Do not store the unaggregated values, which take the most space.")
]

_SCORES = ("key", "model", "benchmark", "score", "95 % interval", "ceiling", "when", "state")
_RUNS = ("run", "started", "ended", "cells", "done", "failed", "in flight")
_DIFFERENCES = ("model", "benchmark", "change", "one", "other", "difference", "differs")
# Number of digits of a key that are shown, enough to be unique among millions.
_DIGITS = 12
# Width of the columns other than names on a terminal, and the least width of a name.
_OTHER_COLUMNS, _LEAST_OF_NAMES = 96, 16
# Columns of scores on narrow terminals: the least width, with names cut, and their number.
_NARROW = ((84, 5), (0, 4))
_MOST_REFUSED = 20
_FIELD = 20


@app.command("ls")
def list_scores(
    model: Models = None,
    benchmark: Benchmarks = None,
    failed: Annotated[bool, typer.Option("--failed", help="Only failures.")] = False,
    run: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="Only scores of this run, given by a prefix of its name.")
    ] = None,
    limit: Limit = None,
    runs: Annotated[bool, typer.Option("--runs", help="List runs and their progress.")] = False,
    results: Place = None,
) -> None:
    """List the latest score of each model and benchmark, the most recent first.

    A terminal shows the columns that it has room for; `bsjax results show KEY` shows all.
    """
    if runs and (model or benchmark or failed or run):
        raise ValueError("--runs lists whole runs: leave out --model, --benchmark, --failed and --run")
    with open_store(results) as store:
        rows = list(_runs(store) if runs else _scores(store, model, benchmark, failed, run))
    if not rows:
        typer.echo(f"no {'runs' if runs else 'scores'} found")
        return
    typer.echo("\n".join(table([_RUNS, *rows[:limit]], ()) if runs else _of_scores(rows[:limit])))


@app.command()
def show(
    key: Annotated[
        str | None, typer.Argument(metavar="[KEY]", help="Key of a score or failure, or a prefix of it.")
    ] = None,
    model: Annotated[str | None, typer.Option("--model", "-m", metavar="NAME", help="The model.")] = None,
    benchmark: Annotated[str | None, typer.Option("--benchmark", "-b", metavar="NAME", help="The benchmark.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the complete score as JSON.")] = False,
    results: Place = None,
) -> None:
    """Show a score with its provenance, or a failure with its log.

    Select it by its key, or give a model and a benchmark to show the latest.
    """
    if (key is None) == (model is None or benchmark is None) or (key is not None and (model or benchmark)):
        raise ValueError("say what to show: a key, as `bsjax results ls` has it, or --model and --benchmark")
    from bsjax.results.overview import entry

    with open_store(results) as store:
        found = entry(store, _last_key(store, str(model), str(benchmark)) if key is None else key)
        score = None if found["state"] == "failed" else store.score(found["key"])
    if as_json:
        typer.echo(json.dumps(found if score is None else score.to_dict(), indent=1))
        return
    typer.echo("\n".join(_of_failure(found) if score is None else _of_score(found, score)))


@app.command()
def rm(
    keys: Annotated[
        list[str], typer.Argument(metavar="KEY...", help="Keys of scores or failures, or prefixes of them.")
    ],
    yes: Yes = False,
    results: Place = None,
) -> None:
    """Remove scores and failures permanently, after confirmation."""
    from bsjax.results.overview import entry

    with open_store(results, read_only=False) as store:
        found = [entry(store, key) for key in keys]
        for each in found:
            typer.echo(f"{each['key'][:_DIGITS]}  {each['model']} on {each['benchmark']}: {each['state']}")
        if yes or typer.confirm("Remove for good?", abort=True):
            store.remove(*[each["key"] for each in found])


@app.command()
def diff(
    other: Annotated[
        str | None, typer.Argument(metavar="[OTHER]", help="Another store, to compare with that of --results.")
    ] = None,
    runs: Annotated[
        tuple[str, str] | None,
        typer.Option("--runs", metavar="RUN RUN", help="Two runs, given by prefixes of their names."),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="Changes since this time, e.g. 2026-02-14T12:30.")
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", metavar="X", min=0, help="Ignore differences up to this size.")
    ] = 0.0,
    model: Models = None,
    benchmark: Benchmarks = None,
    results: Place = None,
) -> None:
    """List pairs whose latest scores differ between two stores, two runs, or a time and now, and what else differs."""
    if other is None and runs is None and since is None:
        raise ValueError("say what to compare: another store, --runs RUN RUN, or --since TIME")
    from bsjax.results.difference import difference
    from bsjax.results.tables import moment

    # A time without a zone is in that of the user, like the times that are shown.
    times = None if since is None else (moment(since, local=True), None)
    with ExitStack() as opened:
        stores = [opened.enter_context(open_store(place)) for place in (results, other)[: 1 if other is None else 2]]
        found = difference(
            *stores, runs=runs, times=times, models=model or None, benchmarks=benchmark or None, tolerance=tolerance
        )
    if found.empty:
        typer.echo("no differences")
        return
    typer.echo("\n".join(table([_DIFFERENCES, *map(_of_difference, found.to_dict("records"))], names=(0, 1))))


@app.command()
def export(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Output file: .csv, .json or .parquet.")],
    format: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="csv, json or parquet. [default: by the suffix]")
    ] = None,
    model: Models = None,
    benchmark: Benchmarks = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Export all scores, not only the latest of each model and benchmark.")
    ] = False,
    scores: Annotated[
        bool, typer.Option("--scores", help="Export complete scores as JSON, which `bsjax results import` restores.")
    ] = False,
    results: Place = None,
) -> None:
    """Export scores to a file: a table, or complete scores with --scores."""
    check_outputs({"FILE": path})
    from bsjax.results.exchange import export as write

    with open_store(results) as store:
        chosen: dict[str, Any] = {"models": model or None, "benchmarks": benchmark or None, "latest": not everything}
        n_rows = write(store, path, format, scores=scores, **chosen)
        n_older = len(store.frame(**{**chosen, "latest": False}, columns=["key"])) - n_rows
    older = f"; {counted(n_older, 'older score')} of the same pairs left out (--all exports them)" if n_older else ""
    typer.echo(f"{counted(n_rows, 'row')} in {printable(str(path))}{older}", err=True)


@app.command("import")
def import_(
    places: Annotated[
        list[str],
        typer.Argument(
            metavar="PLACE...",
            help="Scores in JSON, a folder of such files, a table (.csv) of scores or of Brain-Score's leaderboard, or "
            "a store.",
        ),
    ],
    raw_values: RawValues = True,
    results: Place = None,
) -> None:
    """Import scores into the store. Scores that it already contains are not duplicated.

    Invalid entries are reported on stderr, and the others are imported.
    """
    from bsjax.results.exchange import check_place, import_scores

    for place in places:
        check_place(place)  # before a store is created in vain
    with open_store(results, read_only=False) as store, _progress() as progress:
        refused = 0
        for place in places:
            found = import_scores(store, place, raw_values=raw_values, progress=progress)
            for why in found.refused[:_MOST_REFUSED]:
                complain(printable(why))
            if len(found.refused) > _MOST_REFUSED:
                complain(f"{_shown(place)}: {len(found.refused) - _MOST_REFUSED} more are refused")
            typer.echo(f"{_shown(place)}: {found}")
            refused += len(found.refused)
    if refused:
        raise typer.Exit(1)


@app.command()
def merge(
    places: Annotated[
        list[str], typer.Argument(metavar="OTHER...", help="Other stores: SQLite files or postgresql://...")
    ],
    raw_values: RawValues = True,
    results: Place = None,
) -> None:
    """Copy all scores, failures and runs from other stores that are not yet in this one.

    Repeat an interrupted merge to continue it.
    """
    from bsjax.results.exchange import merge as take

    with open_store(results, read_only=False) as store, _progress() as progress:
        for place in places:
            with open_store(place) as other:
                typer.echo(f"{_shown(place)}: {take(store, other, raw_values=raw_values, progress=progress)}")


def store_of_scores(place: str | None) -> ResultStore:
    """Open the store for new scores.

    If no store is named and that in ``$BSJAX_HOME`` cannot be written, a temporary one is used and named on stderr.
    """
    from bsjax.results.database import VARIABLE

    try:
        return open_store(place, read_only=False)
    except OSError as error:
        if place or os.environ.get(VARIABLE):
            raise
        instead = Path(tempfile.mkdtemp(prefix="bsjax-")) / "results.db"
        complain(f"{error}; scores of this run are kept in {instead}")
        return open_store(str(instead), read_only=False)


def open_store(place: str | None, read_only: bool = True) -> ResultStore:
    """Open the store at a path or URL, which must exist if it is opened for reading only."""
    from bsjax.results import ResultStore

    return ResultStore(place, read_only=read_only)


def _shown(place: str) -> str:
    # The part of a URL before the last @ may contain a password.
    return printable(re.sub("(?<=://).*@", "...@", place, flags=re.DOTALL))


def _progress() -> AbstractContextManager[Report | None]:
    """Progress bars on a terminal; otherwise nothing, as the numbers are printed at the end."""
    return transfers("copied", "rows") if sys.stderr.isatty() else nullcontext()


def _scores(
    store: ResultStore, models: list[str] | None, benchmarks: list[str] | None, failed: bool, run: str | None
) -> Iterator[tuple[str, ...]]:
    from bsjax.results.overview import latest

    found = latest(store, models or None, benchmarks or None, run=run)
    if failed:
        found = found[found["state"] == "failed"]
    # Reversed first, so that rows without a start time are also listed with the most recent first.
    found = found.iloc[::-1].sort_values("started", ascending=False, kind="stable", na_position="last")
    for row in found.to_dict("records"):
        state = f"{row['state']}: {row['reason']}" if row["reason"] else row["state"]
        score, ceiling = (
            _number(row[name], row[error]) for name, error in (("score", "error"), ("ceiling", "ceiling_error"))
        )
        names = row["key"][:_DIGITS], row["model"], row["benchmark"]
        yield *names, score, _interval(row["low"], row["high"]), ceiling, when(row["started"]), state


def _of_scores(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """The table of scores, with as many whole columns as a terminal has room for."""
    columns, names = width(), (1, 2)
    if columns is None or columns >= _OTHER_COLUMNS + len(names) * _LEAST_OF_NAMES:
        return table([_SCORES, *rows], names)
    kept = next(number for least, number in _NARROW if columns >= least)
    # Without a score, the state says why.
    short = [(*row[:3], row[3] or row[-1].partition(":")[0], *row[4:kept]) for row in rows]
    others = sum(max(len(cell) for cell in column) + 2 for column in list(zip(_SCORES[:kept], *short, strict=True))[3:])
    return table([_SCORES[:kept], *short], names, _DIGITS + others + 4)


def _runs(store: ResultStore) -> Iterator[tuple[str, ...]]:
    from bsjax.results.overview import runs

    for row in runs(store).iloc[::-1].to_dict("records"):
        counts = (str(row[name]) for name in ("n_cells", "done", "failed", "in_flight"))
        yield row["run"][:_DIGITS], when(row["started"]), when(row["ended"]), *counts


def _of_difference(row: Mapping[str, Any]) -> tuple[str, ...]:
    one, other = (
        row[f"state_{side}"]
        if _is_missing(row[f"score_{side}"])
        else _number(row[f"score_{side}"], row[f"error_{side}"])
        for side in ("one", "other")
    )
    size = "" if _is_missing(row["difference"]) else f"{row['difference']:+.2g}"
    sides = ("" if _is_missing(side) else side for side in (one, other))
    return row["model"], row["benchmark"], row["change"], *sides, size, row["differs"]


def _last_key(store: ResultStore, model: str, benchmark: str) -> str:
    """The key of the latest score or failure of a pair."""
    from bsjax.results.overview import latest

    found = latest(store, model, benchmark)
    if len(found) != 1:
        pairs = [printable(f"{row['model']} on {row['benchmark']}") for row in found.to_dict("records")]
        there = f"these are {len(found)}: {some(pairs)}" if pairs else "there is none; see `bsjax results ls`"
        raise ValueError(f"expected one score of {model!r} on {benchmark!r}, but {there}")
    return found["key"].iloc[0]


def _of_score(found: Mapping[str, Any], score: Score) -> Iterator[str]:
    """The lines that show a score and its provenance."""
    from bsjax.labelled.settings import in_words

    # The interval shown is that of the table, as a score without its draws would have another one.
    alone = replace(score, uncertainty=None)
    yield printable(f"{found['model']} on {found['benchmark']}, version {found['version']}: {alone!r}")
    yield ""
    own = {"key": found["key"], "run": found["run_id"], "cell": found["cell"], "error is": score.error_kind}
    if found["low"] is not None:
        own["95 % interval"] = f"{_interval(found['low'], found['high'])}, {found['interval']}"
    own |= {"unceiled": None if score.unceiled is None else f"{score.unceiled!r}"}
    own |= {"ceiling": None if score.ceiling is None else f"{score.ceiling!r}"}
    own |= {"ceiling by": None if score.ceiling is None else score.ceiling.provenance.computed_by}
    if score.n_units is not None:
        own["units"] = f"{score.n_units}, {score.n_undefined} of them with undefined values"
    made = score.provenance
    words = {name: in_words(getattr(made, name)) for name in ("settings", "seeds")}
    plain = made.to_dict()
    yield from fields({**own, **plain, **words, "details": _without_arrays(plain.get("details"))})


def _without_arrays(plain: Any) -> Any:
    """Plain values with the size of each array in its place; --json prints the values."""
    if not isinstance(plain, dict):
        return plain
    for kind in ("$labelled", "$array"):
        if kind in plain:
            return f"{len(plain[kind]['values'])} values"
    return {name: _without_arrays(value) for name, value in plain.items()}


def _of_failure(found: Mapping[str, Any]) -> Iterator[str]:
    """The lines that show a failure and its log."""
    kind = f"{found['kind']}: " if found["kind"] else ""
    yield printable(f"{found['model']} on {found['benchmark']} failed: {kind}{found['error']}")
    yield ""
    names = {"key": "key", "run": "run_id", "cell": "cell", "start": "started", "seconds": "seconds"}
    yield from fields({name: found[column] for name, column in names.items()})
    if found["log"]:
        yield ""
        yield from (printable(line.expandtabs()) for line in found["log"].splitlines())


def fields(values: Mapping[str, Any]) -> Iterator[str]:
    """Format names and values in two columns, without empty values."""
    for name, value in values.items():
        if value not in (None, ""):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield f"{name:<{_FIELD}}{printable(text)}"


def table(rows: Sequence[tuple[str, ...]], names: Sequence[int], others: int = _OTHER_COLUMNS) -> Iterator[str]:
    """Format rows in columns two spaces apart. On a terminal lines are cut, columns ``names`` first.

    Args:
        rows: cells, the header first.
        names: the numbers of the columns that are cut first.
        others: the width of the other columns and of all gaps.
    """
    from rich.cells import cell_len, set_cell_size

    columns = width()
    cells = [[_cell(text) for text in row] for row in rows]
    if columns is not None and names:
        most = max(_LEAST_OF_NAMES, (columns - others) // len(names))
        cells = [[_cut(cell, most) if number in names else cell for number, cell in enumerate(row)] for row in cells]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        line = "  ".join(set_cell_size(cell, w) for cell, w in zip(row, widths, strict=True)).rstrip()
        yield line if columns is None else _cut(line, columns)


def _cut(text: str, columns: int) -> str:
    from rich.cells import cell_len, set_cell_size

    return text if cell_len(text) <= columns else f"{set_cell_size(text, columns - 1)}…"


def _cell(text: str) -> str:
    # Outer or repeated spaces would look like the space between two columns.
    return re.sub(r"^ | (?= )| $", r"\\x20", printable(text)) or "-"


def _number(value: float, error: float) -> str:
    if _is_missing(value):
        return ""
    return f"{value:z.4f}" + ("" if _is_missing(error) else f" ± {error:z.4f}")


def _interval(low: float | None, high: float | None) -> str:
    return "" if _is_missing(low) or _is_missing(high) else f"{low:z.4f}..{high:z.4f}"


def when(text: Any) -> str:
    """Format a time to minutes, in the user's time zone; other text is returned unchanged."""
    if _is_missing(text):
        return ""
    try:
        return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")
    except (ValueError, OverflowError):
        return text


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))
