"""Workers, which claim queued steps and run each in its own process."""

import os
import selectors
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bsjax.results import ResultStore
from bsjax.results.database import VARIABLE
from bsjax.results.leases import is_gone, this_process
from bsjax.submission import queue
from bsjax.submission.queue import Step
from bsjax.submission.steps import Came

# Seconds without a heartbeat after which another worker may take a step.
_LEASE = 60.0
_POLL, _SAYS = 2.0, 1.0
_PART, _LONGEST_NOTE = 1 << 16, 300
# File in the folder of an attempt that names its worker.
_WHOSE = "worker"


def work(
    store: ResultStore,
    *,
    memory: int | None = None,
    submission: str | None = None,
    until_idle: bool = False,
    said: Callable[[str], None] = lambda line: None,
) -> int:
    """Run queued steps, until the queue is empty or for ever.

    Args:
        store: the store of results, which contains the queue.
        memory: largest memory class of the steps to run, in bytes; by default any.
        submission: id of a submission; only its steps are run.
        until_idle: whether to return when no step is queued.
        said: called with each line of each log.

    Returns:
        The number of steps run.

    Raises:
        OSError, ConnectionError, TimeoutError: the store cannot be written.
    """
    worker, done = f"{this_process()} {uuid.uuid4().hex[:8]}", 0
    while True:
        step = queue.claim_next(store, worker, _LEASE, memory, submission)
        if step is not None:
            _run(store, step, worker, said)
            done += 1
        elif until_idle:
            return done
        else:
            time.sleep(_POLL)


def _run(store: ResultStore, step: Step, worker: str, said: Callable[[str], None]) -> None:
    """Run a step with its log and lease, and report its outcome to the queue."""
    work = queue.submission(store, step.submission).folder.with_name(queue.WORK)
    _remove_left(work)
    # One per attempt, since a worker that has lost the step may not have noticed it yet.
    folder = work / f"{step.id}.{step.attempt}"
    folder.mkdir(parents=True)
    (folder / _WHOSE).write_text(this_process())
    answer = folder / "answer.json"
    command = [sys.executable, "-m", "bsjax.submission.steps", step.submission, step.name, str(answer)]
    # In a variable, since the address may contain a password and command lines are visible to all users.
    variables = {**os.environ, "TMPDIR": str(folder), VARIABLE: store.place}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=variables, start_new_session=True
    )
    try:
        if not _followed(store, step, worker, process, said):
            return  # the step was cancelled or taken over
        came = Came.read(answer, process.wait())
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()  # type: ignore[union-attr]
        shutil.rmtree(folder, ignore_errors=True)
    if came.state == "done":
        queue.finish(store, step.id, worker, peak=came.peak or None, facts=came.facts)
    elif came.state == "memory":
        queue.requeue_larger(store, step.id, worker, came.peak)
    elif came.state == "waiting":
        queue.wait_for_review(store, step.id, came.reason, worker)
    else:
        queue.fail(store, step.id, worker, came.reason, peak=came.peak or None)


def _remove_left(work: Path) -> None:
    """Remove the folders of workers that were killed."""
    for folder in work.glob("*"):
        with suppress(OSError):
            if is_gone((folder / _WHOSE).read_text()):
                shutil.rmtree(folder, ignore_errors=True)


def _followed(store: ResultStore, step: Step, worker: str, process: Any, said: Callable[[str], None]) -> bool:
    """Maintain the log and the lease of a step until its process ends; False if the worker no longer holds it."""
    text, note = bytearray(), ""
    renewed = told = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            part = b"" if not selector.select(_SAYS) else os.read(process.stdout.fileno(), _PART)
            text += part
            now, is_over = time.monotonic(), not part and process.poll() is not None
            if text and (is_over or now - told >= _SAYS):
                lines = text.decode("utf-8", "replace")
                for line in lines.splitlines():
                    said(line)
                    note = line.strip()[:_LONGEST_NOTE] or note
                queue.append_log(store, step.id, lines)
                text, told = bytearray(), now
            if is_over:
                return True
            if now - renewed >= _LEASE / 3:
                renewed = now
                if not queue.heartbeat(store, step.id, worker, _LEASE, note):
                    return False
