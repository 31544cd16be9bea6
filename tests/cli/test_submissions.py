"""``bsjax submissions``, ``accounts`` and ``protect``: what they print, and what they change."""

import re
from functools import partial

import pytest

from bsjax.cli import app
from bsjax.submission import queue
from bsjax.submission.accounts import account_of, add_account
from bsjax.submission.protection import protection_of
from tests.cli.conftest import cells_of, invoke
from tests.support.forked import CONTEXT, run_on_terminal
from tests.support.queue_users import print_slowly

run = partial(invoke, app)
cells = partial(cells_of, app)

GIB = 1 << 30


@pytest.fixture
def add(store, tmp_path):
    def made(name="gabor", steps=("tests", "score"), **more):
        folder = tmp_path / "handed in" / "files"
        folder.mkdir(parents=True, exist_ok=True)
        return queue.add(store, name=name, folder=folder, content="ab" * 32, kinds=["model"], steps=steps, **more)

    return made


def claimed(store):
    step = queue.claim_next(store, "w", 3600)
    assert step is not None
    return step


def test_ls_lists_the_state_of_each_since_when_and_why(store, add):
    assert run("submissions", "ls").stdout == "no submissions\n"
    add_account(store, "lab")
    old, new = add(), add("\x1b[31mred\u202e", account=1)
    queue.fail(store, claimed(store).id, "w", "no \x1b[31mscore\n")
    header, first, second = cells("submissions", "ls")
    assert header == ["id", "name", "account", "kinds", "shown", "state", "since", "why"]
    assert first[:6] == [new.id[:12], "\\x1b[31mred\\u202e", "lab", "model", "private", "received"]
    assert second[:6] == [old.id[:12], "gabor", "-", "model", "public", "failed"]
    assert second[7] == "tests: no \\x1b[31mscore"
    assert [row[0] for row in cells("submissions", "ls", "--account", "lab")[1:]] == [new.id[:12]]
    assert [row[0] for row in cells("submissions", "ls", "--state", "failed", "--limit", "1")[1:]] == [old.id[:12]]
    shown = run_on_terminal("submissions", "ls", columns=80)
    assert "\x1b[31m" not in shown and max(map(len, shown.splitlines())) <= 80


