"""The queue of submissions, in the store of results: what was handed in, its steps, and who is at each.

A step is claimed by a worker until a time, which the worker renews. When a worker is killed, that time runs out and the
step is queued again: at once, where it is seen that the process is gone. Whoever has lost a step changes nothing of it.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, delete, insert, or_, select, update

from bsjax.core.messages import in_words
from bsjax.results import ResultStore, tables
from bsjax.results.database import alone_in
from bsjax.results.leases import clock, is_gone

MEMORY_CLASSES = tuple(size << 30 for size in (4, 8, 16, 32, 64))
"""Bytes that a step may hold: the smallest at first, and once more the next where it runs out."""

LOST_AT_MOST = 3
"""How often a step may lose its worker before it counts as what ends them."""

_MOST_LOG = 100_000
_over = ("done", "skipped")
_of, _steps = tables.submissions.c, tables.steps.c


@dataclass(frozen=True)
class Submission:
    """What was handed in.

    Attributes:
        id: its name, 32 hexadecimal digits.
        account_id: of whom; None of an operator on this machine.
        name: as it was called.
        kinds: of plugins in it, such as "model"; or "activations".
        content: digest of its files.
        folder: where they lie, in a folder that is this submission's alone.
        is_public: whether others see its scores.
        state: "received", "running", "waiting", "done", "failed" or "cancelled".
        since: when it got there.
        reason: why.
        created: when it was handed in.
        previous: the submission of the same account and name before it.
        facts: what is known of it.
    """

    id: str
    account_id: int | None
    name: str
    kinds: list[str]
    content: str
    folder: str
    is_public: bool
    state: str
    since: str
    reason: str
    created: str
    previous: str | None
    facts: dict[str, Any]


@dataclass(frozen=True)
class Step:
    """A step of a submission.

    Attributes:
        id: its number.
        submission_id: of which submission.
        name: what is done.
        position: its place among the steps.
        state: "queued", "running", "waiting", "done", "failed", "skipped" or "cancelled".
        since: when it got there.
        reason: why.
        attempts: how often it was begun.
        lost: how often its worker was lost.
        memory: bytes that it may hold.
        peak: the most bytes that it has held.
        started: when it was begun last.
        seconds: how long it took.
        worker: who is at it.
    """

    id: int
    submission_id: str
    name: str
    position: int
    state: str
    since: str
    reason: str
    attempts: int
    lost: int
    memory: int
    peak: int | None
    started: str | None
    seconds: float | None
    worker: str | None


_STEP = [_steps[name] for name in Step.__dataclass_fields__]


def add(
    store: ResultStore,
    *,
    name: str,
    folder: str | Path,
    content: str,
    kinds: Sequence[str],
    steps: Sequence[str],
    account_id: int | None = None,
    is_public: bool = False,
    facts: Mapping[str, Any] | None = None,
) -> Submission:
    """Queue what was handed in.

    Args:
        store: the store.
        name, folder, content, kinds, account_id, is_public, facts: as :class:`Submission` has them.
        steps: names of what is to be done, in their order.

    Raises:
        OSError, ConnectionError, TimeoutError: the store cannot be written.
    """
    now, made = _now(), uuid.uuid4().hex
    row = {"id": made, "name": name, "folder": str(folder), "content": content, "kinds": list(kinds)}
    row |= {"account_id": account_id, "is_public": is_public, "facts": dict(facts or {}), "created": now}
    row |= {"state": "received", "since": now, "reason": "it waits for a worker"}
    of_step = {"state": "queued", "since": now, "reason": "", "attempts": 0, "lost": 0, "log": ""}
    rows = [
        {"submission_id": made, "name": step, "position": number, "memory": MEMORY_CLASSES[0], **of_step}
        for number, step in enumerate(steps)
    ]
    with store.writing() as connection:
        before = select(_of.id).where(_of.name == name, _of.account_id.is_not_distinct_from(account_id))
        row["previous"] = connection.execute(before.order_by(_of.created.desc()).limit(1)).scalar()
        connection.execute(insert(tables.submissions).values(row))
        connection.execute(insert(tables.steps), rows)
    return submission(store, made)


def submission(store: ResultStore, beginning: str) -> Submission:
    """A submission, by the first digits of its name.

    Raises:
        KeyError: there is none, or there are several.
    """
    return Submission(**store.found(beginning, tables.submissions))


def submissions(store: ResultStore, account_id: int | None = None) -> list[Submission]:
    """All submissions, or those of an account, the newest first."""
    asked = select(tables.submissions).order_by(_of.created.desc())
    with store.reading() as connection:
        rows = connection.execute(asked if account_id is None else asked.where(_of.account_id == account_id))
        return [Submission(**row) for row in rows.mappings()]


def steps(store: ResultStore, submission_id: str) -> list[Step]:
    """The steps of a submission, in their order."""
    asked = select(*_STEP).where(_steps.submission_id == submission_id).order_by(_steps.position)
    with store.reading() as connection:
        return [Step(**row) for row in connection.execute(asked).mappings()]


def log(store: ResultStore, step_id: int) -> str:
    """What a step has printed, as far as it is kept."""
    with store.reading() as connection:
        return connection.execute(select(_steps.log).where(_steps.id == step_id)).scalar_one()


def claim_next(
    store: ResultStore,
    worker: str,
    seconds: float,
    *,
    memory_at_most: int | None = None,
    submission_id: str | None = None,
) -> Step | None:
    """Claim the oldest step that can be done; of several who ask at once, one gets it.

    Steps of workers that are gone, or have not renewed their claim, come back first.

    Args:
        store: the store.
        worker: who asks, :func:`bsjax.results.leases.this_process`.
        seconds: until when, from now, if it is not renewed.
        memory_at_most: bytes that the step may ask for; any if not given.
        submission_id: only of this submission.

    Returns:
        The step; None if there is none.
    """
    earlier = tables.steps.alias().c
    waits = select(earlier.id).where(
        earlier.submission_id == _steps.submission_id,
        earlier.position < _steps.position,
        earlier.state.not_in(_over),
    )
    asked = select(_steps.id, _steps.submission_id).join_from(tables.steps, tables.submissions)
    asked = asked.where(_steps.state == "queued", ~waits.exists()).order_by(_of.created, _steps.position).limit(1)
    if memory_at_most is not None:
        asked = asked.where(_steps.memory <= memory_at_most)
    if submission_id is not None:
        asked = asked.where(_steps.submission_id == submission_id)
    with store.writing() as connection:
        alone_in(connection, tables.steps)
        now = clock(connection)
        _take_back(connection, now)
        found = connection.execute(asked).first()
        if found is None:
            return None
        begun = {"state": "running", "since": _now(), "started": _now(), "reason": "", "seconds": None}
        begun |= {"attempts": _steps.attempts + 1, "worker": worker, "expires": now + seconds}
        connection.execute(update(tables.steps).where(_steps.id == found.id).values(begun))
        _settle(connection, found.submission_id)
        [row] = connection.execute(select(*_STEP).where(_steps.id == found.id)).mappings()
        return Step(**row)


def heartbeat(store: ResultStore, step: Step, seconds: float, note: str = "") -> bool:
    """Renew a claim, until so many seconds from now, and say how far it is.

    Returns:
        False if the step is not this worker's any more, or was cancelled: it is to be left.
    """
    with store.writing() as connection:
        alone_in(connection, tables.steps)
        values: dict[str, Any] = {"expires": clock(connection) + seconds}
        if note:
            values["reason"] = note[:500]
        return connection.execute(update(tables.steps).where(*_mine(step)).values(values)).rowcount == 1


def append_log(store: ResultStore, step: Step, text: str) -> None:
    """Add to the log of a step, of which the beginning and the end are kept."""
    half = _MOST_LOG // 2
    with store.writing() as connection:
        before = connection.execute(select(_steps.log).where(*_mine(step))).scalar()
        if before is None:
            return
        whole = before + text
        if len(whole) > _MOST_LOG:
            whole = f"{whole[:half]}\n[...]\n{whole[-half:]}" if "\n[...]\n" not in whole[:half] else whole[-_MOST_LOG:]
        connection.execute(update(tables.steps).where(*_mine(step)).values(log=whole))


def finish(store: ResultStore, step: Step, *, peak: int = 0, facts: Mapping[str, Any] | None = None) -> bool:
    """Note that a step is done, and what is known of the submission since; False if it is not this worker's."""
    return _end(store, step, "done", "", peak, facts=facts)


