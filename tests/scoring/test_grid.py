"""A grid: every score kept as soon as it is there, whatever happens to the process."""

import random
import signal
import threading
import time
from contextlib import contextmanager

import jax
import numpy as np
import pandas as pd
import pytest
from sqlalchemy import Engine, event, select

import bsjax
from bsjax.activations.cache import ActivationCache
from bsjax.activations.passes.runner import Runner
from bsjax.adapters import from_torch, unit_preprocessing
from bsjax.benchmarks.base import BenchmarkBase
from bsjax.benchmarks.experiment import record
from bsjax.benchmarks.families.simulated.benchmark import population
from bsjax.results import ResultStore, tables
from bsjax.results.overview import runs
from bsjax.scoring import score_grid, watched
from bsjax.scoring.display.heat_map import heat_map
from tests.scoring.conftest import Small, Told
from tests.support.tiny_grid import Started

torch = pytest.importorskip("torch")
LAYERS = [str(number) for number in range(2, 8)]


class Shown(BenchmarkBase):
    def __init__(self, number):
        super().__init__(f"Shown.b{number}", lambda: bsjax.Score(1.0), parent="V1", normalisation="ceil_score")
        self.stimuli, self.number = population().stimuli[:30], number

    region = "V1"

    def observe(self, candidate, stimuli):
        return record(candidate, "V1", [(0, 100)], stimuli)

    def compare(self, seen):
        return bsjax.Score(float(seen.values[self.number].mean()))


@pytest.fixture
def plugins(plugins):
    return plugins(4, 4)


def tell(root, cell, what):
    (root / "told" / cell).write_text(what)


def values(store):
    frame = store.frame(latest=False)
    assert not frame.duplicated(["model", "benchmark"]).any()
    return {(row.model, row.benchmark): row.score for row in frame.itertuples()}


@pytest.mark.slow
def test_a_failure_is_kept_with_its_log_and_the_rest_goes_on(plugins, tmp_path):
    tell(plugins, "net1 Tiny.b1", "fail")
    told = Told()
    with watched(told):
        grid = score_grid("net*", "Tiny.*", store=tmp_path / "results.db")
    assert told.outcomes == list(grid.done) and [done.state for done in grid.done].count("failed") == 1
    assert told.jobs == [cell.job for cell in grid.plan]
    frame = grid.frame().set_index(["model", "benchmark"])
    assert frame["state"].value_counts().to_dict() == {"scored": 15, "failed": 1}
    failed = frame.loc["net1", "Tiny.b1"]
    assert failed["reason"].endswith(": ValueError: told to fail") and np.isnan(failed["score"])
    with grid.store.reading() as connection:
        [log] = connection.exec_driver_sql("SELECT log FROM failures").scalars()
    assert "in compare\n" not in log and "in observe\n" in log and "ValueError: told to fail" in log
    with pytest.raises(KeyError, match="net1.*Tiny.b1"):
        grid.score("net1", "Tiny.b1")
    shown = grid._repr_html_()
    assert shown.count("<td") == 1 + 16 and shown.count(">failed<") == 1 and "ValueError: told to fail" in shown
    assert f">{float(grid.score('net0', 'Tiny.b1')):.2f}</td>" in shown
    # The failure alone is tried again.
    (plugins / "told" / "net1 Tiny.b1").unlink()
    again = score_grid("net*", "Tiny.*", store=grid.store)
    assert [(done.model, done.benchmark, done.state) for done in again.done] == [("net1", "Tiny.b1", "scored")]
    assert again.frame()["state"].tolist() == ["scored"] * 16


@pytest.mark.slow
def test_what_is_no_score_is_a_failure_of_its_cell(good, small, tmp_path):
    class Odd(Small):
        def __call__(self, candidate):
            unwritable = {"lock": threading.Lock()}
            return "half" if self.identifier == "Odd.number" else bsjax.Score(0.5, provenance=unwritable)

    benchmarks = [Odd("Odd.number"), Odd("Odd.unwritable"), small]
    frame = score_grid(good, benchmarks, store=tmp_path / "results.db").frame().set_index("benchmark")
    assert frame["state"].tolist() == ["failed", "failed", "scored"]
    assert "Odd.number" in frame.loc["Odd.number", "reason"] and "number" in frame.loc["Odd.number", "reason"]
    assert "lock" in frame.loc["Odd.unwritable", "reason"]


