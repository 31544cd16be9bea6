"""What the processes do that the tests of the store of results start."""

import os
import random
from pathlib import Path

from bsjax.results import ResultStore
from bsjax.results.leases import claim
from bsjax.results.store import Task
from tests.support.large_store import ceiled_score

MODELS, BENCHMARKS = 12, 5


def numbers_of(writer: int, n: int, n_common: int) -> list[tuple[int, int]]:
    """What a writer writes, in an order of its own: a part that is the same of each writer, and its own."""
    mixed = [(0, number) for number in range(n_common)]
    mixed += [(writer + 1, number) for number in range(n - n_common)]
    random.Random(writer).shuffle(mixed)
    return mixed


def numbered_score(seed: int, number: int):
    return ceiled_score(
        f"model{number % MODELS}", f"benchmark{number % BENCHMARKS}", 1000 * seed + number, start=f"2026-01-0{seed + 1}"
    )


def write_scores(place: str, writer: int, n: int, n_common: int, start) -> None:
    """Write scores, from the moment when all are ready."""
    scores = [numbered_score(*each) for each in numbers_of(writer, n, n_common)]
    with ResultStore(place) as store:
        start.wait()
        for score in scores:
            store.add(score)


def make_store(place: str, writer: int, start) -> None:
    """Open a store that is not there, at the moment when others do so, and write to it."""
    score = numbered_score(writer, writer)
    start.wait()
    with ResultStore(place) as store:
        store.add(score)


def claim_and_say(place: str, keys: list[str], log: Path, start) -> None:
    """Claim cells one after the other, at the moment when others do so, and say which are this process's."""
    with ResultStore(place) as store, open(log, "ab", buffering=0) as file:
        start.wait()
        for key in keys:
            for mine in claim(store, [key], log.name, 3600):
                file.write(f"{mine}\n".encode())
        start.wait()  # what a process that has ended was at is free


def write_and_say(place: str, writer: int, log: Path) -> None:
    """Write scores until killed, and say of each that it is kept."""
    with ResultStore(place) as store, open(log, "ab", buffering=0) as file:
        run = store.begin_run(10_000)
        for number in range(10_000):
            claim(store, [f"{number}"], run, 3600)
            key = store.add(numbered_score(writer, number), task=Task(run, f"{number}"))
            file.write(f"{key} {writer} {number}\n".encode())


def hold_a_lock(place: str, ready, released) -> None:
    """Keep others from writing."""
    with ResultStore(place) as store, store.writing() as connection:
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql("LOCK TABLE scores")
        ready.set()
        released.wait()


def use_without_rights(path: str, log: Path) -> None:
    """Read a store, and try to write it, as somebody who is not root; say what came of it."""
    if not os.geteuid():
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    with open(log, "ab", buffering=0) as file:
        for read_only in (True, False):
            try:
                with ResultStore(path, read_only=read_only) as store:
                    file.write(f"read {store.frame()['score'].tolist()}\n".encode())
                    store.add(numbered_score(1, 1))
                    file.write(b"written\n")
            except OSError as error:
                file.write(f"{type(error).__name__}: {error}\n".encode())


def fork_and_write(place: str, n: int) -> None:
    """Write scores in this process, and at once in two that were forked when the store was open."""
    with ResultStore(place) as store:
        store.add(numbered_score(0, 0))
        children = []
        for seed in (1, 2):
            child = os.fork()
            if not child:
                for number in range(n):
                    store.add(numbered_score(seed, number))
                os._exit(0)
            children.append(child)
        for number in range(1, n):
            store.add(numbered_score(0, number))
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]


# Processes are forked from one that has loaded this: what the first score takes is done there.
ceiled_score("m", "b").to_dict()
