"""A whole row, from drawing its arrays to what is kept of it."""

import json
import subprocess
import sys

import pytest

from benchmarks_perf import report
from benchmarks_perf.rows.measure import measured
from benchmarks_perf.rows.table import OURS, TABLE
from benchmarks_perf.workers.client import CONTESTANTS


def test_every_contestant_of_the_table_can_be_started():
    assert {peer for row in TABLE.values() for peer in row.peers} <= CONTESTANTS.keys()


@pytest.mark.parametrize("name", TABLE)
def test_titles_name_the_sizes(name):
    row = TABLE[name]
    title = row.what.format(**row.sizes, **row.options)
    assert all(str(size) in title for size in row.sizes.values())


def check_exact(result):
    assert list(result["contestants"]) == list(OURS)
    for contestant, allowed in zip(OURS, (1e-10, 1e-3), strict=True):
        line = result["contestants"][contestant]
        assert line["score_error"] < allowed
        assert line["first_s"] > line["median_s"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_bsjax_is_exact_at_the_smallest_sizes(name):
    row = TABLE[name]
    check_exact(measured(row, row.smallest_sizes, contestants=OURS, rounds=1, warm=False))


@pytest.mark.slow
def test_a_row_in_full_leaves_the_device_to_the_processes_that_are_measured():
    program = """
import json
from jax._src import xla_bridge
from benchmarks_perf import rates
from benchmarks_perf.rows import ROWS
result = ROWS["cka"]("cka", fast=True, rounds=1, with_peer=False)
assert rates.apart()["gemm_flops_s"]
print(json.dumps([xla_bridge.backends_are_initialized(), result]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    is_initialized, result = json.loads(done.stdout.splitlines()[-1])
    assert not is_initialized and result["environment"]["machine"]["jax_devices"] == ["cpu"]
    check_exact(result)
    assert all(line["warm_first_s"] > 0 for line in result["contestants"].values())
    assert report.table(result).row_count == 2