@pytest.mark.slow
def test_a_grid_that_is_killed_goes_on_where_it_stopped(plugins, tmp_path):
    place, rng = tmp_path / "results.db", random.Random(0)
    for cell in [f"net{model} Tiny.b{benchmark}" for model in range(4) for benchmark in range(4)]:
        tell(plugins, cell, "sleep 0.1")
    ResultStore(place).close()
    kept: dict = {}
    for _ in range(2):
        started = Started(plugins, "-m", "tests.support.tiny_grid", str(place))
        with ResultStore(place, read_only=True) as store:
            while len(values(store)) < len(kept) + 3 and started.is_running:
                time.sleep(0.05)
            time.sleep(rng.uniform(0, 0.1))
            started.kill()
            now = values(store)
        assert kept.items() <= now.items() and len(now) > len(kept)
        kept = now
    grid = score_grid("net*", "Tiny.*", store=place)
    assert len(grid.done) == 16 - len(kept) and set(grid.frame()["state"]) == {"scored"}
    assert kept.items() <= values(grid.store).items()
    alone = score_grid("net*", "Tiny.*", store=tmp_path / "alone.db")
    assert values(alone.store) == values(grid.store)
    assert runs(grid.store)["in_flight"].tolist()[-1] == 0


@contextmanager
def command(plugins, tmp_path):
    """A command that scores all, and its store."""
    place = tmp_path / "results.db"
    ResultStore(place).close()
    with ResultStore(place, read_only=True) as store:
        yield Started(plugins, "-m", "bsjax", "score", "-m", "net*", "-b", "Tiny.*", "--results", str(place)), store


@pytest.mark.slow
def test_ctrl_c_lets_what_runs_finish(plugins, tmp_path):
    for benchmark in range(4):
        tell(plugins, f"net1 Tiny.b{benchmark}", "sleep 1")
    with command(plugins, tmp_path) as (started, store):
        while len(values(store)) < 5 and started.is_running:
            time.sleep(0.05)
        time.sleep(0.3)
        started.signal(signal.SIGINT)
        code, said = started.ended()
        assert code == 130 and "stopped; run the same command again to compute the rest" in said
        assert "Traceback" not in said
        assert 5 <= len(values(store)) <= 8
        [run] = runs(store).to_dict("records")
        assert run["in_flight"] == 0 and run["failed"] == 0 and run["ended"] is not None


@pytest.mark.slow
def test_a_second_ctrl_c_keeps_nothing_of_what_runs(plugins, tmp_path):
    tell(plugins, "net0 Tiny.b0", "sleep 60")
    with command(plugins, tmp_path) as (started, store):
        while started.is_running and not runs(store)["in_flight"].sum():
            time.sleep(0.05)
        started.signal(signal.SIGINT)
        started.wait_until_it_says("Ctrl-C again ends it")
        started.signal(signal.SIGINT)
        code, said = started.ended()
        assert code == 130 and "waiting for net0 on Tiny.b0; Ctrl-C again ends it" in said, said
        assert "Traceback" not in said and store.frame(latest=False).empty
        [run] = runs(store).to_dict("records")
        assert run["in_flight"] == 0 and run["ended"] is not None


@pytest.mark.slow
def test_layers_that_benchmarks_share_stimuli_of_are_recorded_in_one_pass(tmp_path, monkeypatch, capsys):
    preprocessing = unit_preprocessing(8, "NCHW")
    net = torch.nn.Sequential(torch.nn.PReLU(3), torch.nn.Flatten(), *(torch.nn.Identity() for _ in LAYERS))
    activations = from_torch(net, "net", preprocessing, cache=ActivationCache(tmp_path / "activations"))
    committed = bsjax.ModelCommitment("net", activations, region_layer_map={"V1": LAYERS[0]})
    models = [committed.with_region_layers({"V1": name}, f"net-{name}") for name in LAYERS]
    shown = [Shown(number) for number in range(3)]
    outputs = Runner.outputs

    def counted(self, batch, layers, *args):
        print("seen:", len(batch))  # a list that it fills would be a change of what it reads
        return outputs(self, batch, layers, *args)

    # Outside of the network: one that counted itself would be another after each pass.
    monkeypatch.setattr(Runner, "outputs", counted)
    grid = score_grid(models, shown, store=tmp_path / "results.db")
    assert len(grid.done) == 18 and set(grid.frame()["state"]) == {"scored"}
    # A few more images try the layers before.
    seen = [int(line.split()[1]) for line in capsys.readouterr().out.splitlines() if line.startswith("seen: ")]
    assert sum(seen) < 2 * 30
    with ResultStore(tmp_path / "results.db").reading() as connection:
        for [facts] in connection.execute(select(tables.models.c.facts)):
            assert facts["parameters"] == 3 and facts["visual_degrees"] == 8


