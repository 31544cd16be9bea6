"""``bsjax submissions``: list, run, review, retry, cancel and remove submissions, and read their logs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from bsjax.cli.results import Limit, Place, Yes, fields, open_store, table, when
from bsjax.core.memory import parse_bytes
from bsjax.core.messages import in_words, printable

if TYPE_CHECKING:
    from bsjax.results import ResultStore
    from bsjax.submission.queue import Step, Submission

app = typer.Typer(help="List, run, review, retry or cancel submissions.", no_args_is_help=True, rich_markup_mode=None)

Id = Annotated[str, typer.Argument(metavar="ID", help="Id of the submission, or a prefix of it.")]

_HEADER = ("id", "name", "account", "kinds", "shown", "state", "since", "why")
_STEPS = ("step", "state", "since", "attempt", "limit", "peak", "seconds", "why")
_DIGITS = 12
_OVER = ("done", "failed", "cancelled")
_ANCHOR = 1_000
_EVERY = 1.0


@app.command("ls")
def list_submissions(
    account: Annotated[
        str | None, typer.Option("--account", metavar="NAME", help="Only submissions of this account.")
    ] = None,
    state: Annotated[
        list[str] | None,
        typer.Option(
            "--state",
            metavar="STATE",
            help="Only in this state: received, running, waiting, done, failed or cancelled; repeatable.",
        ),
    ] = None,
    limit: Limit = None,
    results: Place = None,
) -> None:
    """List submissions with their states and reasons, the most recent first."""
    from bsjax.submission.queue import submissions

    with open_store(results) as store:
        names = _accounts(store)
        found = [each for each in submissions(store, states=state) if account in (None, names.get(each.account))]
    rows = [
        (each.id[:_DIGITS], each.name, names[each.account], ", ".join(each.kinds), each.visibility)
        + (each.state, when(each.since), each.reason)
        for each in found[:limit]
    ]
    typer.echo("\n".join(table([_HEADER, *rows], names=(1,))) if rows else "no submissions")


@app.command()
def show(submission: Id, results: Place = None) -> None:
    """Show a submission and the state of each of its steps."""
    with open_store(results) as store:
        print_submission(store, submission)


def print_submission(store: ResultStore, submission: str) -> Submission:
    """Print the state of a submission and of its steps; gives the submission."""
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
    once: Annotated[bool, typer.Option("--once", help="Stop when nothing is queued.")] = False,
    memory: Annotated[
        str | None,
        typer.Option("--memory", metavar="SIZE", help="Run only steps with a memory limit up to this, such as 16GB."),
    ] = None,
    submission: Annotated[
        str | None, typer.Option("--submission", metavar="ID", help="Run only steps of this submission.")
    ] = None,
    through: Annotated[
        str | None,
        typer.Option(
            "--through",
            metavar="COMMAND",
            help="Submit the steps as cluster jobs: 'sbatch --mem={memory}G --wrap={command}'.",
        ),
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option("--dask", metavar="ADDRESS", help="Run the steps on the workers of this Dask scheduler."),
    ] = None,
    results: Place = None,
) -> None:
    """Run the steps of submissions one by one. Several workers can share the queue."""
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
    step: Annotated[str | None, typer.Argument(metavar="[STEP]", help="Only the log of this step.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Continue until the submission ends.")] = False,
    results: Place = None,
) -> None:
    """Print the logs of the steps of a submission."""
    from bsjax.submission import queue

    seen: dict[str, str] = {}
    last = step
    with open_store(results) as store:
        while True:
            # Read before its steps, so that their logs are complete if it has ended.
            found = queue.submission(store, submission)
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
    """Queue failed and cancelled steps again; finished steps are kept."""
    from bsjax.submission import queue

    with open_store(results, read_only=False) as store:
        queue.retry(store, submission)
        typer.echo(_line(queue.submission(store, submission)))


@app.command()
def cancel(submission: Id, results: Place = None) -> None:
    """Cancel a submission."""
    from bsjax.submission import queue

    with open_store(results, read_only=False) as store:
        queue.cancel(store, submission)
        typer.echo(_line(queue.submission(store, submission)))


@app.command()
def rm(
    submission: Id,
    yes: Yes = False,
    results: Place = None,
) -> None:
    """Remove a submission and its files permanently, after confirmation. Scores are kept if it is public."""
    from bsjax.submission import queue

    with open_store(results, read_only=False) as store:
        found = queue.submission(store, submission)
        typer.echo(_line(found))
        if yes or typer.confirm("Remove for good?", abort=True):
            queue.remove(store, found.id)


@app.command()
def accept(
    submission: Id,
    comment: Annotated[str, typer.Option("--message", "-m", metavar="COMMENT", help="A comment.")] = "",
    results: Place = None,
) -> None:
    """Accept a submission that waits for a review: its code is trusted from now on."""
    _review(submission, True, comment, results)


@app.command("return")
def return_(
    submission: Id,
    comment: Annotated[str, typer.Option("--message", "-m", metavar="COMMENT", help="The reason, and what to change.")],
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
    """Account number -> name."""
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
    """The new part of a log, whose middle may have been cut since it was last seen."""
    if log.startswith(seen):
        return log[len(seen) :]
    from bsjax.submission.queue import ENDS_OF_LOG

    end = log[-ENDS_OF_LOG:]
    at = seen.find(end[:_ANCHOR])
    while at >= 0 and not end.startswith(seen[at:]):
        at = seen.find(end[:_ANCHOR], at + 1)
    return log[ENDS_OF_LOG:] if at < 0 else end[len(seen) - at :]