def fail(store: ResultStore, step: Step, reason: str, *, peak: int = 0) -> bool:
    """Note that a step has failed, and the submission with it; False if it is not this worker's."""
    return _end(store, step, "failed", reason, peak)


def wait_for_review(store: ResultStore, step: Step, reason: str) -> bool:
    """Have a step wait for an operator; False if it is not this worker's."""
    return _end(store, step, "waiting", reason, 0)


def requeue_larger(store: ResultStore, step: Step, peak: int, reason: str) -> bool:
    """Queue a step that ran out of memory once more, in the class above; it fails where it was so before, or none is.

    Returns:
        False if it is not this worker's.
    """
    larger = next((each for each in MEMORY_CLASSES if each > step.memory), None)
    if larger is None or step.memory > MEMORY_CLASSES[0]:
        return _end(store, step, "failed", f"{reason}; it was tried with {in_words(step.memory)} too", peak)
    said = f"it ran out of {in_words(step.memory)}, having held {in_words(peak)}: once more with {in_words(larger)}"
    return _end(store, step, "queued", said, peak, memory=larger)


def review(store: ResultStore, beginning: str, accept: bool, comment: str = "") -> Submission:
    """Accept what waits for a review, which is trusted from then on, or send it back.

    Raises:
        KeyError: there is no such submission.
        ValueError: it does not wait.
    """
    found = submission(store, beginning)
    waiting = [step for step in steps(store, found.id) if step.state == "waiting"]
    if not waiting:
        raise ValueError(f"submission {found.id[:12]} ({found.name}) does not wait for a review: it is {found.state}")
    state, facts = ("done", {**found.facts, "trusted": True}) if accept else ("failed", found.facts)
    reason = comment or ("an operator has accepted it" if accept else "an operator has sent it back")
    with store.writing() as connection:
        values = {"state": state, "since": _now(), "reason": reason}
        connection.execute(update(tables.steps).where(_steps.id == waiting[0].id).values(values))
        connection.execute(update(tables.submissions).where(_of.id == found.id).values(facts=facts))
        _settle(connection, found.id)
    return submission(store, found.id)


