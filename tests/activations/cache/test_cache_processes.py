"""The cache between processes: several at once, killed ones, and a full disk."""

import os
import time
from collections import Counter

import numpy as np
import pytest

from bsjax.activations.cache import ActivationCache
from tests.support.cache_users import (
    N_ROWS,
    meet_a_full_disk,
    recipe,
    rows,
    use_all,
    use_and_prune,
    write_rows,
)
from tests.support.forked import start

__all__ = ["start"]
SIZE = 128 + rows(0).nbytes
_HANGS = 600  # seconds after which something does not just take its time


def lines(log):
    return log.read_text().splitlines() if log.exists() else []


def wait_for_lines(log, n, process):
    """Until a process has said so much, however long that takes, or has ended."""
    while len(lines(log)) < n and process.is_alive():
        time.sleep(0.005)


@pytest.mark.slow
def test_killed_at_any_moment(tmp_path, start):
    root, log, cache = tmp_path / "cache", tmp_path / "log", ActivationCache(tmp_path / "cache")
    rng, done = np.random.default_rng(0), 0
    for n in range(6):
        before = len(lines(log))
        process = start(write_rows, root, 0, log)
        wait_for_lines(log, before + 1, process)
        time.sleep(rng.uniform(0, 0.004))
        process.kill()
        process.join()
        found = cache.read(recipe(0))
        if found is not None:
            np.testing.assert_array_equal(found, rows(0))
            cache.remove(recipe(0).key())
            done = 0
        else:
            now = sum(entry.rows_done for entry in cache.entries())
            assert now >= done, f"rows were lost by kill {n}"
            done = now
    start(write_rows, root, 0, log).join()
    np.testing.assert_array_equal(cache.read(recipe(0)), rows(0))
    assert cache.verify() == []


def test_eight_at_once_write_each_entry_once(tmp_path, start):
    root, log = tmp_path / "cache", tmp_path / "log"
    orders = [np.random.default_rng(k).permutation(6).tolist() for k in range(8)]
    processes = [start(use_all, root, order, log) for order in orders]
    for process in processes:
        process.join(_HANGS)
    assert [process.exitcode for process in processes] == [0] * 8
    assert Counter(lines(log)) == {f"wrote {n}": 1 for n in range(6)} | {f"read {n}": 8 for n in range(6)}
    assert ActivationCache(root).verify() == []


@pytest.mark.slow
def test_several_write_read_and_prune_at_once(tmp_path, start):
    root, log = tmp_path / "cache", tmp_path / "log"
    processes = [start(use_and_prune, root, 60, 3 * SIZE + 10, log) for _ in range(4)]
    for process in processes:
        process.join(_HANGS)
    said = Counter(lines(log))
    assert set(said) == {"done", "right"} and said["done"] == 4 and said["right"] > 4
    cache = ActivationCache(root, 3 * SIZE + 10)
    assert cache.verify() == [] and cache.size() <= cache.max_bytes
    cache.prune(max_bytes=0)
    assert cache.size() == 0 and os.listdir(root / ".unfinished") == [] == os.listdir(root / ".trash")


def test_a_full_disk_is_said_at_the_start_and_breaks_nothing(tmp_path, start):
    root, log = tmp_path / "cache", tmp_path / "log"
    start(meet_a_full_disk, root, log).join()
    [said] = lines(log)
    assert said.startswith(f"cannot cache activations in {root} (File too large)")
    assert said.endswith("free some room, or set BSJAX_HOME to a folder on another disk")
    cache = ActivationCache(root)
    assert cache.entries() == [] and os.listdir(root / ".unfinished") == []
    start(write_rows, root, 0, log).join()
    assert len(cache.read(recipe(0))) == N_ROWS
