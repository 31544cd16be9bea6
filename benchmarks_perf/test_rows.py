"""A whole row, from drawing its arrays to what is kept of it."""

import json
import subprocess
import sys

import pytest

from benchmarks_perf import report
from benchmarks_perf.rows import ROWS, TABLE
from benchmarks_perf.workers.client import CONTESTANTS


def test_every_contestant_of_the_table_can_be_started():
    assert {peer for row in TABLE.values() for peer in row.peers} <= CONTESTANTS.keys()


@pytest.mark.parametrize("name", TABLE)
def test_titles_name_the_sizes(name):
    row = TABLE[name]
    title = row.what.format(**row.sizes, **row.options)
    assert all(str(size) in title for size in row.sizes.values())


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLE)
def test_bsjax_is_exact_at_the_smallest_sizes(name):
    result = ROWS[name](name, fast=True, rounds=1, with_peer=False)
    assert list(result["contestants"]) == ["bsjax float64", "bsjax float32"]
    for contestant, allowed in (("bsjax float64", 1e-10), ("bsjax float32", 1e-3)):
        line = result["contestants"][contestant]
        assert line["score_error"] < allowed
        assert line["first_s"] > line["median_s"] > 0 and line["warm_first_s"] > 0
    assert json.loads(json.dumps(result)) == result
    assert report.table(result).row_count == 2


@pytest.mark.slow
def test_measuring_leaves_the_device_to_the_processes_that_are_measured():
    program = """
from jax._src import xla_bridge
from benchmarks_perf import rates
from benchmarks_perf.rows import ROWS
result = ROWS["cka"]("cka", fast=True, rounds=1, with_peer=False)
assert rates.apart()["gemm_flops_s"]
print(xla_bridge.backends_are_initialized(), result["environment"]["machine"]["jax_devices"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False ['cpu']"
