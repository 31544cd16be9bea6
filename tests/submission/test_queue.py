"""The queue of submissions: a step is one worker's at a time, counts once, and is never stuck."""

import itertools
import platform
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa

from bsjax.results import ResultStore, tables
from bsjax.results.store import Task
from bsjax.submission import queue
from bsjax.submission.queue import Step, Submission
from tests.support.forked import CONTEXT
from tests.support.queue_users import add_some, claim_all

LONG = 3600
GIB = 1 << 30
STEPS = ("tests", "gate", "score")


@pytest.fixture
def add(store, tmp_path):
    """Hands in a submission, with these things else."""
    numbers = itertools.count()

    def made(steps=STEPS, **changed) -> Submission:
        folder = tmp_path / "received" / str(next(numbers)) / "files"
        folder.mkdir(parents=True)
        given = {"name": "gabor", "folder": folder, "content": "ab" * 32, "kinds": ["model"], **changed}
        return queue.add(store, steps=steps, **given)

    return made


def now(store, submission) -> Submission:
    return queue.submission(store, submission.id)


def claimed(store, worker="w", **how) -> Step:
    step = queue.claim_next(store, worker, LONG, **how)
    assert step is not None
    return step


def states(store, submission):
    return [step.state for step in queue.steps(store, submission.id)]


def change(store, step, **values):
    with store.writing() as connection:
        connection.execute(sa.update(tables.steps).where(tables.steps.c.id == step.id).values(values))


def lose(store, step):
    """Let the worker of a step be one that has not been heard of for long."""
    change(store, step, expires=1.0, worker="elsewhere 1")


def test_a_submission_goes_through_its_steps_in_order(store, add):
    made = add(facts={"plugin": "doe"})
    assert (made.state, made.reason) == ("received", "tests: waits for a worker that has 4 GiB")
    assert made.visibility == "public" and made.kinds == ("model",) and made.previous is None
    for number, name in enumerate(STEPS, 1):
        step = claimed(store)
        assert (step.name, step.state, step.attempt, step.worker) == (name, "running", 1, "w")
        assert queue.claim_next(store, "other", LONG) is None
        assert now(store, made).state == "running" and now(store, made).reason == f"{name}: started by w"
        assert queue.heartbeat(store, step.id, "w", LONG, "3 of 4")
        assert now(store, made).reason == f"{name}: 3 of 4"
        assert queue.finish(store, step.id, "w", peak=number * GIB, facts={name: number})
    found = now(store, made)
    assert (found.state, found.reason) == ("done", "all steps are done") and found.since >= made.since
    assert found.facts == {"plugin": "doe", "tests": 1, "gate": 2, "score": 3}
    steps = queue.steps(store, made.id)
    assert [step.peak for step in steps] == [GIB, 2 * GIB, 3 * GIB]
    assert all(step.seconds is not None and step.seconds >= 0 and step.worker is None for step in steps)
    assert queue.claim_next(store, "w", LONG) is None


def test_the_oldest_submission_comes_first_and_its_last_version_is_known(store, add):
    with store.writing() as connection:
        row = {"id": 7, "name": "lab", "token_hash": "", "is_operator": False, "created": "", "limits": {}}
        connection.execute(sa.insert(tables.accounts).values(row))
    first, other, again = add(), add(account=7), add(name="gabor")
    assert other.visibility == "private" and other.previous is None and again.previous == first.id
    assert [claimed(store).submission for _ in range(3)] == [first.id, other.id, again.id]
    assert [each.id for each in queue.submissions(store)] == [again.id, other.id, first.id]
    assert queue.submissions(store, account=7) == [now(store, other)]
    assert queue.submissions(store, states=("done",)) == []
    assert queue.submission(store, first.id[:12]) == now(store, first)
    with pytest.raises(KeyError, match="no submission has a key that begins with 'zz' .* `bsjax submissions ls`"):
        queue.submission(store, "zz")


def test_names_are_harmless_and_what_cannot_be_queued_is_refused(store, add, tmp_path):
    assert add(name="a\x1b[31mb\u202e\n" + "c" * 200).name == "a\\x1b[31mb\\u202e\\n" + "c" * 82
    for steps in ((), ("a", "a")):
        with pytest.raises(ValueError, match="steps of different names"):
            add(steps=steps)
    with pytest.raises(FileNotFoundError, match="hand it in again"):
        add(folder=tmp_path / "gone")


