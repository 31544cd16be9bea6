"""The queue of submissions, whose steps are run in order by workers.

A worker holds a lease on its step and renews it by heartbeats. If the worker dies, another one takes the step:
immediately if it can see that the process is gone, else when the lease has expired. Reports of a worker about a step
that it no longer holds are ignored. Each state is stored with its time and reason.
"""

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
from bsjax.results.store import delete_results

ENVIRONMENT, WORK = "environment", "work"
"""Names of the folders next to the files of a submission: for its environment, and for the output of its steps."""

MEMORY_CLASSES = (4, 8, 16, 32, 64)
"""Memory limits under which a step can run, in GiB."""

ENDS_OF_LOG = 100_000
"""Number of characters kept of the beginning of a log, and of its end."""

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
    """A submission.

    Attributes:
        id: 32 hexadecimal digits.
        account: number of the account; None if it was handed in on this machine.
        name: name of the submission within the account.
        kinds: kinds of its registrations: ``"model"``, ``"benchmark"``, ...
        content: SHA-256 of its files.
        folder: folder of its files, inside a folder used by this submission alone.
        visibility: ``"private"`` or ``"public"``.
        state: ``"received"``, ``"running"``, ``"waiting"`` for a review, ``"done"``, ``"failed"`` or ``"cancelled"``.
        since: when it entered this state, ISO 8601 in UTC.
        reason: reason for the state, in one line.
        created: when it was handed in.
        previous: id of the previous submission of the same account and name.
        facts: further information about it.
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
        """Whether an operator trusts the submission or has accepted it in a review."""
        return bool(self.facts.get("trusted") or self.facts.get("review", {}).get("accepted"))


@dataclass(frozen=True)
class Step:
    """A step of a submission.

    Attributes:
        id: number of the step.
        submission: id of the submission.
        name: name of the step.
        state: ``"queued"``, ``"running"``, ``"waiting"`` for a review, ``"done"``, ``"failed"``, ``"skipped"`` or
            ``"cancelled"``.
        since, reason: time and reason of the state; while the step is running, the reason is its progress.
        attempt: how often it was started.
        memory_class: its memory limit in bytes.
        peak: largest measured memory in bytes.
        started, seconds: time of the last start, and duration.
        worker: the worker that holds the lease.
        log: what it has printed; if long, only the beginning and the end.
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
    """Find the smallest memory class, in bytes, that is not below a peak in bytes; the largest class if all are.

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

    Each step starts in the smallest memory class that held the same step of the previous submission, or in the smallest
    class if there was none.

    Args:
        store: the store of results.
        name: name of the submission; unprintable characters are escaped.
        folder, content: folder and digest of its files, from :func:`~bsjax.submission.receiving.receive`.
        kinds: kinds of its registrations.
        steps: names of the steps, in order.
        account: number of the account; None on this machine.
        visibility: visibility of its scores; by default private, or public without an account.
        facts: further information, serialisable as JSON.
        once: whether to return an existing submission of the same account, name and content that has neither failed nor
            been cancelled. This makes it safe to submit again after a lost answer.

    Raises:
        FileNotFoundError: the folder does not exist, because a submission of the same content was removed meanwhile.
        ValueError: there are no steps, or two of the same name.
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
        # The time is taken under the lock: concurrent submissions are counted in the order of their creation.
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
    """Find a submission by its id, or by an unambiguous prefix of it.

    Raises:
        KeyError: no submission matches, or several do.
    """
    return _as_submission(store.found(id_prefix, tables.submissions))


def submissions(
    store: ResultStore, account: int | None = None, states: Collection[str] | None = None
) -> list[Submission]:
    """List submissions, optionally those of an account or in some states, the most recent first."""
    asked = select(tables.submissions).order_by(_of.created.desc(), _of.id)
    asked = asked if account is None else asked.where(_of.account_id == account)
    asked = asked if states is None else asked.where(_of.state.in_(states))
    with store.reading() as connection:
        return [_as_submission(row) for row in connection.execute(asked).mappings()]


def steps(store: ResultStore, submission_id: str) -> list[Step]:
    """List the steps of a submission, in order."""
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
    """Claim the oldest step that can run. Of several workers that ask at once, only one gets it.

    A step can run if it is queued, or its worker is gone, and its earlier steps are done. A step that has lost three
    workers fails, as it probably kills them.

    Args:
        store: the store.
        worker: unique name of the worker.
        seconds: duration of the lease, after which other workers may take the step.
        memory_at_most: memory of the worker in bytes; steps with a larger memory class are not claimed.
        submission_id: claim only steps of this submission.

    Returns:
        The step; None if there is none.
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
            _set(connection, row, "running", f"started by {worker}", **taken)
            found = connection.execute(select(tables.steps).where(_steps.id == row["id"])).mappings().one()
            return _as_step(found)
    return None


