"""What the processes do that the tests of the queue of submissions start."""

import os
import signal
import time
from pathlib import Path

from bsjax.results import ResultStore
from bsjax.submission import queue


def add_some(place: str, folder: str, adder: int, n: int, together) -> None:
    """Hand in submissions when all others do."""
    with ResultStore(place) as store:
        together.wait()
        for number in range(n):
            queue.add(
                store, name=f"{adder}-{number}", folder=folder, content="0" * 64, kinds=["model"], steps=["one", "two"]
            )


def claim_all(place: str, lease: float, name: str, done: str, dies_at: int | None) -> None:
    """Take steps until none are left; each that counts is a line of a file. One dies at its step of a number."""
    number = 0
    with ResultStore(place) as store:
        while {each.state for each in queue.submissions(store)} - {"done", "failed"}:
            step = queue.claim_next(store, name, lease)
            if step is None:
                time.sleep(0.02)
                continue
            if number == dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            number += 1
            if queue.finish(store, step.id, name):
                with Path(done).open("a") as file:
                    file.write(f"{step.id}\n")


def print_slowly(place: str, n: int) -> None:
    """Print more than a log keeps, by numbered lines, while others read it."""
    with ResultStore(place) as store:
        step = queue.claim_next(store, "w", 60)
        assert step is not None
        for number in range(n):
            queue.append_log(store, step.id, f"{number}{'x' * 9_000}\n")
            time.sleep(0.1)
        queue.finish(store, step.id, "w")
