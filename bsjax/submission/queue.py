"""The queue of submissions: each has steps, one after another, which workers take; none can be stuck.

A worker has a step under a lease, which its heartbeat renews. When the worker dies, another takes the step: at once
where it sees that the process is gone, else when the lease has run out. What a worker says of a step that is not its
own any more counts for nothing. Each state says since when it is so, and why.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from sqlalchemy import Connection, RowMapping, case, delete, exists, insert, select, update

from bsjax.core.messages import in_words, printable
from bsjax.labelled.plain_values import to_plain
from bsjax.results import ResultStore, tables
from bsjax.results.database import alone_in
from bsjax.results.leases import is_gone, now_by_database, this_process

ENVIRONMENT, WORK = "environment", "work"
"""Names of the folders beside the files of a submission: of what is installed for it, and of what its steps write."""

MEMORY_CLASSES = (4, 8, 16, 32, 64)
"""The limits of memory that a step can be run under, in GiB."""

ENDS_OF_LOG = 100_000
"""So many characters of a log are kept of its beginning, and of its end."""

Visibility = Literal["private", "public"]
_GIB = 1 << 30
_MOST_LOST = 3
_LONGEST_NAME = 100
_CUT = "\n[... cut ...]\n"
_PASSED, _TO_BE_TRIED_AGAIN = ("done", "skipped"), ("failed", "cancelled", "skipped")
_FREE: dict[str, Any] = {"owner": None, "worker": None, "expires": None}
_of, _steps = tables.submissions.c, tables.steps.c


@dataclass(frozen=True)
class Submission:
    """What somebody has handed in.

    Attributes:
        id: 32 hexadecimal digits.
        account: the number of the account; None of what was handed in on this machine.
        name: what it is called there.
        kinds: what it registers: ``"model"``, ``"benchmark"``, ...
        content: the SHA-256 of its files.
        folder: where these are, in a folder that is this submission's alone.
        visibility: ``"private"`` or ``"public"``.
        state: ``"received"``, ``"running"``, ``"waiting"`` for a review, ``"done"``, ``"failed"`` or ``"cancelled"``.
        since: when it got there, ISO 8601 in UTC.
        reason: why, in one line.
        created: when it was handed in.
        previous: the one before it of the same account and name.
        facts: what else is known of it.
    """

    id: str
    account: int | None
    name: str
    kinds: tuple[str, ...]
    content: str
    folder: Path
    visibility: Visibility
    state: str
    since: str
    reason: str
    created: str
    previous: str | None
    facts: Mapping[str, Any]

    @property
    def trusted(self) -> bool:
        """Whether an operator trusts what was handed in, or has accepted it in a review."""
        return bool(self.facts.get("trusted") or self.facts.get("review", {}).get("accepted"))


@dataclass(frozen=True)
class Step:
    """A step of a submission.

    Attributes:
        id: its number.
        submission: the submission's.
        name: what is done.
        state: ``"queued"``, ``"running"``, ``"waiting"`` for a review, ``"done"``, ``"failed"``, ``"skipped"`` or
            ``"cancelled"``.
        since, reason: as of a submission; of a step that is running, how far it is.
        attempt: how often it was begun.
        memory_class: the bytes that it may hold.
        peak: the most bytes that it was seen to hold.
        started, seconds: when it was begun last, and how long it took.
        worker: who has it.
        log: what it has printed; of much, the beginning and the end.
    """

    id: int
    submission: str
    name: str
    state: str
    since: str
    reason: str
    attempt: int
    memory_class: int
    peak: int | None
    started: str | None
    seconds: float | None
    worker: str | None
    log: str


def class_for(peak: int) -> int:
    """The smallest class of memory, in bytes, that holds so many bytes; the largest if none does.

    Example:
        >>> class_for(5 << 30) >> 30, class_for(1 << 50) >> 30
        (8, 64)
    """
    return next((size for each in MEMORY_CLASSES if (size := each * _GIB) >= peak), MEMORY_CLASSES[-1] * _GIB)


def add(
    store: ResultStore,
    *,
    name: str,
    folder: str | Path,
    content: str,
    kinds: Sequence[str],
    steps: Sequence[str],
    account: int | None = None,
    visibility: Visibility | None = None,
    facts: Mapping[str, Any] | None = None,
    once: bool = False,
) -> Submission:
    """Queue a submission.

    A step is run under the smallest class of memory, or under that which it took in the submission before.

    Args:
        store: the store of results.
        name: what it is called; what cannot be printed is written as its number.
        folder, content: its files, as :func:`~bsjax.submission.receiving.receive` has put them.
        kinds: what it registers.
        steps: their names, in order.
        account: the number of the account that hands it in; None on this machine.
        visibility: of its scores; private by default, on this machine public.
        facts: what else is known of it, as JSON can hold it.
        once: whether one of the same account, name and content, which neither failed nor was cancelled, is given
            instead, as whoever got no answer hands in again.

    Raises:
        FileNotFoundError: the folder is not there: a submission of the same content was removed meanwhile.
        ValueError: no steps, or one twice.
        OSError, ConnectionError, TimeoutError: the store cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as here, ResultStore(f"{here}/results.db") as store:
        ...     made = add(store, name="gabor", folder=here, content="0" * 64, kinds=[], steps=["tests", "score"])
        ...     step = claim_next(store, "a worker", 60)
        ...     done = finish(store, step.id, "a worker", peak=1 << 20)
        ...     made.state, step.name, done, submission(store, made.id[:8]).reason
        ('received', 'tests', True, 'score: waits for a worker that has 4 GiB')
    """
    if not steps or len(set(steps)) < len(steps):
        raise ValueError(f"a submission has steps of different names, got {list(steps)}")
    row: dict[str, Any] = {"id": uuid.uuid4().hex, "account_id": account, "name": printable(name)[:_LONGEST_NAME]}
    row |= {"kinds": list(kinds), "content": content, "folder": str(folder), "state": "received"}
    row |= {"reason": "", "visibility": visibility or ("public" if account is None else "private")}
    row["facts"] = to_plain(dict(facts or {}), "the facts of the submission")
    with _changing(store) as connection:
        # Of several at once, each counts those that were created before it, which are to be seen by then.
        now = _now()
        row |= {"created": now, "since": now}
        if not Path(folder).is_dir():
            raise FileNotFoundError(f"the files of {row['name']} are not at {folder} any more: hand it in again")
        same = _of.account_id == account, _of.name == row["name"]
        alike = select(tables.submissions).where(*same, _of.content == content, _of.state.not_in(_TO_BE_TRIED_AGAIN))
        if once and (there := connection.execute(alike).mappings().first()) is not None:
            return _as_submission(there)
        asked = select(_of.id).where(*same).order_by(_of.created.desc(), _of.id).limit(1)
        row["previous"] = connection.execute(asked).scalar()
        before = select(_steps.name, _steps.peak).where(_steps.submission_id == row["previous"])
        peaks = {step: peak for step, peak in connection.execute(before)}
        connection.execute(insert(tables.submissions).values(row))
        step = {"submission_id": row["id"], "state": "queued", "since": now, "attempt": 0, "log": "", "lost": []}
        for position, each in enumerate(steps):
            memory = class_for(peaks.get(each) or 0)
            step |= {"name": each, "position": position, "memory_class": memory, "reason": _waits(memory)}
            connection.execute(insert(tables.steps).values(step))
        _follow(connection, row["id"])
    return submission(store, row["id"])


def submission(store: ResultStore, id_prefix: str) -> Submission:
    """A submission, by as many of the first digits of its id as no other has.

    Raises:
        KeyError: there is none, or several begin so.
    """
    return _as_submission(store.found(id_prefix, tables.submissions))


def submissions(
    store: ResultStore, account: int | None = None, states: Collection[str] | None = None
) -> list[Submission]:
    """All submissions, or those of an account, or in some states; the last first."""
    asked = select(tables.submissions).order_by(_of.created.desc(), _of.id)
    asked = asked if account is None else asked.where(_of.account_id == account)
    asked = asked if states is None else asked.where(_of.state.in_(states))
    with store.reading() as connection:
        return [_as_submission(row) for row in connection.execute(asked).mappings()]


def steps(store: ResultStore, submission_id: str) -> list[Step]:
    """The steps of a submission, in order."""
    asked = select(tables.steps).where(_steps.submission_id == submission_id).order_by(_steps.position)
    with store.reading() as connection:
        return [_as_step(row) for row in connection.execute(asked).mappings()]


def claim_next(
    store: ResultStore,
    worker: str,
    seconds: float,
    memory_at_most: int | None = None,
    submission_id: str | None = None,
) -> Step | None:
    """Take the oldest step that can be run: of several workers who ask at once, one gets it.

    It is one that is queued, or whose worker is gone, and whose earlier steps are done. A step that has lost so many
    workers that it seems to kill them has failed.

    Args:
        store: the store.
        worker: who takes it, by a name that no other has.
        seconds: from now, after which others may take it over.
        memory_at_most: the bytes that the worker has; only what is run within these is taken.
        submission_id: only steps of this submission.

    Returns:
        The step; None where there is nothing to do.
    """
    asked = _whose_turn_it_is()
    asked = asked if submission_id is None else asked.where(_steps.submission_id == submission_id)
    with _changing(store) as connection:
        now = now_by_database(connection)
        for row in connection.execute(asked).mappings().all():
            if row["state"] == "running":
                if row["expires"] > now and not is_gone(row["worker"]):
                    continue
                if not _lost(connection, row):
                    continue
            if memory_at_most is not None and row["memory_class"] > memory_at_most:
                continue
            taken = {"owner": worker, "worker": this_process(), "expires": now + seconds, "started": _now()}
            taken |= {"attempt": row["attempt"] + 1, "seconds": None}
            _set(connection, row, "running", f"begun by {worker}", **taken)
            found = connection.execute(select(tables.steps).where(_steps.id == row["id"])).mappings().one()
            return _as_step(found)
    return None


def waiting_for_workers(store: ResultStore) -> list[Step]:
    """The steps that a worker could take now, the oldest first."""
    with store.reading() as connection:
        now = now_by_database(connection)
        rows = connection.execute(_whose_turn_it_is()).mappings().all()
    return [_as_step({**row, "log": ""}) for row in rows if row["state"] == "queued" or row["expires"] <= now]


def _whose_turn_it_is() -> Any:
    """What asks for the steps that are queued or running, and whose earlier steps are done."""
    before = tables.steps.alias()
    earlier = before.c.submission_id == _steps.submission_id, before.c.position < _steps.position
    open_before = exists().where(*earlier, before.c.state.not_in(_PASSED))
    of = [column for column in _steps if column.name != "log"]
    return select(*of).where(_steps.state.in_(("queued", "running")), ~open_before).order_by(_steps.id)


def heartbeat(store: ResultStore, step_id: int, worker: str, seconds: float, note: str = "") -> bool:
    """Keep a step, until so many seconds from now.

    Args:
        store, step_id, worker, seconds: as of :func:`claim_next`.
        note: how far it is, in one line.

    Returns:
        Whether it is this worker's still; if not, it was cancelled or is another's: stop.
    """
    with _changing(store) as connection:
        row = _mine(connection, step_id, worker)
        if row is None:
            return False
        values: dict[str, Any] = {"expires": now_by_database(connection) + seconds}
        connection.execute(
            update(tables.steps).where(_steps.id == step_id).values(values | ({"reason": note} if note else {}))
        )
        if note:
            _follow(connection, row["submission_id"])
    return True


def append_log(store: ResultStore, step_id: int, text: str) -> None:
    """Add to the log of a step, which keeps its first and its last 100,000 characters."""
    with _changing(store) as connection:
        there = connection.execute(select(_steps.log).where(_steps.id == step_id)).scalar() or ""
        log = there + text
        if len(log) > 2 * ENDS_OF_LOG + len(_CUT):
            log = log[:ENDS_OF_LOG] + _CUT + log[-ENDS_OF_LOG:]
        connection.execute(update(tables.steps).where(_steps.id == step_id).values(log=log))


def finish(
    store: ResultStore,
    step_id: int,
    worker: str,
    *,
    peak: int | None = None,
    facts: Mapping[str, Any] | None = None,
) -> bool:
    """A step is done.

    Args:
        store, step_id, worker: as of :func:`claim_next`.
        peak: the most bytes that it held.
        facts: what is known of the submission now; added to what was known.

    Returns:
        Whether this counts: False where the step is not this worker's any more.
    """
    with _changing(store) as connection:
        row = _mine(connection, step_id, worker)
        if row is None:
            return False
        _add_facts(connection, row["submission_id"], facts or {})
        _end(connection, row, "done", "", peak=peak)
    return True


def fail(store: ResultStore, step_id: int, worker: str, reason: str, *, peak: int | None = None) -> bool:
    """A step has failed, for a reason in one line, and with it the submission; gives whether this counts."""
    with _changing(store) as connection:
        row = _mine(connection, step_id, worker)
        if row is not None:
            _fail(connection, row, reason, peak=peak)
    return row is not None


def requeue_larger(store: ResultStore, step_id: int, worker: str, peak: int, next_class: int | None) -> bool:
    """A step ran out of memory: it is queued once more under a larger limit, and fails where it had its second chance.

    Args:
        store, step_id, worker: as of :func:`claim_next`.
        peak: the most bytes that it held.
        next_class: the bytes that it may hold next; None where there are no more.

    Returns:
        Whether this counts: False where the step is not this worker's any more.
    """
    with _changing(store) as connection:
        row = _mine(connection, step_id, worker)
        if row is None:
            return False
        limit, outgrown, held = row["memory_class"], row["outgrown"], f"it held {in_words(peak)}"
        if outgrown is not None or next_class is None or next_class <= limit:
            limits = " and of ".join(_in_gib(each) for each in (outgrown, limit) if each is not None)
            _fail(connection, row, f"ran out of memory, under a limit of {limits}: {held}", peak=peak)
        else:
            why = f"ran out of memory, under a limit of {_in_gib(limit)} ({held}): {_waits(next_class)}"
            _end(connection, row, "queued", why, peak=peak, memory_class=next_class, outgrown=limit)
    return True


def wait_for_review(store: ResultStore, step_id: int, reason: str, worker: str | None = None) -> bool:
    """A step waits for an operator's :func:`review`, for a reason in one line; gives whether this counts.

    Args:
        store, step_id: as of :func:`claim_next`.
        reason: what is to be looked at.
        worker: who says so; then it counts only where the step is this worker's still.
    """
    by = () if worker is None else (_steps.owner == worker,)
    asked = select(tables.steps).where(_steps.id == step_id, _steps.state.in_(("queued", "running")), *by)
    with _changing(store) as connection:
        row = connection.execute(asked).mappings().first()
        if row is not None:
            _end(connection, row, "waiting", reason)
    return row is not None


def review(store: ResultStore, submission_id: str, accept: bool, comment: str = "") -> None:
    """Accept what waits for it, so that the steps after it are run; or send the submission back, which has failed then.

    Raises:
        KeyError: there is no such submission.
        ValueError: it waits for no review.
    """
    found = submission(store, submission_id)
    with _changing(store) as connection:
        said = f": {comment}" if comment else ""
        waiting = _rows(connection, found.id, ("waiting",))
        for row in waiting:
            _add_facts(connection, found.id, {"review": {"accepted": accept, "comment": comment, "time": _now()}})
            if accept:
                _set(connection, row, "done", f"accepted{said}")
            else:
                _fail(connection, row, f"sent back{said}")
    if not waiting:
        raise ValueError(f"{found.name} ({found.id[:12]}) waits for no review: it is {found.state}")


def retry(store: ResultStore, submission_id: str) -> None:
    """Queue again what has failed, was cancelled, or was left out for that; what is done stays.

    Raises:
        KeyError: there is no such submission.
        ValueError: it has neither failed nor was it cancelled.
    """
    found = submission(store, submission_id)
    with _changing(store) as connection:
        again = _rows(connection, found.id, _TO_BE_TRIED_AGAIN)
        for row in again:
            _set(connection, row, "queued", _waits(row["memory_class"]), lost=[], outgrown=None)
    if not again:
        raise ValueError(f"{found.name} ({found.id[:12]}) is {found.state}: nothing of it failed or was cancelled")


def cancel(store: ResultStore, submission_id: str) -> None:
    """Stop a submission: its worker hears of it by its next heartbeat.

    Raises:
        KeyError: there is no such submission.
        ValueError: it is over.
    """
    found = submission(store, submission_id)
    with _changing(store) as connection:
        going = _rows(connection, found.id, ("queued", "running", "waiting"))
        for row in going:
            _set(connection, row, "cancelled", "cancelled", **_FREE)
    if not going:
        raise ValueError(f"{found.name} ({found.id[:12]}) is {found.state}: there is nothing to cancel")


def show(store: ResultStore, submission_id: str, visibility: Visibility) -> None:
    """Make the scores of a submission public, or private.

    Raises:
        KeyError: there is no such submission.
    """
    found = submission(store, submission_id)
    with _changing(store) as connection:
        connection.execute(update(tables.submissions).where(_of.id == found.id).values(visibility=visibility))


def remove(store: ResultStore, submission_id: str) -> None:
    """Remove a submission with its files, and what was installed for it.

    Its scores stay, where they are public; those that nobody else was to see go with it.

    Raises:
        KeyError: there is no such submission.
        ValueError: it is running.
    """
    found = submission(store, submission_id)
    if found.visibility == "private":
        _remove_scores(store, found)
    # Moved aside first, as what takes long comes when others do not wait.
    asides = {path: path.with_name(f".{path.name}.removed") for path in (found.folder, *_beside(found.folder))}
    with _changing(store) as connection:
        if _rows(connection, found.id, ("running",)):
            raise ValueError(f"{found.name} ({found.id[:12]}) is running: cancel it first")
        connection.execute(delete(tables.steps).where(_steps.submission_id == found.id))
        connection.execute(delete(tables.submissions).where(_of.id == found.id))
        connection.execute(update(tables.submissions).where(_of.previous == found.id).values(previous=found.previous))
        for path, aside in asides.items():
            if path.is_dir():
                os.replace(path, aside)
    for aside in asides.values():
        shutil.rmtree(aside, ignore_errors=True)
    with suppress(OSError):  # where something else is in it
        found.folder.parent.rmdir()


def _beside(folder: Path) -> tuple[Path, Path]:
    """What steps make beside the files: what was installed, and what they write."""
    return folder.with_name(ENVIRONMENT), folder.with_name(WORK)


def _remove_scores(store: ResultStore, found: Submission) -> None:
    """Those of the models that no other submission has."""
    others = {name for each in submissions(store) if each.id != found.id for name in models_of(each)}
    mine = [name for name in models_of(found) if name not in others]
    if mine:
        store.remove(*store.frame(mine, latest=False, columns=["key"])["key"])


def models_of(submission: Submission) -> list[str]:
    """The identifiers of the models that were handed in."""
    return list(submission.facts.get("registers", {}).get("model", ()))


@contextmanager
def _changing(store: ResultStore) -> Iterator[Connection]:
    """A connection that changes the queue, which nobody else does meanwhile."""
    with store.writing() as connection:
        alone_in(connection, tables.steps)
        yield connection


def _rows(connection: Connection, submission_id: str, states: Collection[str]) -> Sequence[RowMapping]:
    asked = select(tables.steps).where(_steps.submission_id == submission_id, _steps.state.in_(states))
    return connection.execute(asked.order_by(_steps.position)).mappings().all()


def _mine(connection: Connection, step_id: int, worker: str) -> RowMapping | None:
    """The row of a step that a worker has; None where it is not this worker's any more."""
    asked = select(tables.steps).where(_steps.id == step_id, _steps.state == "running", _steps.owner == worker)
    return connection.execute(asked).mappings().first()


