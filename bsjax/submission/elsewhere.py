"""Workers elsewhere: each submission that waits is sent to a cluster, as a job that runs its steps."""

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
"""Starts a job that runs the steps of a submission, within so many bytes of memory."""

_POLL = 2.0
# After which a step that is still waiting is sent again, as its job may have been lost.
_AGAIN = 3600.0


def send(
    store: ResultStore, start: Start, *, until_idle: bool = False, said: Callable[[str], None] = lambda line: None
) -> int:
    """Start a job for each step that waits, as long as there are any, or for ever.

    A job takes the steps that come after it, too, as far as its memory goes; a step that needs more is sent anew.

    Args:
        store: the store of results, which has the queue; jobs must reach it, and the folder of submissions.
        start: starts a job.
        until_idle: whether to end when nothing waits.
        said: is told what was sent.

    Returns:
        How many jobs were started.

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
    """Starts jobs by a command such as ``sbatch --mem={memory}G --wrap={command}``.

    Args:
        store: the store; its place goes along in the environment, as it may hold a password.
        template: the command, without a shell; ``{command}`` is what the job runs, and ``{memory}`` its GiB.

    Raises:
        ValueError: the template does not say where the command goes.
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
    """Starts jobs on the workers of a Dask scheduler that runs; at the end of the block those that run are waited for.

    Raises:
        ImportError: the extra ``distributed`` is not installed.
        OSError: there is no scheduler at the address.
    """
    distributed: Any = import_extra("distributed", "distributed")
    running: list[Any] = []  # as Dask forgets what nobody holds
    with distributed.Client(address) as client:

        def start(submission: str, memory: int) -> None:
            running[:] = [each for each in running if not each.done()]
            running.append(client.submit(_work_on, store.place, submission, memory, pure=False))

        yield start
        distributed.wait(running)


def _work_on(place: str, submission: str, memory: int) -> int:
    """Run the steps of a submission, on a worker of Dask."""
    from bsjax.submission.worker import work

    with ResultStore(place) as store:
        return work(store, submission=submission, memory=memory, until_idle=True)