def test_what_would_be_scored_on_no_benchmark_is_refused(store, tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    folder = tmp_path / "doe_net"
    folder.mkdir()
    (folder / "__init__.py").write_text("from bsjax import model_registry\nmodel_registry['doe-net'] = lambda: None\n")
    with pytest.raises(ValueError, match=r"no benchmark matches 'nothing\*'; see `bsjax list benchmarks`"):
        run("submit", folder, "-b", "nothing*", "--queue")
    assert queue.submissions(store) == [] and not [*(tmp_path / "home" / "submissions").iterdir()]
    assert "queued" in run("submit", folder, "-b", "nothing*", "-b", "Simulated.V1-c*", "--queue").stdout


def test_show_has_the_steps(store, add):
    made = add(facts={"packages": ["numpy==2.0"]})
    queue.finish(store, claimed(store).id, "w", peak=GIB)
    text = run("submissions", "show", made.id[:8]).stdout
    assert text.startswith(f"{made.id[:12]}  gabor: running, score: waits for a worker that has 4 GiB\n")
    assert re.search(r'packages +\["numpy==2.0"\]', text) and made.content in text
    steps = [re.split(" {2,}", line) for line in text.splitlines()[-3:]]
    assert steps[0] == ["step", "state", "since", "attempt", "limit", "peak", "seconds", "why"]
    assert (steps[1][:2], steps[1][3:6]) == (["tests", "done"], ["1", "4 GiB", "1.07 GB"])
    assert (steps[2][:2], steps[2][7]) == (["score", "queued"], "waits for a worker that has 4 GiB")
    with pytest.raises(KeyError, match="see `bsjax submissions ls`"):
        run("submissions", "show", "zz")


def test_log_prints_what_was_printed_harmlessly(store, add):
    made = add()
    for text in ("one\n", "\x1b[2Jtwo\tthree\n"):
        step = claimed(store)
        queue.append_log(store, step.id, text)
        queue.finish(store, step.id, "w")
    assert run("submissions", "log", made.id).stdout == "== tests\none\n== score\n\\x1b[2Jtwo three\n"
    assert run("submissions", "log", made.id, "tests").stdout == "one\n"
    assert run("submissions", "log", made.id, "-f").stdout == run("submissions", "log", made.id).stdout
    with pytest.raises(ValueError, match="there is no step 'other'; there are tests, score"):
        run("submissions", "log", made.id, "other")


@pytest.mark.slow
def test_log_follows_a_submission_until_it_is_over(store, add, monkeypatch):
    monkeypatch.setattr("bsjax.cli.submission.queue._EVERY", 0.02)
    made = add(steps=("tests",))
    writer = CONTEXT.Process(target=print_slowly, args=(store.place, 25))
    writer.start()
    shown = run("submissions", "log", made.id, "-f").stdout
    writer.join()
    # More than a log keeps, and each line is there once: the reader is faster than its middle goes.
    lines = shown.splitlines()
    assert lines[0] == "== tests" and [line.strip("x") for line in lines[1:]] == [str(n) for n in range(25)]
    assert "cut" not in shown and len(shown) > 210_000


def test_a_submission_is_cancelled_retried_and_removed(store, add, tmp_path):
    made = add()
    assert run("submissions", "cancel", made.id[:8]).stdout == f"{made.id[:12]}  gabor: cancelled, tests: cancelled\n"
    assert "received, tests: waits" in run("submissions", "retry", made.id[:8]).stdout
    assert run("submissions", "rm", made.id[:8], input="n\n").exit_code == 1
    assert queue.submissions(store) != []
    assert run("submissions", "rm", made.id[:8], "--yes").exit_code == 0 and queue.submissions(store) == []


def test_a_submission_that_waits_is_accepted_or_sent_back(store, add):
    ends = {
        "accept": "running, score: waits for a worker that has 4 GiB\n",
        "return": "failed, tests: sent back: why?\n",
    }
    for word, end in ends.items():
        made = add(word, steps=("tests", "score"))
        while (step := claimed(store)).submission != made.id:
            queue.finish(store, step.id, "w")
        queue.wait_for_review(store, step.id, "code of others")
        assert run("submissions", word, made.id[:8], "-m", "why?").stdout.endswith(end)
    assert run("submissions", "return", made.id[:8]).exit_code == 2


def test_accounts_are_added_listed_and_revoked(store):
    assert run("accounts", "ls").stdout == "no accounts\n"
    done = run("accounts", "add", "lab", "--operator", "--email", "doe@lab.org")
    account = account_of(store, done.stdout.strip())
    small = run("accounts", "add", "small", "--uploads", "3", "--size", "1KB").stdout.strip()
    assert account_of(store, small).limits == {"uploads": 3, "bytes": 1000} and run("accounts", "revoke", "small")
    assert account and account.is_operator and "not stored" in done.stderr and done.stdout not in done.stderr
    assert run("accounts", "revoke", "lab").exit_code == 0
    header, row, _ = cells("accounts", "ls")
    assert header == ["name", "operator", "e-mail", "created", "revoked"]
    assert row[:3] == ["lab", "yes", "doe@lab.org"] and "-" not in row[3:]


def test_benchmarks_are_marked_as_private(store):
    assert run("protect").stdout == "no benchmark is private\n"
    assert run("protect", "MajajHong2015*", "--stimuli", "--decimals", "1", "--limit", "3").stderr == ""
    assert "no installed benchmark is named 'MajajHnog*'" in run("protect", "MajajHnog*").stderr
    header, *rows = cells("protect")
    assert header == ["benchmark", "stimuli", "decimals", "limit", "days", "since"]
    assert ["MajajHong2015*", "private", "1", "3", "7"] in [row[:5] for row in rows] and len(rows) == 2
    run("protect", "MajajHong2015*", "--off")
    assert protection_of(store, "MajajHong2015.V4-pls") is None
    with pytest.raises(ValueError, match="benchmark that is to be public"):
        run("protect", "--off")
