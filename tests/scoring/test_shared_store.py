"""Two commands on one store share its cells; one that is killed leaves its cell to the other, which names it."""

import os
import random
import signal
import time

import pytest

from bsjax.results import ResultStore
from bsjax.results.overview import runs
from tests.support.forked import run_command
from tests.support.tiny_grid import Started, write_plugins

KILLS = int(os.environ.get("BSJAX_TEST_KILLS", "1"))


@pytest.fixture
def told(tmp_path):
    return write_plugins(tmp_path / "plugins", 8, 4)


def started(tmp_path, *how):
    return Started(tmp_path / "plugins", "-m", "tests.support.tiny_grid", str(tmp_path / "results.db"), *how)


def rows(tmp_path):
    with ResultStore(tmp_path / "results.db", read_only=True) as store:
        frame = store.frame(latest=False)
    return [(row.model, row.benchmark) for row in frame.itertuples() if row.state == "scored"]


@pytest.mark.slow
def test_of_two_commands_that_are_killed_nothing_is_lost_and_nothing_twice(told, tmp_path):
    rng = random.Random(0)
    for turn in range(KILLS):
        place = tmp_path / "results.db"
        place.unlink(missing_ok=True)
        ResultStore(place).close()
        for model in range(8):
            for benchmark in range(4):
                (told / f"net{model} Tiny.b{benchmark}").write_text("sleep 0.1")
        both = [started(tmp_path), started(tmp_path)]
        with ResultStore(place, read_only=True) as store:
            while all(one.is_running for one in both) and (runs(store)["done"] > 0).sum() < 2:  # they share the cells
                time.sleep(0.05)
            assert len(rows(tmp_path)) < 32
        time.sleep(rng.uniform(0, 1.5))
        rng.choice(both).kill()
        for one in both:
            one.ended() if one.is_running else None
        assert len(rows(tmp_path)) == 32 == len(set(rows(tmp_path))), turn


@pytest.mark.slow
def test_a_cell_that_ends_its_process_is_named_by_the_next_run_and_tried_last(told, tmp_path):
    (told / "net0 Tiny.b1").write_text("kill")

    def score(*options):
        asked = ("score", "-m", "net[0-2]", "-b", "Tiny.*", "--results", tmp_path / "results.db", *options)
        done = run_command(*asked, env=os.environ | {"BSJAX_PLUGINS": str(tmp_path / "plugins")})
        return done.returncode, done.stdout + done.stderr

    code, said = score()
    assert code == -signal.SIGKILL and len(rows(tmp_path)) == 1
    code, said = score("--plan")
    assert code == 0 and "net0 on Tiny.b1: " in said and "ended while computing it" in said
    (told / "net0 Tiny.b1").unlink()
    code, said = score()
    assert code == 0 and "net0 on Tiny.b1: an earlier run (" in said
    assert rows(tmp_path)[-1] == ("net0", "Tiny.b1") and len(rows(tmp_path)) == 12
