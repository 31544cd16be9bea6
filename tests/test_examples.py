"""The examples: their parts work, and a shorter run shows what their text says."""

import importlib.util
import sys
from pathlib import Path

import jax
import pytest

pytest.importorskip("flax")
pytest.importorskip("matplotlib")

from bsjax import Score

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


def test_its_table_its_words_and_its_figure_say_what_moved(digits, tmp_path):
    first, last = (
        digits.Checkpoint(step, 0.1 + step, Score(0.2 + step, error=0.01), dict.fromkeys(digits.LAYERS, score))
        for step, score in ((0, Score(0.15, error=0.01)), (1, Score(0.14, error=0.01)))
    )
    lines = digits.table([first, last]).splitlines()
    assert len({len(line) for line in lines}) == 1 and lines[2].split()[:3] == ["1", "1.100", "1.200"]
    words = digits.summary(first, last).splitlines()
    assert words[0] == "separation of the classes rose: 0.200 to 1.200"
    assert words[1] == "prediction of simulated V1 by block1 did not move beyond its error: 0.150 to 0.140"
    digits.draw([first, last], tmp_path / "digits.png")
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_it_is_looked_at_before_and_after_its_steps(digits):
    data = digits.digits()
    assert data.train.shape == (1198, 48, 48, 1) and data.test.shape == (599, 48, 48, 1)
    network = digits.Network(digits.nnx.Rngs(0))
    biases = []
    few = data._replace(train=data.train[:64, :8, :8], train_labels=data.train_labels[:64])
    digits.train(network, few, 1, lambda step: biases.append((step, network.readout.bias[...].copy())))
    assert [step for step, _ in biases] == [0, 1]
    assert (biases[0][1] != biases[1][1]).any()


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