def retry(store: ResultStore, beginning: str) -> Submission:
    """Queue again what failed or was cancelled of a submission; what is done stays.

    Raises:
        KeyError: there is no such submission.
        ValueError: there is nothing to try again.
    """
    found = submission(store, beginning)
    again = {"state": "queued", "since": _now(), "reason": "", "lost": 0, "worker": None, "expires": None}
    with store.writing() as connection:
        mine = _steps.submission_id == found.id, _steps.state.in_(("failed", "cancelled", "skipped"))
        if not connection.execute(update(tables.steps).where(*mine).values(again)).rowcount:
            raise ValueError(
                f"submission {found.id[:12]} ({found.name}) is {found.state}: there is nothing to try again"
            )
        _settle(connection, found.id)
    return submission(store, found.id)


def cancel(store: ResultStore, beginning: str) -> Submission:
    """End a submission: what is queued is not begun, and the worker that is at it ends it.

    Raises:
        KeyError: there is no such submission.
    """
    found = submission(store, beginning)
    ended = {"state": "cancelled", "since": _now(), "reason": "it was cancelled", "worker": None, "expires": None}
    with store.writing() as connection:
        mine = _steps.submission_id == found.id, _steps.state.in_(("queued", "running", "waiting"))
        connection.execute(update(tables.steps).where(*mine).values(ended))
        _settle(connection, found.id)
    return submission(store, found.id)


def remove(store: ResultStore, beginning: str) -> None:
    """Remove a submission and its files; its scores stay.

    Raises:
        KeyError: there is no such submission.
    """
    found = cancel(store, beginning)
    with store.writing() as connection:
        connection.execute(delete(tables.steps).where(_steps.submission_id == found.id))
        connection.execute(delete(tables.submissions).where(_of.id == found.id))
    shutil.rmtree(Path(found.folder).parent, ignore_errors=True)


