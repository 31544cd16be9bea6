"""What scores are made of changes on the disk: a score that is kept is not taken for that of what is there now."""

import numpy as np
import pytest

from bsjax.benchmarks import benchmark_registry
from bsjax.data import data_registry
from bsjax.models import model_registry
from bsjax.results import ResultStore
from bsjax.results.exchange import import_scores
from bsjax.scoring import plan, run_plan

pytestmark = pytest.mark.slow


MODEL = """
import os

import numpy as np
from stale_helper import scaled

from bsjax import ModelCommitment, model_registry
from bsjax.adapters import from_jax, unit_preprocessing

from .parts import PART


def made():
    weights = np.load(os.environ["STALE_WEIGHTS"])
    activations = from_jax(lambda images: scaled(images.mean((1, 2))) * weights * PART, "stale", unit_preprocessing(8))
    return ModelCommitment("stale", activations, region_layer_map={"V1": "output"})


model_registry["stale"] = made
"""
BENCHMARK = """
from pathlib import Path

from bsjax import Score, benchmark_registry, load_dataset
from bsjax.benchmarks import BenchmarkBase
from bsjax.benchmarks.experiment import record
from bsjax.benchmarks.families.simulated.benchmark import population


class Stale(BenchmarkBase):
    def __init__(self):
        super().__init__("Stale.V1", lambda: Score(0.9), parent="V1", normalisation="ceil_score")
        self.stimuli = population().stimuli[:4]

    def observe(self, candidate, stimuli):
        return record(candidate, "V1", [(0, 100)], stimuli)

    def compare(self, seen):
        lazily = float(Path({data!r}).read_text())
        return Score(lazily * load_dataset("Stale2026") * float(seen.values.mean()))


benchmark_registry["Stale.V1"] = Stale
"""
DATA = "from bsjax import data_registry\n\ndata_registry['Stale2026'] = lambda: 0.5\n"


@pytest.fixture
def scored(tmp_path, monkeypatch):
    """A store with a score of a plugin's model on a plugin's benchmark."""
    plugins, weights, data = tmp_path / "plugins", tmp_path / "weights.npy", tmp_path / "data.txt"
    np.save(weights, 0.5)
    data.write_text("0.5")
    for place, text in (
        ("models/stale/__init__.py", MODEL),
        ("models/stale/parts.py", "PART = 1.0\n"),
        ("benchmarks/stale/__init__.py", BENCHMARK.format(data=str(data))),
        ("data/stale/__init__.py", DATA),
    ):
        path = plugins / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "stale_helper.py").write_text("def scaled(x):\n    return x * 1.0\n")
    monkeypatch.syspath_prepend(tmp_path / "modules")
    monkeypatch.setenv("BSJAX_PLUGINS", str(plugins))
    monkeypatch.setenv("STALE_WEIGHTS", str(weights))
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    with ResultStore(tmp_path / "results.db") as store:
        run = run_plan(plan("stale", "Stale.V1", store=store), store)
        assert [done.error for done in run.done] == [None]
        yield store
    for registry, name in ((model_registry, "stale"), (benchmark_registry, "Stale.V1"), (data_registry, "Stale2026")):
        del registry[name]


def state(store):
    [cell] = plan("stale", "Stale.V1", store=store)
    return cell.state


def test_a_changed_file_is_noticed_before_anything_is_built(scored, tmp_path, monkeypatch):
    assert state(scored) == "scored"
    for place, change in (
        ("weights.npy", lambda path: np.save(path, 0.25)),
        ("data.txt", lambda path: path.write_text("0.7")),
        ("modules/stale_helper.py", lambda path: path.write_text(path.read_text().replace("1.0", "2.0"))),
        ("plugins/models/stale/parts.py", lambda path: path.write_text("PART = 2.0\n")),
        ("plugins/data/stale/__init__.py", lambda path: path.write_text(DATA.replace("0.5", "0.6"))),
    ):
        path = tmp_path / place
        before = path.read_bytes()
        change(path)
        assert state(scored) == "compute", place
        path.write_bytes(before)
        assert state(scored) == "scored", place
    np.save(tmp_path / "others.npy", 0.5)
    monkeypatch.setenv("STALE_WEIGHTS", str(tmp_path / "others.npy"))
    assert state(scored) == "compute"


def test_another_home_takes_the_score_of_the_same_files_alone(scored, tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "another home"))
    with ResultStore(tmp_path / "copy.db") as copy:
        import_scores(copy, scored.place)
        # The model has not been built here: what it is shows when it runs.
        assert [done.state for done in run_plan(plan("stale", "Stale.V1", store=copy), copy).done] == ["found"]
        assert state(copy) == "scored"
        (tmp_path / "data.txt").write_text("0.7")
        assert [done.state for done in run_plan(plan("stale", "Stale.V1", store=copy), copy).done] == ["scored"]
        (tmp_path / "data.txt").write_text("0.5")
        assert state(copy) == "scored"
