"""The examples: their parts work, and a shorter run shows what their text says."""

import importlib.util
import sys
from pathlib import Path

import jax
import pytest

pytest.importorskip("flax")
pytest.importorskip("matplotlib")


EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(autouse=True)
def plain_jax():
    """JAX as a user has it: optax itself mixes integers and floats."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.fixture(scope="module")
def digits():
    spec = importlib.util.spec_from_file_location("digits_example", EXAMPLES / "digits.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["digits_example"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["digits_example"]


@pytest.mark.slow
def test_a_run_learns_digits_and_moves_away_from_simulated_v1(digits, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(digits, "CHECKPOINTS", (0,))  # a look takes as long as 60 steps
    checkpoints = digits.main(["--steps", "170", "--figure", str(tmp_path / "digits.png")])
    first, last = checkpoints
    assert (first.step, last.step) == (0, 170)
    assert first.accuracy < 0.3 < 0.8 < last.accuracy
    printed = capsys.readouterr().out
    assert "separation of the classes rose" in printed
    assert all(f"prediction of simulated V1 by {name} fell" in printed for name in ("block2", "block3"))
    assert (tmp_path / "digits.png").stat().st_size > 10_000
