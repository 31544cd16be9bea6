"""Worker processes of the service, which are restarted when they die and end with the service.

``python -m bsjax.service.workers`` runs one worker: like ``bsjax submissions work``, until its input is closed.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from bsjax.results import ResultStore
from bsjax.results.database import VARIABLE
from bsjax.submission.worker import work

_LOOKS_EVERY = 2.0


@contextmanager
def workers(place: str, n: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run n workers on a store while the block runs; gives the list of current processes."""
    # In a variable, since the address may contain a password and command lines are visible to all users.
    variables = {**os.environ, VARIABLE: place}
    over, started = threading.Event(), []

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "bsjax.service.workers"]
        return subprocess.Popen(command, stdin=subprocess.PIPE, env=variables)

    def keep() -> None:
        while not over.wait(_LOOKS_EVERY):
            for at, each in enumerate(started):
                if each.poll() is not None:
                    each.stdin.close()
                    started[at] = start()

    started += [start() for _ in range(n)]
    keeper = threading.Thread(target=keep, name="workers")
    keeper.start()
    try:
        yield started
    finally:
        over.set()
        keeper.join()
        for each in started:
            each.stdin.close()
        for each in started:
            with suppress(subprocess.TimeoutExpired):
                each.wait(10)
            each.kill()
            each.wait()


def main() -> None:
    """Run steps until the input is closed, which also happens if the service is killed."""

    def wait() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGINT)

    signal.signal(signal.SIGINT, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        threading.Thread(target=wait, daemon=True).start()
        with ResultStore() as store:
            work(store)


if __name__ == "__main__":
    main()
