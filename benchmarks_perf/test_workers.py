"""The pipe between what measures and what is measured."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks_perf import data
from benchmarks_perf.workers import client, protocol

SERVER = """
import sys
sys.path.insert(0, {folder!r})
import protocol

def doubled(inputs, times):
    array = inputs["source"]["values"]
    print("said aloud")
    return lambda: {{"score": array.sum() * times, "raw": array * times}}

protocol.serve({{"doubled": doubled}}, lambda value: value, ["numpy"])
"""


def test_a_worker_answers_on_the_pipe_alone(tmp_path):
    inputs = data.recordings(stimuli=6, features=2, neuroids=1)
    data.write(tmp_path / "inputs.npz", inputs)
    requests = [
        {"do": "versions"},
        {"do": "build", "path": str(tmp_path / "inputs.npz"), "task": "doubled", "options": {"times": 2}},
        {"do": "call", "trim": True},
        {"do": "answer", "path": str(tmp_path / "answer.npz")},
    ]
    command = [sys.executable, "-c", SERVER.format(folder=str(Path(protocol.__file__).parent))]
    said = "\n".join(map(json.dumps, requests))
    done = subprocess.run(command, input=said, capture_output=True, text=True, check=True)
    versions, built, called, _ = map(json.loads, done.stdout.splitlines())
    assert versions == {"numpy": np.__version__} and built == {} and called["seconds"] > 0
    assert "said aloud" in done.stderr
    with np.load(tmp_path / "answer.npz") as answer:
        np.testing.assert_array_equal(answer["raw"], 2 * inputs["source"].values)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems keep no peak of memory")
def test_memory_is_what_the_call_takes_beyond_what_was_held():
    held = np.ones(40_000_000, np.uint8)
    _, said = protocol.measured(lambda: np.ones(80_000_000, np.uint8).sum(), trim=True)
    assert 0.9 * 80_000_000 < said["peak_bytes"] < 80_000_000 + held.nbytes / 2  # Linux counts in lots of pages


@pytest.mark.slow
def test_a_worker_that_stops_says_why(tmp_path):
    with (
        client.Worker("bsjax float64", tmp_path) as worker,
        pytest.raises(RuntimeError, match="(?s)the process of bsjax float64 stopped while asked for.*nowhere.npz"),
    ):
        worker.build(tmp_path / "nowhere.npz", "ridge", {})
