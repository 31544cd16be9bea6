"""``bsjax submissions``: see how far submissions are, read their logs, and review, retry, cancel or remove them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from bsjax.cli.results import Place, fields, open_store, table, when
from bsjax.core.memory import parse_bytes
from bsjax.core.messages import in_words, printable

if TYPE_CHECKING:
    from bsjax.results import ResultStore
    from bsjax.submission.queue import Step, Submission

app = typer.Typer(
    help="See how far submissions are; review, retry or cancel them.", no_args_is_help=True, rich_markup_mode=None
)

Id = Annotated[str, typer.Argument(metavar="ID", help="Of the submission, or the beginning of it.")]

_HEADER = ("id", "name", "account", "kinds", "shown", "state", "since", "why")
_STEPS = ("step", "state", "since", "attempt", "limit", "peak", "seconds", "why")
_DIGITS = 12
_OVER = ("done", "failed", "cancelled")
_ANCHOR = 1_000
_EVERY = 1.0


@app.command("ls")
def list_submissions(
    account: Annotated[str | None, typer.Option("--account", metavar="NAME", help="Only of this account.")] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Only received, running, waiting, done, failed or cancelled; may be given again.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="So many at most.")] = None,
    results: Place = None,
) -> None:
    """List submissions, the last first: in what state each is, since when, and why."""
    from bsjax.submission.queue import submissions

    with open_store(results) as store:
        names = _accounts(store)
        found = [each for each in submissions(store, states=state) if account in (None, names.get(each.account))]
    rows = [
        (each.id[:_DIGITS], each.name, names[each.account], ", ".join(each.kinds), each.visibility)
        + (each.state, when(each.since), each.reason)
        for each in found[:limit]
    ]
    typer.echo("\n".join(table([_HEADER, *rows], names=(1,))) if rows else "no submissions there")


@app.command()
def show(submission: Id, results: Place = None) -> None:
    """Show a submission, and what became of each of its steps."""
    with open_store(results) as store:
        print_submission(store, submission)


def print_submission(store: ResultStore, submission: str) -> Submission:
    """Print what became of a submission and of its steps; gives it."""
    from bsjax.submission import queue

    found = queue.submission(store, submission)
    steps = queue.steps(store, found.id)
    account = _accounts(store)[found.account]
    typer.echo(_line(found))
    known = {"account": account, "since": when(found.since), "kinds": ", ".join(found.kinds), "content": found.content}
    known |= {"folder": str(found.folder), "visibility": found.visibility, "created": when(found.created)}
    typer.echo("\n".join(["", *fields({**known, "id": found.id, "previous": found.previous, **found.facts}), ""]))
    typer.echo("\n".join(table([_STEPS, *map(_row, steps)], names=())))
    return found


@app.command()
def work(
    once: Annotated[bool, typer.Option("--once", help="End when nothing is queued.")] = False,
    memory: Annotated[
        str | None, typer.Option("--memory", metavar="SIZE", help="Take no step that may hold more, such as 16GB.")
    ] = None,
    submission: Annotated[
        str | None, typer.Option("--submission", metavar="ID", help="Take the steps of this submission alone.")
    ] = None,
    through: Annotated[
        str | None,
        typer.Option(
            "--through",
            metavar="COMMAND",
            help="Have jobs of a cluster run them: 'sbatch --mem={memory}G --wrap={command}'.",
        ),
    ] = None,
    dask: Annotated[
        str | None, typer.Option("--dask", metavar="ADDRESS", help="Have the workers of this Dask scheduler run them.")
    ] = None,
    results: Place = None,
) -> None:
    """Run the steps of submissions, one after the other; several workers share them."""
    from bsjax.submission import elsewhere, queue
    from bsjax.submission.worker import work as run

    def said(line: str) -> None:
        typer.echo(printable(line))

    with open_store(results, read_only=False) as store:
        if through is not None:
            elsewhere.send(store, elsewhere.by_command(store, through), until_idle=once, said=said)
            return
        if dask is not None:
            with elsewhere.by_dask(store, dask) as start:
                elsewhere.send(store, start, until_idle=once, said=said)
            return
        most = None if memory is None else parse_bytes(memory)
        found = None if submission is None else queue.submission(store, submission).id
        run(store, memory=most, submission=found, until_idle=once, said=said)


@app.command()
def log(
    submission: Id,
    step: Annotated[str | None, typer.Argument(metavar="[STEP]", help="Of this step alone.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the submission is over.")] = False,
    results: Place = None,
) -> None:
    """Print what the steps of a submission have printed."""
    from bsjax.submission import queue

    seen: dict[str, str] = {}
    last = step
    with open_store(results) as store:
        while True:
            found = queue.submission(
                store, submission
            )  # before its steps, so that their logs are whole when it is over
            steps = [each for each in queue.steps(store, found.id) if step in (None, each.name)]
            if not steps:
                there = ", ".join(each.name for each in queue.steps(store, found.id))
                raise ValueError(f"there is no step {step!r}; there are {there}")
            for each in steps:
                new = _what_is_new(seen.get(each.name, ""), each.log)
                if new and each.name != last:
                    typer.echo(f"== {printable(each.name)}")
                    last = each.name
                typer.echo("\n".join(printable(line.expandtabs()) for line in new.split("\n")), nl=False)
                seen[each.name] = each.log
            if not follow or found.state in _OVER:
                return
            time.sleep(_EVERY)


@app.command()
def retry(submission: Id, results: Place = None) -> None:
    """Queue again the steps that have failed or were cancelled; what is done stays."""
    from bsjax.submission import queue

    with open_store(results, read_only=False) as store:
        queue.retry(store, submission)
        typer.echo(_line(queue.submission(store, submission)))


@app.command()
def cancel(submission: Id, results: Place = None) -> None:
    """Stop a submission."""
    from bsjax.submission import queue

    with open_store(results, read_only=False) as store:
        queue.cancel(store, submission)
        typer.echo(_line(queue.submission(store, submission)))


@app.command()
def rm(
    submission: Id,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    results: Place = None,
) -> None:
    """Remove a submission and its files for good, once you have said yes; its scores stay."""
    from bsjax.submission import queue

    with open_store(results, read_only=False) as store:
        found = queue.submission(store, submission)
        typer.echo(_line(found))
        if yes or typer.confirm("Remove for good?", abort=True):
            queue.remove(store, found.id)


@app.command()
def accept(
    submission: Id,
    comment: Annotated[str, typer.Option("--message", "-m", metavar="COMMENT", help="What to say.")] = "",
    results: Place = None,
) -> None:
    """Accept a submission that waits for a review: what it runs is trusted from now on."""
    _review(submission, True, comment, results)


@app.command("return")
def return_(
    submission: Id,
    comment: Annotated[str, typer.Option("--message", "-m", metavar="COMMENT", help="Why, and what to change.")],
    results: Place = None,
) -> None:
    """Send back a submission that waits for a review."""
    _review(submission, False, comment, results)


def _review(submission: str, accept: bool, comment: str, results: str | None) -> None:
    from bsjax.submission import queue

    with open_store(results, read_only=False) as store:
        queue.review(store, submission, accept, comment)
        typer.echo(_line(queue.submission(store, submission)))


def _accounts(store: ResultStore) -> dict[int | None, str]:
    """The names of accounts by their numbers."""
    from bsjax.submission.accounts import accounts

    return {None: "", **{account.id: account.name for account in accounts(store)}}


def _line(found: Submission) -> str:
    return printable(f"{found.id[:_DIGITS]}  {found.name}: {found.state}, {found.reason}")


def _row(step: Step) -> tuple[str, ...]:
    peak = "" if step.peak is None else in_words(step.peak)
    took = "" if step.seconds is None else f"{step.seconds:.1f}"
    memory = f"{step.memory_class >> 30} GiB"
    return step.name, step.state, when(step.since), str(step.attempt), memory, peak, took, step.reason


def _what_is_new(seen: str, log: str) -> str:
    """What has come to a log since it was seen; of a long one the middle goes meanwhile."""
    if log.startswith(seen):
        return log[len(seen) :]
    from bsjax.submission.queue import ENDS_OF_LOG

    end = log[-ENDS_OF_LOG:]
    at = seen.find(end[:_ANCHOR])
    while at >= 0 and not end.startswith(seen[at:]):
        at = seen.find(end[:_ANCHOR], at + 1)
    return log[ENDS_OF_LOG:] if at < 0 else end[len(seen) - at :]
