"""A whole row, from drawing its arrays to what is kept of it."""

import importlib
import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from benchmarks_perf.harness import Called
from benchmarks_perf.rows import measure
from benchmarks_perf.rows.table import OURS, TABLE
from benchmarks_perf.workers.client import CONTESTANTS


@pytest.mark.parametrize("name", TABLE)
def test_titles_name_the_sizes_and_peers_can_be_started(name):
    row = TABLE[name]
    title = row.what.format(**row.sizes, **row.options)
    assert all(str(size) in title for size in row.sizes.values())
    assert set(row.peers) <= CONTESTANTS.keys()


def check_exact(result):
    assert list(result["contestants"]) == list(OURS)
    for line, allowed in zip(result["contestants"].values(), (1e-10, 1e-3), strict=True):
        assert line["score_error"] < allowed
        assert line["first_s"] > 0 and line["median_s"] > 0


@pytest.fixture
def in_this_process(monkeypatch):
    """What workers do, without the seconds in which each starts."""
    monkeypatch.setattr(sys, "argv", ["", "float64"])
    monkeypatch.syspath_prepend(Path(__file__).parent / "workers")
    calls, protocol = map(importlib.import_module, ("bsjax_calls", "protocol"))

    class Here(nullcontext):
        def __init__(self, name, *_):
            super().__init__(self)
            self.name = name

        def devices(self):
            return ["cpu"]

        def build(self, path, task, options):
            calls.DTYPE = CONTESTANTS[self.name].dtype
            self.made = calls.TASKS[task](protocol.read(path), **options)

        def call(self, trim=False):
            self.value, said = protocol.measured(self.made, trim)
            return Called(**said)

        def answer(self):
            return calls.answer(self.value)

    monkeypatch.setattr(measure, "Worker", Here)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the .* penalty")
@pytest.mark.parametrize("name", TABLE)
def test_bsjax_is_exact_at_the_smallest_sizes(name, in_this_process):
    row = TABLE[name]
    check_exact(measure.measured(row, row.smallest_sizes, OURS, rounds=1, warm=False))


@pytest.mark.slow
def test_a_row_in_full_leaves_the_device_to_the_processes_that_are_measured():
    program = """
import json
from jax._src import xla_bridge
from benchmarks_perf import rates
from benchmarks_perf.rows import TABLE, measured_in_full
result = measured_in_full(TABLE["cka"], "cka", fast=True, rounds=1, with_peer=False)
assert rates.apart()["gemm_flops_s"]
print(json.dumps([xla_bridge.backends_are_initialized(), result]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    is_initialized, result = json.loads(done.stdout.splitlines()[-1])
    assert not is_initialized and result["environment"]["machine"]["jax_devices"] == ["cpu"]
    check_exact(result)
    assert all(line["warm_first_s"] > 0 for line in result["contestants"].values())