def test_a_step_fails_and_with_it_the_submission(store, add):
    made = add()
    assert queue.finish(store, claimed(store).id, "w")
    assert queue.fail(store, claimed(store).id, "w", "no score:\nit is NaN")
    assert states(store, made) == ["done", "failed", "skipped"]
    assert (now(store, made).state, now(store, made).reason) == ("failed", "gate: no score: it is NaN")
    assert queue.claim_next(store, "w", LONG) is None
    queue.retry(store, made.id)
    assert states(store, made) == ["done", "queued", "queued"]
    step = claimed(store)
    assert (step.name, step.attempt) == ("gate", 2)
    with pytest.raises(ValueError, match="is running: nothing of it failed"):
        queue.retry(store, made.id)


def test_what_a_worker_says_of_a_step_that_it_has_lost_counts_for_nothing(store, add):
    made = add()
    step = claimed(store, "slow")
    lose(store, step)
    again = claimed(store, "other")
    assert (again.id, again.attempt) == (step.id, 2)
    assert not queue.heartbeat(store, step.id, "slow", LONG, "still here")
    assert not queue.finish(store, step.id, "slow", peak=1, facts={"wrong": True})
    assert not queue.fail(store, step.id, "slow", "wrong")
    assert not queue.requeue_larger(store, step.id, "slow", GIB)
    assert not queue.wait_for_review(store, step.id, "wrong", "slow")
    assert queue.finish(store, step.id, "other") and not queue.finish(store, step.id, "other")
    assert now(store, made).facts == {} and states(store, made) == ["done", "queued", "queued"]


def test_a_lease_that_has_run_out_is_kept_by_a_heartbeat_if_nobody_was_faster(store, add):
    add()
    step = queue.claim_next(store, "w", -1)
    assert step and queue.heartbeat(store, step.id, "w", LONG)
    assert queue.claim_next(store, "other", LONG) is None


def test_a_worker_that_is_gone_is_seen_at_once(store, add):
    add()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    step = claimed(store)
    change(store, step, worker=f"{platform.node()} {ended.pid}")
    assert claimed(store, "other").id == step.id


def test_a_step_that_kills_its_workers_fails_and_names_them(store, add):
    made = add()
    for worker in ("a", "b", "c"):
        lose(store, claimed(store, worker))
    assert queue.claim_next(store, "d", LONG) is None
    assert now(store, made).reason == "tests: lost its worker 3 times: a, b, c"
    queue.retry(store, made.id)
    lose(store, claimed(store, "e"))
    # One that is too large for the worker who notices is queued, for another.
    assert queue.claim_next(store, "small", LONG, memory_at_most=GIB) is None
    assert now(store, made).reason == "tests: lost its worker e: waits for a worker that has 4 GiB"
    assert claimed(store, "f").attempt == 5


def test_memory(store, add):
    made = add(steps=("score",))
    assert queue.claim_next(store, "small", LONG, memory_at_most=4 * GIB - 1) is None
    step = claimed(store, memory_at_most=4 * GIB)
    assert queue.requeue_larger(store, step.id, "w", 4 * GIB)
    why = "score: ran out of memory, under a limit of 4 GiB (it used 4.29 GB): waits for a worker that has 8 GiB"
    assert now(store, made).reason == why
    assert queue.claim_next(store, "small", LONG, memory_at_most=4 * GIB) is None
    step = claimed(store)
    assert step.memory_class == 8 * GIB
    assert queue.requeue_larger(store, step.id, "w", 8 * GIB)
    why = "score: ran out of memory, under a limit of 4 GiB and of 8 GiB: it used 8.59 GB"
    assert (now(store, made).state, now(store, made).reason) == ("failed", why)
    # What it took is known when it is tried again, and of its next version.
    queue.retry(store, made.id)
    step = claimed(store)
    assert queue.requeue_larger(store, step.id, "w", 8 * GIB)
    assert queue.finish(store, claimed(store).id, "w", peak=60 * GIB)
    assert [step.memory_class for step in queue.steps(store, add(steps=("score",)).id)] == [64 * GIB]
    step = claimed(store)
    assert queue.requeue_larger(store, step.id, "w", 64 * GIB)
    assert queue.submissions(store)[0].reason == "score: ran out of memory, under a limit of 64 GiB: it used 68.7 GB"


