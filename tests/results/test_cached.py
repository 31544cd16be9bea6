"""What functions return, kept by the identity of the function and its arguments."""

import subprocess
import sys
import uuid
from datetime import UTC, datetime

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bsjax
from bsjax import NeuroidAssembly, Score, StimulusSet

VALUES = [
    None,
    0.5,
    float("nan"),
    ("text", [1, {"a": True, 2: datetime(2026, 1, 2, tzinfo=UTC)}]),
    np.array([[1.5, np.nan]], np.float32),
    np.array(["a", "bc"]),
    np.array(["a", None, 3], object),
    np.array(["2026-01-01"], "datetime64[ns]"),
    {"nested": (np.arange(3), [np.float32(2.0)])},
    xr.DataArray(np.eye(2, dtype=np.float32), {"split": [0, 1]}, ["split", "unit"], "raw", {"bins": (70, 170)}),
    NeuroidAssembly(np.eye(2), {"object_name": ("presentation", ["x", None])}, ["presentation", "neuroid"]),
    Score(0.5, error=0.1, provenance={"model": "pixels"}),
    jnp.arange(3),
]


@pytest.fixture
def counted():
    calls = []

    def kept(values):
        @bsjax.cached(version=uuid.uuid4().hex)
        def call(number):
            calls.append(number)
            return values

        return call, calls

    return kept


def same(one, other):
    if isinstance(one, (list, tuple)):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, xr.DataArray):
        return type(one) is type(other) and one.identical(other) and one.dtype == other.dtype
    if isinstance(one, (np.ndarray, jax.Array)):
        np.testing.assert_array_equal(one, other)
        return one.dtype == other.dtype and isinstance(other, type(one))
    return one == other or (one != one and other != other)


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_is_kept_comes_back_as_it_was(counted, value):
    call, calls = counted(value)
    assert same(call(1), value) and same(call(1), value) and calls == [1]


def test_other_arguments_and_defaults_are_other_calls():
    calls = []

    @bsjax.cached(version="defaults")
    def call(x, *more, scale=2):
        calls.append(scale)
        return scale

    x = np.arange(3)
    assert [call(x), call(x, scale=2), call(x + 1), call(x, scale=3), call(x, 1)] == [2, 2, 2, 3, 2]
    assert calls == [2, 2, 3, 2]
    with pytest.raises(TypeError, match="unexpected"):
        call(x, size=3)


PROGRAM = """
import sys
import uuid
import bsjax
from helpers import scale

@bsjax.cached
def total(numbers):
    print("computed", end=" ")
    with open(sys.argv[1]) as file:
        return sum(numbers) * scale(float(file.read()))

print(total([1, 2]))
"""


@pytest.mark.slow
def test_a_changed_helper_or_file_computes_anew_in_another_process(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    helpers, weights = tmp_path / "helpers.py", tmp_path / "weights.txt"

    def run(helper="def scale(x):\n    return 2 * x\n", weight="1"):
        helpers.write_text(helper)
        weights.write_text(weight)
        command = [sys.executable, tmp_path / "program.py", weights]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    assert [run(), run(), run(weight="5")] == ["computed 6.0", "6.0", "computed 30.0"]
    assert run(helper="def scale(x):\n    return 3 * x\n") == "computed 9.0"


def test_methods_are_kept_by_the_state_of_their_object(tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))

    class Model:
        def __init__(self, gain):
            self.gain = gain

        @bsjax.cached
        def look(self, x):
            return self.gain * x

    assert [Model(2).look(3), Model(2).look(3), Model(4).look(3)] == [6, 6, 12]
    assert len([*(tmp_path / "functions").rglob("*.npz")]) == 2


def test_what_cannot_be_told_or_written_runs_each_time_and_says_why(counted):
    call, calls = counted(iter([1]))
    with pytest.warns(RuntimeWarning, match="not kept"):
        call(1)
    call(1)
    assert calls == [1, 1]
    with pytest.warns(RuntimeWarning, match="version="):
        assert counted(1)[0](n for n in range(3)) == 1
    with pytest.raises(TypeError, match="decorates a function"):
        bsjax.cached("1")


def test_it_can_be_switched_off_and_a_damaged_file_is_made_again(counted, monkeypatch, tmp_path):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))
    call, calls = counted(np.arange(3))
    call(1)
    monkeypatch.setenv("RESULTCACHING_DISABLE", "1")
    call(1)
    monkeypatch.delenv("RESULTCACHING_DISABLE")
    call(1)
    assert calls == [1, 1]
    [file] = (tmp_path / "functions").rglob("*.npz")
    file.write_bytes(file.read_bytes()[:100])
    assert same(call(1), np.arange(3)) and calls == [1, 1, 1] and same(call(1), np.arange(3)) and len(calls) == 3


def test_stimulus_sets_come_back_and_are_made_again_where_their_files_are_gone(counted, tmp_path):
    (tmp_path / "a.png").write_bytes(b"1")
    rows = {"stimulus_id": ["a", "b"], "size": [1.5, 2.0], "object_name": ["dog", None]}
    stimuli = StimulusSet(rows, identifier="two", stimulus_paths={"a": tmp_path / "a.png"})
    shown = NeuroidAssembly(
        np.eye(2), coords={"stimulus_id": ("presentation", ["a", "b"])}, dims=["presentation", "neuroid"]
    )
    shown.attrs["stimulus_set"] = stimuli
    call, calls = counted(shown)
    for _ in range(2):
        found = call(1).attrs["stimulus_set"]
        pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(stimuli))
        assert (found.identifier, found.stimulus_paths) == ("two", stimuli.stimulus_paths) and calls == [1]
    (tmp_path / "a.png").unlink()
    call(1)
    assert calls == [1, 1]
