"""Metrics on eight devices, and in two processes, against one device."""

import json
import os
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

from bsjax.engine.programs.compilation import Program
from bsjax.engine.sharding import Shards, devices_in_use, sharded, use_devices
from tests.support.paths import REPOSITORY

SCRIPT = REPOSITORY / "tests" / "support" / "on_many_devices.py"
COLLECTIVES = {
    "ridge": {"all-reduce": 6, "all-gather": 1},
    "pls": {"all-reduce": 12, "all-gather": 1},
    # A CPU looks for the best feature by blocks, which cross the borders of shares; accelerators do not.
    "neuron_to_neuron": {"all-reduce": 6, "all-gather": 7, "all-to-all": 1, "collective-permute": 3},
    "folds": {},
    "layers": {},
    "stimuli of cka": {"all-reduce": 18, "all-gather": 1},
    "stimuli of rdm": {"all-reduce": 3, "collective-permute": 10},
}


def start(*arguments, devices):
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
    environment = {**os.environ, "XLA_FLAGS": flags}
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def result_of(process):
    out, err = process.communicate(timeout=590)
    assert process.returncode == 0, err
    return json.loads(out.strip().splitlines()[-1])


@pytest.fixture(scope="module")
def on_eight():
    return result_of(start(devices=8))


@pytest.mark.slow
def test_eight_devices_score_as_one_and_each_holds_a_share(on_eight):
    assert {name: off for name, off in on_eight["difference"].items() if not off < 1e-12} == {}
    assert on_eight["share of targets"] == [24, 3] and on_eight["share of stimuli"] == [5, 50]
    assert on_eight["tiles of each device"] == [5, 5, 5, 5, 4, 4, 4, 4]


@pytest.mark.slow
@pytest.mark.parametrize("name", COLLECTIVES)
def test_each_device_takes_an_eighth_of_the_memory_and_tells_others_no_more_than_sums(name, on_eight):
    """Beside what all of them have: similarities between stimuli or units, one fold or layer at work."""
    program = on_eight["programs"][name]
    assert program["each"]["bytes"] <= 1.3 / 8 * program["alone"]["bytes"] + program["of all"]
    found = program["each"]["collectives"]
    assert found.keys() <= COLLECTIVES[name].keys()
    assert all(count <= COLLECTIVES[name][kind] for kind, count in found.items())


@pytest.mark.slow
def test_two_processes_score_as_one():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    processes = [start(port, process, devices=2) for process in (0, 1)]
    for found in map(result_of, processes):
        assert found["devices"] == 4
        assert max(found["difference"].values()) < 1e-12


def test_one_device_is_the_default():
    assert devices_in_use() == 1
    with use_devices(jax.devices()[:1]):
        assert devices_in_use() == 1
    with pytest.raises(ValueError, match="no devices"), use_devices([]):
        pass


def test_a_kernel_without_several_devices_is_called_as_it_is():
    double = Program(lambda x: {"twice": x + x})
    doubled = sharded(double, [np.arange(3.0)], Shards((0,), repeats=0))
    np.testing.assert_array_equal(doubled["twice"], [0, 2, 4])