def waiting_for_workers(store: ResultStore) -> list[Step]:
    """List the steps that a worker could claim now, the oldest first."""
    with store.reading() as connection:
        now = now_by_database(connection)
        rows = connection.execute(_whose_turn_it_is()).mappings().all()
    return [_as_step({**row, "log": ""}) for row in rows if row["state"] == "queued" or row["expires"] <= now]


def _whose_turn_it_is() -> Any:
    """The query for steps that are queued or running, and whose earlier steps are done."""
    before = tables.steps.alias()
    earlier = before.c.submission_id == _steps.submission_id, before.c.position < _steps.position
    open_before = exists().where(*earlier, before.c.state.not_in(_PASSED))
    of = [column for column in _steps if column.name != "log"]
    return select(*of).where(_steps.state.in_(("queued", "running")), ~open_before).order_by(_steps.id)


def heartbeat(store: ResultStore, step_id: int, worker: str, seconds: float, note: str = "") -> bool:
    """Renew the lease of a step.

    Args:
        store, step_id, worker, seconds: see :func:`claim_next`.
        note: progress of the step, in one line.

    Returns:
        Whether the worker still holds the step. If not, it was cancelled or taken over, and the worker must stop.
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
    """Append text to the log of a step, of which the first and last 100,000 characters are kept."""
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
    """Mark a step as done.

    Args:
        store, step_id, worker: see :func:`claim_next`.
        peak: largest measured memory, in bytes.
        facts: information to add to the facts of the submission.

    Returns:
        Whether the report was accepted; False if the worker no longer holds the step.
    """
    with _changing(store) as connection:
        row = _mine(connection, step_id, worker)
        if row is None:
            return False
        _add_facts(connection, row["submission_id"], facts or {})
        _end(connection, row, "done", "", peak=peak)
    return True


def fail(store: ResultStore, step_id: int, worker: str, reason: str, *, peak: int | None = None) -> bool:
    """Mark a step and its submission as failed, with a reason in one line; False if the worker does not hold it."""
    with _changing(store) as connection:
        row = _mine(connection, step_id, worker)
        if row is not None:
            _fail(connection, row, reason, peak=peak)
    return row is not None


def requeue_larger(store: ResultStore, step_id: int, worker: str, peak: int) -> bool:
    """Queue a step that ran out of memory again, once, with a larger limit. The second time, it fails.

    Args:
        store, step_id, worker: see :func:`claim_next`.
        peak: largest measured memory, in bytes.

    Returns:
        Whether the report was accepted; False if the worker no longer holds the step.
    """
    with _changing(store) as connection:
        row = _mine(connection, step_id, worker)
        if row is None:
            return False
        limit, outgrown, held = row["memory_class"], row["outgrown"], f"it used {in_words(peak)}"
        larger = class_for(limit + 1)
        if outgrown is not None or larger <= limit:
            limits = " and of ".join(_in_gib(each) for each in (outgrown, limit) if each is not None)
            _fail(connection, row, f"ran out of memory, under a limit of {limits}: {held}", peak=peak)
        else:
            why = f"ran out of memory, under a limit of {_in_gib(limit)} ({held}): {_waits(larger)}"
            _end(connection, row, "queued", why, peak=peak, memory_class=larger, outgrown=limit)
    return True


def wait_for_review(store: ResultStore, step_id: int, reason: str, worker: str | None = None) -> bool:
    """Let a step wait for an operator's :func:`review`.

    Args:
        store, step_id: see :func:`claim_next`.
        reason: what to review, in one line.
        worker: the worker that reports; if given, it must still hold the step.

    Returns:
        Whether the report was accepted.
    """
    by = () if worker is None else (_steps.owner == worker,)
    asked = select(tables.steps).where(_steps.id == step_id, _steps.state.in_(("queued", "running")), *by)
    with _changing(store) as connection:
        row = connection.execute(asked).mappings().first()
        if row is not None:
            _end(connection, row, "waiting", reason)
    return row is not None


def review(store: ResultStore, submission_id: str, accept: bool, comment: str = "") -> None:
    """Review a waiting submission: accept it, so that its next steps run, or send it back, so that it fails.

    Raises:
        KeyError: there is no such submission.
        ValueError: it is not waiting for a review.
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
    """Queue the failed, cancelled and skipped steps of a submission again. Steps that are done are kept.

    Raises:
        KeyError: there is no such submission.
        ValueError: it has neither failed nor been cancelled.
    """
    found = submission(store, submission_id)
    with _changing(store) as connection:
        again = _rows(connection, found.id, _TO_BE_TRIED_AGAIN)
        for row in again:
            _set(connection, row, "queued", _waits(row["memory_class"]), lost=[], outgrown=None)
    if not again:
        raise ValueError(f"{found.name} ({found.id[:12]}) is {found.state}: nothing of it failed or was cancelled")


def cancel(store: ResultStore, submission_id: str) -> None:
    """Cancel a submission. Its worker stops at the next heartbeat.

    Raises:
        KeyError: there is no such submission.
        ValueError: it has already ended.
    """
    found = submission(store, submission_id)
    with _changing(store) as connection:
        going = _rows(connection, found.id, ("queued", "running", "waiting"))
        for row in going:
            _set(connection, row, "cancelled", "cancelled", **_FREE)
    if not going:
        raise ValueError(f"{found.name} ({found.id[:12]}) is {found.state}: there is nothing to cancel")


