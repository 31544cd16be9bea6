"""Uploads while the service is killed and started again: none is lost, none is there twice."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
import urllib3

from bsjax.results import ResultStore
from bsjax.results.database import VARIABLE
from bsjax.service.workers import workers
from bsjax.submission import queue
from bsjax.submission.accounts import add_account
from tests.service.conftest import Client, free_port, zipped

# More by hand: BSJAX_TEST_UPLOADS="50 20" for 50 uploads of 20 MiB.
N, MIB = map(int, os.environ.get("BSJAX_TEST_UPLOADS", "24 1").split())


@contextmanager
def process(port, *options):
    command = [sys.executable, "-m", "bsjax", "serve", "--port", str(port), *options]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with suppress(urllib3.exceptions.HTTPError):
                if urllib3.request("GET", f"http://127.0.0.1:{port}/health", retries=False).status == 200:
                    break
            time.sleep(0.05)
        yield started
    finally:
        started.kill()
        started.wait()


@pytest.mark.slow
def test_none_is_lost_and_none_is_there_twice(tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))
    monkeypatch.setenv(VARIABLE, str(tmp_path / "results.db"))
    port, extra = free_port(), os.urandom(MIB << 20)
    with ResultStore() as store:
        token = add_account(store, "lab", limits={"uploads": 1000})

        def hand_in(number):
            """Until it is answered, as a careful client does."""
            for _ in range(600):
                with suppress(urllib3.exceptions.HTTPError, OSError):
                    answer = Client(f"http://127.0.0.1:{port}").upload(
                        token, zipped(f"m{number}", extra), f"s{number}", timeout=600
                    )
                    if answer.status == 201:
                        return answer.json()["id"]
                time.sleep(0.05)
            raise AssertionError(f"{number} was never answered")

        with ThreadPoolExecutor(N) as pool:
            with process(port, "--workers", "0"):
                answers = [pool.submit(hand_in, number) for number in range(N)]
                while not 3 <= len(queue.submissions(store)) < N:
                    time.sleep(0.01)
            with process(port, "--workers", "0"):
                ids = {answer.result(600) for answer in answers}
        found = queue.submissions(store)
        assert {each.id for each in found} == ids and len(found) == N
        assert {each.name for each in found} == {f"s{number}" for number in range(N)}
        assert all([*each.folder.rglob("weights.bin")] for each in found)


@pytest.mark.slow
def test_workers_are_started_again_and_end_with_the_service(tmp_path):
    with ResultStore(tmp_path / "results.db"):
        pass
    with workers(str(tmp_path / "results.db"), 1) as started:
        [first] = started
        os.kill(first.pid, signal.SIGKILL)
        for _ in range(200):
            if started[0].pid != first.pid:
                break
            time.sleep(0.05)
        [second] = started
        assert second.pid != first.pid and second.poll() is None
    assert second.poll() is not None
