"""Metrics on eight devices, and in two processes, against one device."""

import json
import os
import socket
import subprocess
import sys

import jax
import numpy as np
import pytest

from bsjax.engine.sharding import dealt_out, over, several_devices
from tests.support.paths import REPOSITORY

SCRIPT = REPOSITORY / "tests" / "support" / "on_many_devices.py"
METRICS = (
    "pls",
    "ridge",
    "linear_predictivity",
    "neuron_to_neuron",
    "ridgecv",
    "ridgecv per target",
    "ridge_split",
    "cka",
    "cka with error",
    "cka with bootstraps",
    "cka_cv",
    "cka streamed",
    "rdm",
    "internal_consistency",
    "internal_consistency by rdm",
    "bootstraps",
)


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
@pytest.mark.parametrize("name", METRICS)
def test_eight_devices_score_as_one(name, on_eight):
    assert on_eight["difference"][name] < 1e-9


@pytest.mark.slow
def test_each_device_holds_a_share(on_eight):
    assert on_eight["share of targets"] == [24, 3] and on_eight["share of stimuli"] == [5, 50]
    # Features are whole on each device; targets and results an eighth.
    whole, share = on_eight["bytes of one device"], on_eight["bytes of eight devices"]
    assert share["arguments"] - share["whole"] < (whole["arguments"] - whole["whole"]) / 4
    assert share["results"] < whole["results"] / 4
    assert on_eight["tiles of each device"] == [5, 5, 5, 5, 4, 4, 4, 4]


@pytest.mark.slow
def test_two_processes_score_as_one():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    processes = [start(port, process, devices=2) for process in (0, 1)]
    for found in map(result_of, processes):
        assert found["devices"] == 4
        assert max(found["difference"].values()) < 1e-9


def test_one_device_is_the_default():
    assert not several_devices()
    with over(jax.devices()[:1]):
        assert not several_devices()
    with pytest.raises(ValueError, match="no devices"), over([]):
        pass


def test_a_kernel_without_several_devices_is_called_as_it_is():
    doubled = dealt_out(lambda x: {"twice": 2 * x}, [np.arange(3.0)], [0], 0)
    np.testing.assert_array_equal(doubled["twice"], [0, 2, 4])