def show(store: ResultStore, submission_id: str, visibility: Visibility) -> None:
    """Make the scores of a submission public or private.

    Raises:
        KeyError: there is no such submission.
    """
    found = submission(store, submission_id)
    with _changing(store) as connection:
        connection.execute(update(tables.submissions).where(_of.id == found.id).values(visibility=visibility))


def remove(store: ResultStore, submission_id: str) -> None:
    """Remove a submission with its files and its environment.

    The scores of a public submission are kept. Those of a private submission are removed, except for models that
    another submission also registers.

    Raises:
        KeyError: there is no such submission.
        ValueError: it is running.
    """
    found = submission(store, submission_id)
    # Only renamed under the lock; the slow removal follows when no other process waits for the lock.
    asides = {path: path.with_name(f".{path.name}.removed") for path in (found.folder, *_beside(found.folder))}
    with _changing(store) as connection:
        if _rows(connection, found.id, ("running",)):
            raise ValueError(f"{found.name} ({found.id[:12]}) is running: cancel it first")
        if found.visibility == "private":
            delete_results(connection, _own_scores(store, found))
        connection.execute(delete(tables.steps).where(_steps.submission_id == found.id))
        connection.execute(delete(tables.submissions).where(_of.id == found.id))
        connection.execute(update(tables.submissions).where(_of.previous == found.id).values(previous=found.previous))
        for path, aside in asides.items():
            if path.is_dir():
                os.replace(path, aside)
    for aside in asides.values():
        shutil.rmtree(aside, ignore_errors=True)
    with suppress(OSError):  # the folder contains other files
        found.folder.parent.rmdir()


def _beside(folder: Path) -> tuple[Path, Path]:
    """The folders of the environment and of the output of steps, next to the files."""
    return folder.with_name(ENVIRONMENT), folder.with_name(WORK)


def _own_scores(store: ResultStore, found: Submission) -> list[str]:
    """The keys of the scores of models that no other submission registers."""
    others = {name for each in submissions(store) if each.id != found.id for name in models_of(each)}
    mine = [name for name in models_of(found) if name not in others]
    return list(store.frame(mine, latest=False, columns=["key"])["key"]) if mine else []


def models_of(submission: Submission) -> list[str]:
    """List the identifiers of the models of a submission."""
    return list(submission.facts.get("registers", {}).get("model", ()))


@contextmanager
def _changing(store: ResultStore) -> Iterator[Connection]:
    """A connection with an exclusive lock on the queue."""
    with store.writing() as connection:
        alone_in(connection, tables.steps)
        yield connection


def _rows(connection: Connection, submission_id: str, states: Collection[str]) -> Sequence[RowMapping]:
    asked = select(tables.steps).where(_steps.submission_id == submission_id, _steps.state.in_(states))
    return connection.execute(asked.order_by(_steps.position)).mappings().all()


def _mine(connection: Connection, step_id: int, worker: str) -> RowMapping | None:
    """The row of a running step; None if the worker no longer holds it."""
    asked = select(tables.steps).where(_steps.id == step_id, _steps.state == "running", _steps.owner == worker)
    return connection.execute(asked).mappings().first()


def _set(connection: Connection, row: RowMapping, state: str, reason: str, **values: Any) -> None:
    """Set the state of a step, and update that of its submission."""
    new = {"state": state, "reason": " ".join(reason.split()), "since": _now(), **values}
    connection.execute(update(tables.steps).where(_steps.id == row["id"]).values(new))
    _follow(connection, row["submission_id"])


def _end(connection: Connection, row: RowMapping, state: str, reason: str, **values: Any) -> None:
    """Release the lease of a step, note its duration and set its state."""
    took = row["seconds"]
    if row["state"] == "running":
        took = (datetime.now(UTC) - datetime.fromisoformat(row["started"])).total_seconds()
    _set(connection, row, state, reason, **_FREE, seconds=took, **values)


def _fail(connection: Connection, row: RowMapping, reason: str, **values: Any) -> None:
    _end(connection, row, "failed", reason, **values)
    for later in _rows(connection, row["submission_id"], ("queued",)):
        _set(connection, later, "skipped", f"{row['name']} has failed")


def _lost(connection: Connection, row: RowMapping) -> bool:
    """Note that the worker of a step is gone; gives whether another worker may try."""
    lost = [*row["lost"], row["owner"]]
    if len(lost) >= _MOST_LOST:
        _fail(connection, row, f"lost its worker {len(lost)} times: {', '.join(lost)}", lost=lost)
        return False
    _end(connection, row, "queued", f"lost its worker {row['owner']}: {_waits(row['memory_class'])}", lost=lost)
    return True


def _follow(connection: Connection, submission_id: str) -> None:
    """Derive the state of a submission from the states of its steps."""
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
