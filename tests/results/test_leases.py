"""Leases: a cell is one owner's at a time, whoever claims it at once, and is taken over when its time has run out."""

import platform
import subprocess
import sys

import pytest
import sqlalchemy as sa

from bsjax.results import ResultStore, tables
from bsjax.results.leases import claim, left_behind, release, renew, this_process, workers_at
from tests.support.forked import CONTEXT
from tests.support.score_writers import claim_and_say

LONG = 3600


def run_out(store, *keys):
    """Let the time of leases be over, as it is when their owner was killed long ago."""
    of = tables.leases.c
    with store.writing() as connection:
        connection.execute(sa.update(tables.leases).where(of.key.in_(keys)).values(expires=1.0))


def test_a_cell_is_one_owners_at_a_time(store):
    assert claim(store, ["a", "b"], "one", LONG) == {"a", "b"}
    assert claim(store, ["b", "c", "c"], "other", LONG) == {"c"}
    # One's own are one's own.
    assert claim(store, ["a", "b", "c"], "one", LONG) == {"a", "b"}
    assert claim(store, [], "one", LONG) == renew(store, [], "one", LONG) == set()


def test_what_is_given_back_is_free_and_what_is_anothers_stays(store):
    claim(store, ["a", "b"], "one", LONG)
    release(store, ["a", "b", "never claimed"], "other")
    assert claim(store, ["a", "b"], "other", LONG) == set()
    release(store, ["a"], "one")
    assert claim(store, ["a", "b"], "other", LONG) == {"a"}


def test_a_lease_that_has_run_out_is_taken_over_once(store):
    claim(store, ["a", "b"], "one", LONG)
    run_out(store, "a")
    assert claim(store, ["a", "b"], "other", LONG) == {"a"}
    assert claim(store, ["a", "b"], "third", LONG) == set()
    # The first owner hears of it, and does not take it back, nor give back what is another's.
    assert renew(store, ["a", "b"], "one", LONG) == {"b"}
    release(store, ["a"], "one")
    assert renew(store, ["a"], "other", LONG) == {"a"}


def test_a_cell_of_a_process_that_is_gone_is_free_at_once(store):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    claim(store, ["a", "b", "c"], "one", LONG)
    of = tables.leases.c
    with store.writing() as connection:
        for key, worker in (("a", f"{platform.node()} {ended.pid}"), ("b", f"elsewhere {ended.pid}")):
            connection.execute(sa.update(tables.leases).where(of.key == key).values(worker=worker))
    assert left_behind(store, ["a", "b", "c", "d"]) == {"a": f"{platform.node()} {ended.pid}"}
    assert claim(store, ["a", "b", "c"], "other", LONG) == {"a"}
    assert workers_at(store, "other") == {"a": this_process()} and left_behind(store, ["a"]) == {}
    run_out(store, "b")
    assert left_behind(store, ["a", "b"]) == {"b": f"elsewhere {ended.pid}"}


def test_more_cells_than_are_asked_for_at_once(store):
    keys = [f"{number}" for number in range(601)]
    assert claim(store, keys[::2], "one", LONG) == set(keys[::2])
    assert claim(store, keys, "other", LONG) == set(keys[1::2])
    assert renew(store, keys, "one", LONG) == set(keys[::2])
    release(store, keys, "one")
    assert claim(store, keys, "other", LONG) == set(keys)


@pytest.mark.slow
def test_processes_that_claim_at_once_share_the_cells(place, tmp_path, start):
    keys = [f"cell {number}" for number in range(64)]
    with ResultStore(place) as store:
        claim(store, keys[::2], "one that was killed", LONG)
        run_out(store, *keys[::2])
        together, logs = CONTEXT.Barrier(4), [tmp_path / f"{number}" for number in range(4)]
        started = [
            # In other orders: none waits for another.
            start(claim_and_say, place, keys[:: (-1) ** number], log, together)
            for number, log in enumerate(logs)
        ]
        for process in started:
            process.join()
        assert [process.exitcode for process in started] == [0] * 4
        claimed = [log.read_text().split("\n")[:-1] for log in logs]
        assert sorted(key for of_one in claimed for key in of_one) == sorted(keys)
        with store.reading() as connection:
            owners = dict(connection.execute(sa.select(tables.leases.c.key, tables.leases.c.owner)).all())
        assert all(owners[key] == log.name for log, of_one in zip(logs, claimed, strict=True) for key in of_one)