@pytest.mark.slow
def test_what_the_plugin_of_a_model_requires_is_kept_without_paths(plugins, tmp_path):
    folder = plugins / "models" / "tiny"
    (folder / "requirements.txt").write_text(
        "timm>=1.0  # network\nmine @ https://me:secret@example.org/a.whl\n./here\n"
    )
    score_grid("net0", "Tiny.b0", store=tmp_path / "results.db")
    with ResultStore(tmp_path / "results.db").reading() as connection:
        assert connection.execute(select(tables.models.c.facts)).scalar_one()["requires"] == ["timm>=1.0", "mine"]


@pytest.mark.slow
def test_a_cell_takes_few_questions_to_the_store(plugins, tmp_path):
    store, said = ResultStore(tmp_path / "results.db"), []

    def note(connection, cursor, statement, parameters, context, many):
        said.append(statement.split()[0])

    event.listen(Engine, "before_cursor_execute", note)
    try:
        grid = score_grid("net*", "Tiny.*", store=store)
        n_computing = len(said)
        assert len(grid.outcomes()) == 16
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert len(grid.done) == 16 and n_computing / 16 < 16 and len(said) - n_computing < 4, said


def test_names_and_reasons_are_text_in_a_heat_map():
    row = {"model": "<script>", "benchmark": '"&', "state": "failed", "reason": "<b>\"'"}
    row |= dict.fromkeys(("score", "error", "ceiling", "seconds"), np.nan)
    shown = heat_map(pd.DataFrame([row]))
    assert "<script>" not in shown and "<b>" not in shown and "&lt;b&gt;&quot;&#x27;" in shown


class Counting(bsjax.Metric):
    """Counts how many sources it is given at a time."""

    def __init__(self, metric):
        self.metric, self.given = metric, []

    def of_many(self, sources, target):
        self.given.append(len(sources))
        return self.metric.of_many(sources, target)

    def __call__(self, source, target):
        return self.metric(source, target)


@pytest.mark.slow
def test_answers_that_are_on_an_accelerator_are_compared_in_one_call(tmp_path, monkeypatch):
    model = bsjax.load_model("gabor-v1")
    layers = [model.with_region_layers({"V1": layer}, f"gabor-{layer}") for layer in ("simple", "complex")]
    nowhere = model.with_region_layers({"V4": "simple"}, "nowhere")
    models, place = [layers[0], nowhere, layers[1]], tmp_path / "results.db"
    alone = score_grid(models, "Simulated.V1-cka", store=place)
    made = bsjax.load_benchmark("Simulated.V1-cka")
    metric = Counting(made.metric)
    benchmark = bsjax.benchmarks.NeuralBenchmark("Together.V1", made.target, metric, ceiling_func=lambda: made.ceiling)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    grid = score_grid(models, benchmark, {"keep_on_device": True}, store=place)
    frame = grid.frame().set_index("model")
    assert frame["state"].to_dict() == {"gabor-simple": "scored", "nowhere": "failed", "gabor-complex": "scored"}
    assert "V1" in frame.loc["nowhere", "reason"] and metric.given == [2]
    for layer in layers:
        together, one = (
            each.score(layer.identifier, name) for each, name in ((grid, "Together.V1"), (alone, "Simulated.V1-cka"))
        )
        assert float(together.unceiled) == pytest.approx(float(one.unceiled), rel=1e-6)
        assert together.provenance.layers == one.provenance.layers and together.provenance.seconds is not None
