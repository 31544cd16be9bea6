"""Views of submissions, restricted to what an account may see."""

import difflib
import hashlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from bsjax.core.files import as_json
from bsjax.core.messages import in_words, printable
from bsjax.results import ResultStore
from bsjax.service.watch import OVER
from bsjax.submission import protection, queue
from bsjax.submission.accounts import Account
from bsjax.submission.queue import Step, Submission

ENDS = 20_000
"""Number of characters shown of the end of a log."""

_LARGEST_FILE, _MOST_LINES = 200_000, 4_000
_HIDDEN = "The log of this step may show private stimuli: only operators can see it."


def found_for(store: ResultStore, account: Account, submission: str) -> Submission:
    """Find a submission by its full id, if the account may see it.

    Raises:
        KeyError: there is no such submission, or the account may not see it.
    """
    found = queue.submission(store, submission)
    if found.id != submission or not (account.is_operator or found.account == account.id):
        raise KeyError(submission)
    return found


def seen(store: ResultStore, account: Account, found: Submission) -> dict[str, Any]:
    """Get the view of a submission for an account, serialisable as JSON; ``after`` is a digest of its content."""
    hides = not account.is_operator and any(each.stimuli_private for each in protection.protections(store))
    steps = [_step(each, hides and each.name == "private") for each in queue.steps(store, found.id)]
    # The reason of a running step is the last line of its log.
    reason = "" if hides and found.state == "running" else found.reason
    plain = {"id": found.id, "name": found.name, "kinds": ", ".join(found.kinds), "visibility": found.visibility}
    plain |= {"state": found.state, "since": found.since, "reason": reason, "created": found.created, "steps": steps}
    plain |= {"over": found.state in OVER, "registers": found.facts.get("registers", {}), "previous": found.previous}
    plain["shown"] = found.facts.get("shown", {})
    plain["after"] = hashlib.sha256(as_json(plain)).hexdigest()[:16]
    return plain


def log_of(store: ResultStore, account: Account, found: Submission, step: str) -> str:
    """Get the full log of a step, with control characters escaped.

    Raises:
        KeyError: there is no such step.
    """
    [each] = [each for each in queue.steps(store, found.id) if each.name == step] or [None]
    if each is None:
        raise KeyError(step)
    hides = not account.is_operator and any(one.stimuli_private for one in protection.protections(store))
    return _HIDDEN if hides and step == "private" else harmless(each.log)


def _step(step: Step, hides: bool) -> dict[str, Any]:
    is_private = hides and step.state == "running"
    return {
        "name": step.name,
        "state": step.state,
        "since": step.since,
        "reason": "" if is_private else printable(step.reason),
        "attempt": step.attempt,
        "seconds": "" if step.seconds is None else f"{step.seconds:.1f} s",
        "peak": "" if step.peak is None else in_words(step.peak),
        "memory": f"{step.memory_class >> 30} GiB",
        "log": _HIDDEN if hides else harmless(step.log[-ENDS:]),
    }


def harmless(log: str) -> str:
    r"""Escape the control characters of a log, such as those that move the cursor or change the text direction.

    Example:
        >>> harmless("\x1b[2Jfirst\nsecond")
        '\\x1b[2Jfirst\nsecond'
    """
    return "\n".join(printable(line.expandtabs()) for line in log.split("\n"))


def moment(time: str) -> str:
    """Format an ISO 8601 time to minutes."""
    return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M")


def health(store: ResultStore) -> dict[str, Any]:
    """Get the length of the queue by state, and the time since which the oldest submission waits."""
    there = queue.submissions(store, states=("received", "running", "waiting"))
    lengths = {state: sum(each.state == state for each in there) for state in ("received", "running", "waiting")}
    oldest = min((each.since for each in there if each.state == "received"), default=None)
    return {"status": "ok", "queue": lengths, "oldest_waiting": oldest}


def running(store: ResultStore) -> Iterator[tuple[Submission, Step]]:
    """Iterate over the running steps and their submissions."""
    for found in queue.submissions(store, states=("running",)):
        for step in queue.steps(store, found.id):
            if step.state == "running":
                yield found, step


def changes(store: ResultStore, found: Submission) -> str:
    """Get the unified diff of a submission's files to those of the previous submission, if there is one."""
    try:
        before = queue.submission(store, found.previous).folder if found.previous else None
    except KeyError:
        before = None
    new, old = _files(found.folder), _files(before) if before else {}
    lines: list[str] = []
    for name in sorted(new | old):
        one, other = _lines(old.get(name)), _lines(new.get(name))
        lines += difflib.unified_diff(one, other, f"before/{name}", f"now/{name}", lineterm="")
        if len(lines) > _MOST_LINES:
            lines = [*lines[:_MOST_LINES], f"... more: see {found.folder}"]
            break
    return harmless("\n".join(lines))


def _files(folder: Path) -> dict[str, Path]:
    return {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}


def _lines(path: Path | None) -> list[str]:
    """The lines of a text file; the size and digest of a binary or large file."""
    if path is None:
        return []
    if path.stat().st_size <= _LARGEST_FILE:
        content = path.read_bytes()
        if b"\0" not in content:
            return content.decode("utf-8", "replace").splitlines()
    with path.open("rb") as file:
        return [f"{in_words(path.stat().st_size)}, SHA-256 {hashlib.file_digest(file, 'sha256').hexdigest()}"]