def test_what_waits_for_a_review_is_accepted_or_sent_back(store, add):
    made, other = add(), add()
    for each in (made, other):
        assert queue.wait_for_review(store, claimed(store).id, "runs code of others beside recordings")
        assert (now(store, each).state, states(store, each)) == ("waiting", ["waiting", "queued", "queued"])
    assert queue.claim_next(store, "w", LONG) is None
    queue.review(store, made.id, True)
    queue.review(store, other.id, False, "which data?")
    assert states(store, made) == ["done", "queued", "queued"] and claimed(store).name == "gate"
    assert now(store, made).facts["review"]["accepted"]
    assert now(store, other).reason == "tests: sent back: which data?"
    assert states(store, other) == ["failed", "skipped", "skipped"]
    with pytest.raises(ValueError, match="waits for no review: it is failed"):
        queue.review(store, other.id, True)


def test_a_submission_is_cancelled_and_its_worker_hears_of_it(store, add):
    made = add()
    assert queue.finish(store, claimed(store).id, "w")
    step = claimed(store)
    queue.cancel(store, made.id)
    assert not queue.heartbeat(store, step.id, "w", LONG) and not queue.finish(store, step.id, "w")
    assert states(store, made) == ["done", "cancelled", "cancelled"] and now(store, made).state == "cancelled"
    with pytest.raises(ValueError, match="is cancelled: there is nothing to cancel"):
        queue.cancel(store, made.id)
    queue.retry(store, made.id)
    assert claimed(store).id == step.id


def test_a_submission_is_removed_with_its_folder(store, add):
    made = add(visibility="private", facts={"registers": {"model": ["doe"]}})
    (made.folder / "model.py").write_text("")
    later = add()
    score = store.add_failure("m", "b", "no data", task=Task())
    private = store.add_failure("doe", "b", "no data", task=Task())
    claimed(store)
    with pytest.raises(ValueError, match="is running: cancel it first"):
        queue.remove(store, made.id)
    assert private in store.frame()["key"].tolist()
    queue.cancel(store, made.id)
    queue.remove(store, made.id)
    assert store.frame()["key"].tolist() == [score]
    assert now(store, later).previous is None and later.folder.is_dir() and queue.steps(store, made.id) == []
    assert [*made.folder.parents[1].iterdir()] == [later.folder.parent]
    queue.remove(store, later.id)
    assert queue.submissions(store) == [] and score in store.frame()["key"].tolist()


@pytest.mark.slow
def test_a_log_keeps_its_beginning_and_its_end(store, add):
    add()
    step = claimed(store)
    for number in range(300):
        queue.append_log(store, step.id, f"{number:0999}\n")
    queue.append_log(store, step.id, "the end \0\x1b")
    [log, *_] = [each.log for each in queue.steps(store, step.submission)]
    first, last = log.split("\n[... cut ...]\n")
    assert len(first) == len(last) == 100_000
    assert first.startswith(f"{0:0999}\n{1:0999}") and last.endswith(f"{299:0999}\nthe end \0\x1b")


@pytest.mark.slow
def test_many_at_once_lose_nothing_and_do_nothing_twice(place, tmp_path):
    adders, each, lease = 20, 2, 1.5
    ResultStore(place).close()
    together, done = CONTEXT.Barrier(adders), tmp_path / "done"

    def ended(target, arguments):
        started = [CONTEXT.Process(target=target, args=(place, *of)) for of in arguments]
        for process in started:
            process.start()
        for process in started:
            process.join(60)
        return [process.exitcode for process in started]

    assert ended(add_some, [(str(tmp_path), number, each, together) for number in range(adders)]) == [0] * adders
    # Those that die come first: beside others, they might find nothing left to take.
    for numbers, dies, status in ((range(4), True, -9), (range(4, 6), False, 0)):
        of_workers = [(lease, f"w{number}", str(done), number if dies else None) for number in numbers]
        assert ended(claim_all, of_workers) == [status] * len(of_workers)
    with ResultStore(place) as store:
        found = queue.submissions(store)
        steps = [step for each in found for step in queue.steps(store, each.id)]
    assert len(found) == adders * each and {submission.state for submission in found} == {"done"}
    counts = Counter(map(int, Path(done).read_text().split()))
    assert counts == Counter(step.id for step in steps)
    assert sum(step.attempt for step in steps) == len(steps) + 4
