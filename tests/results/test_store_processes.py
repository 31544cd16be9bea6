"""The store of results between processes: several that write at once, that make it at once, and killed ones."""

import random
import signal
import time

import pytest
import sqlalchemy as sa

from bsjax.core.files import write_atomically
from bsjax.results import ResultStore, tables
from bsjax.results.documents import document_of
from bsjax.results.exchange import import_scores
from tests.support.forked import CONTEXT
from tests.support.score_writers import (
    fork_and_write,
    make_store,
    numbered_score,
    numbers_of,
    write_and_say,
    write_scores,
)

WRITERS = 8
HANGS = 600  # seconds after which something does not just take its time


def ended_well(processes):
    for process in processes:
        process.join(HANGS)
    return all(process.exitcode == 0 for process in processes)


def check_whole(store):
    """Everything is there once."""
    models, benchmarks, scores = tables.models.c, tables.benchmarks.c, tables.scores.c
    with store.reading() as connection:
        for columns in ((models.identifier, models.digest), (benchmarks.identifier, benchmarks.version), (scores.key,)):
            rows = connection.execute(sa.select(*columns)).all()
            assert len(rows) == len(set(rows))


@pytest.mark.slow
def test_what_many_processes_write_is_all_there_and_nothing_twice(place, start):
    n, n_common = 40, 12
    ResultStore(place).close()
    together = CONTEXT.Barrier(WRITERS)
    writers = [start(write_scores, place, number, n, n_common, together) for number in range(WRITERS)]
    wanted, raw = {}, set()
    for each in {each for number in range(WRITERS) for each in numbers_of(number, n, n_common)}:
        score = numbered_score(*each)
        made = document_of(score)
        wanted[made.key] = score
        raw |= made.raw.keys()
    assert ended_well(writers)
    with ResultStore(place) as store:
        check_whole(store)
        frame = store.frame(latest=False)
        assert len(frame) == len(wanted) == n_common + WRITERS * (n - n_common)
        assert set(frame["key"]) == wanted.keys()
        with store.reading() as connection:
            assert set(connection.execute(sa.select(tables.raw_values.c.digest)).scalars()) == raw
        for row in frame.itertuples():
            score = wanted[row.key]
            assert (row.model, row.benchmark) == (score.provenance.model, score.provenance.benchmark)
            assert (row.score, row.ceiling) == (float(score), float(score.ceiling))
        for key in list(wanted)[::20]:
            assert store.score(key).to_dict() == wanted[key].to_dict()


def test_processes_that_make_one_store_at_one_moment_make_one(start, place):
    together = CONTEXT.Barrier(4)
    assert ended_well([start(make_store, place, number, together) for number in range(4)])
    with ResultStore(place) as store:
        check_whole(store)
        wanted = {document_of(numbered_score(number, number)).key for number in range(4)}
        assert set(store.frame(latest=False)["key"]) == wanted


def test_a_second_store_of_a_process_takes_no_lock_from_its_first(tmp_path, start):
    place, together = tmp_path / "results.db", CONTEXT.Event()
    together.set()
    with ResultStore(place) as store:
        store.add(numbered_score(0, 0))
        for read_only in (False, True):
            ResultStore(place, read_only=read_only).close()
        with pytest.raises(ValueError, match="no scores"):
            import_scores(store, write_atomically(tmp_path / "scores.json", b"{}"))
        assert import_scores(store, place).new == 0
        # Another process would delete the log if it thought itself alone, and what is written to it then is lost.
        assert ended_well([start(write_scores, str(place), 1, 3, 0, together)])
        assert (tmp_path / "results.db-wal").exists()
        key = store.add(numbered_score(0, 1))
    with ResultStore(place) as store:
        check_whole(store)
        assert key in set(store.frame(latest=False)["key"]) and len(store.frame(latest=False)) == 5


def test_processes_that_were_forked_write_by_connections_of_their_own(place, start):
    assert ended_well([start(fork_and_write, place, 8)])
    with ResultStore(place) as store:
        wanted = {document_of(numbered_score(seed, number)).key for seed in range(3) for number in range(8)}
        assert set(store.frame(latest=False)["key"]) == wanted


@pytest.mark.slow
def test_what_was_kept_before_a_process_was_killed_is_there(place, start, tmp_path):
    ResultStore(place).close()
    log, rng = tmp_path / "log", random.Random(0)
    for writer in range(1, 4):
        writers = [start(write_and_say, place, 10 * writer + twin, log) for twin in range(2)]
        before = len(lines(log))
        while len(lines(log)) < before + 6 and all(each.is_alive() for each in writers):
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.01))
        for each in writers:
            each.kill()
            each.join()
            assert each.exitcode == -signal.SIGKILL
        with ResultStore(place) as store:
            check_whole(store)
            kept = {key: numbered_score(int(by), int(number)) for key, by, number in map(str.split, lines(log))}
            there = set(store.frame(latest=False)["key"])
            # Of what was being written when the process was killed, there may be the whole, too.
            assert kept.keys() <= there and len(there) <= len(kept) + 2 * writer
            for key in there:
                assert document_of(store.score(key)).key == key
            for key in list(kept)[-4:]:
                assert store.score(key).to_dict() == kept[key].to_dict()
    with ResultStore(place) as store, store.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(tables.leases)).scalar() <= 8


def lines(log):
    """Those that are whole."""
    return log.read_text().split("\n")[:-1] if log.exists() else []
