"""Small programs compiled for devices that are not here, where their compilers are."""

import pytest

from benchmarks_perf.ahead.client import compiled
from benchmarks_perf.ahead.devices import DEVICES
from benchmarks_perf.ahead.environments import interpreter
from benchmarks_perf.ahead.results import CODE_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("plugin", DEVICES)
@pytest.mark.parametrize("name", ["accuracy", "internal_consistency", "i2n"])
def test_small_programs_compile_and_are_small(name, plugin):
    if interpreter(plugin, print, may_build=False) is None:
        pytest.skip(f"no compiler for {plugin}: make ahead ARGS='--platform {plugin}' installs it")
    found = compiled(name, plugin)
    assert "failed" not in found
    assert not found["callbacks"] and not found["has_float64"] and not found["calls"] and not found["in_rare_branches"]
    assert "default" not in found["precisions"]
    assert 0 < found["launches"] < 100 and found["steps"] == 0
    assert (found["code_bytes"] or 0) < CODE_BYTES
    assert 0 < found["seconds"] < 1e-3


@pytest.mark.slow
def test_a_program_that_takes_too_long_is_given_up():
    if interpreter("tpu", print, may_build=False) is None:
        pytest.skip("no compiler for tpu: make ahead ARGS='--platform tpu' installs it")
    assert compiled("pls", "tpu", seconds=0.5) == {"failed": "not compiled after 0 s"}
    assert "no_such_program" in compiled("no_such_program", "tpu")["failed"]