def _set(connection: Connection, row: RowMapping, state: str, reason: str, **values: Any) -> None:
    """Bring a step to a state, and its submission to what follows from it."""
    new = {"state": state, "reason": " ".join(reason.split()), "since": _now(), **values}
    connection.execute(update(tables.steps).where(_steps.id == row["id"]).values(new))
    _follow(connection, row["submission_id"])


def _end(connection: Connection, row: RowMapping, state: str, reason: str, **values: Any) -> None:
    """Whoever has a step leaves it."""
    took = row["seconds"]
    if row["state"] == "running":
        took = (datetime.now(UTC) - datetime.fromisoformat(row["started"])).total_seconds()
    _set(connection, row, state, reason, **_FREE, seconds=took, **values)


def _fail(connection: Connection, row: RowMapping, reason: str, **values: Any) -> None:
    _end(connection, row, "failed", reason, **values)
    for later in _rows(connection, row["submission_id"], ("queued",)):
        _set(connection, later, "skipped", f"{row['name']} has failed")


def _lost(connection: Connection, row: RowMapping) -> bool:
    """The worker of a step is gone; gives whether another may try."""
    lost = [*row["lost"], row["owner"]]
    if len(lost) >= _MOST_LOST:
        _fail(connection, row, f"lost its worker {len(lost)} times: {', '.join(lost)}", lost=lost)
        return False
    _end(connection, row, "queued", f"lost its worker {row['owner']}: {_waits(row['memory_class'])}", lost=lost)
    return True


