"""Submission steps on a cluster: each waiting step is sent as a job."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from bsjax.core.extras import import_extra
from bsjax.results import ResultStore
from bsjax.results.database import VARIABLE
from bsjax.submission import queue

Start = Callable[[str, int], None]
"""A function of a submission and a memory limit in bytes that starts a job to run the steps."""

_POLL = 2.0
# Seconds until a step that still waits is sent again, as its job may have been lost.
_AGAIN = 3600.0


def send(
    store: ResultStore, start: Start, *, until_idle: bool = False, said: Callable[[str], None] = lambda line: None
) -> int:
    """Start a job for each waiting step, until none waits or for ever.

    A job also runs the later steps of its submission that fit in its memory. A step that needs more memory is sent as
    another job.

    Args:
        store: the store of results, which contains the queue. Jobs need access to it and to the folder of submissions.
        start: starts a job.
        until_idle: whether to return when no step waits.
        said: called with a line for each job that is sent.

    Returns:
        The number of jobs started.

    Raises:
        RuntimeError: a job cannot be started.
        OSError, ConnectionError, TimeoutError: the store cannot be read.
    """
    sent: dict[tuple[int, int, int], float] = {}
    while True:
        waiting = queue.waiting_for_workers(store)
        for step in waiting:
            turn, now = (step.id, step.attempt, step.memory_class), time.monotonic()
            if now - sent.get(turn, -_AGAIN) >= _AGAIN:
                start(step.submission, step.memory_class)
                sent[turn] = now
                said(f"{step.submission[:12]} {step.name}: sent, with {step.memory_class >> 30} GiB")
        if until_idle and not waiting:
            return len(sent)
        time.sleep(_POLL)


def by_command(store: ResultStore, template: str) -> Start:
    """Make a function that starts jobs with a command such as ``sbatch --mem={memory}G --wrap={command}``.

    Args:
        store: the store. Jobs get its address by an environment variable, since it may contain a password.
        template: the command, run without a shell. ``{command}`` is replaced by the command of the job, and
            ``{memory}`` by its memory in GiB.

    Raises:
        ValueError: the template does not contain ``{command}``.
    """
    if "{command}" not in template:
        raise ValueError(f"the command must have {{command}} in it, as in sbatch --wrap={{command}}, got {template!r}")

    def start(submission: str, memory: int) -> None:
        own = [sys.executable, "-m", "bsjax", "submissions", "work", "--once", "--submission", submission]
        run = shlex.join([*own, "--memory", f"{memory}B"])
        parts = [part.replace("{memory}", str(memory >> 30)) for part in shlex.split(template)]
        command = [part.replace("{command}", run) for part in parts]
        done = subprocess.run(
            command, env={**os.environ, VARIABLE: store.place}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{parts[0]} starts no job: {' '.join((done.stderr or done.stdout).split())}")

    return start


@contextmanager
def by_dask(store: ResultStore, address: str) -> Iterator[Start]:
    """Make a function that starts jobs on a running Dask cluster. Running jobs are awaited at the end of the block.

    Raises:
        ImportError: the extra ``distributed`` is not installed.
        OSError: no scheduler answers at the address.
    """
    distributed: Any = import_extra("distributed", "distributed")
    running: list[Any] = []  # Dask drops jobs whose futures are not referenced
    with distributed.Client(address) as client:

        def start(submission: str, memory: int) -> None:
            running[:] = [each for each in running if not each.done()]
            running.append(client.submit(_work_on, store.place, submission, memory, pure=False))

        yield start
        distributed.wait(running)


def _work_on(place: str, submission: str, memory: int) -> int:
    """Run the steps of a submission on a Dask worker."""
    from bsjax.submission.worker import work

    with ResultStore(place) as store:
        return work(store, submission=submission, memory=memory, until_idle=True)