def publish(store: ResultStore, beginning: str, is_public: bool) -> Submission:
    """Show the scores of a submission to others, or not.

    Raises:
        KeyError: there is no such submission.
    """
    found = submission(store, beginning)
    with store.writing() as connection:
        connection.execute(update(tables.submissions).where(_of.id == found.id).values(is_public=is_public))
    return submission(store, found.id)


def _mine(step: Step) -> tuple[Any, ...]:
    return (
        _steps.id == step.id,
        _steps.state == "running",
        _steps.worker == step.worker,
        _steps.attempts == step.attempts,
    )


def _end(
    store: ResultStore,
    step: Step,
    state: str,
    reason: str,
    peak: int,
    *,
    facts: Mapping[str, Any] | None = None,
    memory: int | None = None,
) -> bool:
    begun = datetime.fromisoformat(step.started) if step.started else datetime.now(UTC)
    values: dict[str, Any] = {"state": state, "since": _now(), "reason": reason, "worker": None, "expires": None}
    values |= {"seconds": (datetime.now(UTC) - begun).total_seconds(), "peak": max(peak, step.peak or 0)}
    if memory is not None:
        values["memory"] = memory
    with store.writing() as connection:
        alone_in(connection, tables.steps)
        if not connection.execute(update(tables.steps).where(*_mine(step)).values(values)).rowcount:
            return False
        if facts:
            known = connection.execute(select(_of.facts).where(_of.id == step.submission_id)).scalar_one()
            added = {**known, **facts}
            connection.execute(update(tables.submissions).where(_of.id == step.submission_id).values(facts=added))
        _settle(connection, step.submission_id)
    return True


def _take_back(connection: Connection, now: float) -> None:
    """Queue the steps of workers that are gone; what has lost several fails, as it may be its doing."""
    running = select(_steps.id, _steps.submission_id, _steps.worker, _steps.expires, _steps.lost)
    for row in connection.execute(running.where(_steps.state == "running")).all():
        if row.expires > now and not is_gone(row.worker):
            continue
        lost = row.lost + 1
        ends = lost >= LOST_AT_MOST
        said = f"its worker ({row.worker}) was lost" + (f", the {lost}. time: it may be what ends them" if ends else "")
        values = {"state": "failed" if ends else "queued", "since": _now(), "reason": said, "lost": lost}
        values |= {"worker": None, "expires": None}
        connection.execute(update(tables.steps).where(_steps.id == row.id).values(values))
        _settle(connection, row.submission_id)


def _settle(connection: Connection, submission_id: str) -> None:
    """The state of a submission, from its steps; those after one that failed are skipped."""
    asked = select(_steps.id, _steps.name, _steps.state, _steps.reason, _steps.position)
    rows = connection.execute(asked.where(_steps.submission_id == submission_id).order_by(_steps.position)).all()
    by_state = {state: [row for row in rows if row.state == state] for state in {row.state for row in rows}}
    state, said = "done", ""
    for name in ("failed", "cancelled", "running", "waiting", "queued"):
        if name in by_state:
            first = by_state[name][0]
            state, said = name, f"{first.name}: {first.reason}" if first.reason else f"{first.name} is {name}"
            break
    if state == "failed":
        after = [row.id for row in rows if row.state == "queued"]
        skipped = {"state": "skipped", "since": _now(), "reason": f"as {by_state['failed'][0].name} failed"}
        connection.execute(update(tables.steps).where(_steps.id.in_(after)).values(skipped))
    if state == "queued":
        begun = any(row.state in _over for row in rows)
        state, said = "running" if begun else "received", f"{said}; it waits for a worker"
    values = {"state": state, "reason": said}
    moved = or_(_of.state != state, _of.reason != said)
    connection.execute(
        update(tables.submissions).where(_of.id == submission_id, moved).values(values | {"since": _now()})
    )


def _now() -> str:
    return datetime.now(UTC).isoformat()