def _follow(connection: Connection, submission_id: str) -> None:
    """Bring a submission to the state that follows from those of its steps."""
    asked = select(_steps.state, _steps.name, _steps.reason).where(_steps.submission_id == submission_id)
    found = connection.execute(asked.order_by(_steps.position)).all()
    first = {row.state: f"{row.name}: {row.reason}" for row in reversed(found)}
    states = ("failed", "cancelled", "waiting", "running", "queued")
    step = next((state for state in states if state in first), "done")
    is_begun = any(row.state != "queued" for row in found)
    state = step if step != "queued" else "running" if is_begun else "received"
    new = {"state": state, "reason": first[step] if step != "done" else "all steps are done"}
    since = case((_of.state == state, _of.since), else_=_now())
    connection.execute(update(tables.submissions).where(_of.id == submission_id).values(**new, since=since))


def _add_facts(connection: Connection, submission_id: str, facts: Mapping[str, Any]) -> None:
    known = connection.execute(select(_of.facts).where(_of.id == submission_id)).scalar_one()
    new = known | to_plain(dict(facts), "the facts of the submission")
    connection.execute(update(tables.submissions).where(_of.id == submission_id).values(facts=new))


def _as_submission(row: Mapping[Any, Any]) -> Submission:
    values = {name: value for name, value in row.items() if name != "account_id"}
    values |= {"account": row["account_id"], "kinds": tuple(row["kinds"]), "folder": Path(row["folder"])}
    return Submission(**values)


def _as_step(row: Mapping[Any, Any]) -> Step:
    names = [name for name in Step.__dataclass_fields__ if name not in ("submission", "worker")]
    return Step(submission=row["submission_id"], worker=row["owner"], **{name: row[name] for name in names})


def _waits(memory: int) -> str:
    return f"waits for a worker that has {_in_gib(memory)}"


def _in_gib(size: int) -> str:
    return f"{size / _GIB:g} GiB"


def _now() -> str:
    return datetime.now(UTC).isoformat()
