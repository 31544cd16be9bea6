"""The plan of a grid: what is known before anything runs."""

import numpy as np
import pytest

import bsjax
from bsjax.adapters import from_stored
from bsjax.benchmarks import NeuralBenchmark, builtin_benchmarks
from bsjax.core.memory import held
from bsjax.labelled import Provenance
from bsjax.results import ResultStore
from bsjax.scoring import plan, run_plan
from bsjax.scoring.cells import cell_of, content_of_model
from bsjax.scoring.job import Job, Options
from tests.scoring.conftest import recorded


@pytest.fixture
def store(tmp_path):
    with ResultStore(tmp_path / "results.db") as made:
        yield made


@pytest.fixture
def plugins(plugins):
    return plugins(2, 2)


def states(planned):
    return {cell.names: cell.state for cell in planned}


def test_what_has_a_score_is_not_computed_again(plugins, store):
    first = plan("net*", "Tiny.*", store=store)
    assert set(states(first).values()) == {"compute"} and first.seconds is None
    run_plan(first, store)
    second = plan("net*", "Tiny.*", store=store)
    assert set(states(second).values()) == {"scored"}
    assert [store.score(cell.score).provenance["model"] for cell in second] == ["net0", "net0", "net1", "net1"]
    assert run_plan(second, store).done == ()
    again = plan("net*", "Tiny.*", store=store, again=True)
    assert set(states(again).values()) == {"compute"} and again.seconds > 0


def test_a_metric_that_was_not_scored_takes_what_another_takes_on_the_same_recordings(store):
    for model, benchmark, seconds, memory in (
        ("pixels", "Simulated.V1-cka", 10.0, 1000),
        ("pixels", "Simulated.V1-rdm", 30.0, 5000),
        ("gabor-v1", "Simulated.V1-rdm", 90.0, 5000),
    ):
        made = bsjax.Score(0.5, provenance=Provenance(seconds=seconds))
        store.add(made, model=model, benchmark=benchmark, memory=memory)
    amounts = {
        cell.names: (cell.seconds, cell.memory)
        for cell in plan(["pixels", "gabor-v1", "hmax"], ["Simulated.V1-cka", "Simulated.V1-pls"], store=store)
    }
    assert amounts["pixels", "Simulated.V1-cka"] == (10, 1000)
    # The medians are 60 s for RDM, of which gabor-v1 takes 1.5 times, and 30 s for all on these recordings.
    assert amounts["gabor-v1", "Simulated.V1-cka"] == (15, 1000)
    assert amounts["gabor-v1", "Simulated.V1-pls"] == (45, 5000)
    assert amounts["hmax", "Simulated.V1-pls"] == (30, 5000)
    [other] = plan("pixels", "MajajHong2015public.IT-pls", store=store)
    assert other.seconds is None and other.memory is None


def test_another_code_is_another_cell_and_a_comment_is_no_other_code(plugins, store):
    run_plan(plan("net0", "Tiny.*", store=store), store)
    code = plugins / "models" / "tiny" / "__init__.py"
    code.write_text(code.read_text() + "\n# a comment\n")
    assert set(states(plan("net0", "Tiny.*", store=store)).values()) == {"scored"}
    before = code.read_text()
    code.write_text(before + "\nUNUSED = 1\n")
    assert set(states(plan("net0", "Tiny.*", store=store)).values()) == {"compute"}
    code.write_text(before)
    code = plugins / "benchmarks" / "tiny" / "__init__.py"
    code.write_text(code.read_text().replace("% 12", "% 11"))
    assert set(states(plan("net0", "Tiny.*", store=store)).values()) == {"compute"}


@pytest.mark.slow
def test_a_model_that_was_not_built_here_is_found_when_it_runs(store, tmp_path, monkeypatch):
    run_plan(plan("pixels", "Simulated.V1-cka", store=store, predict=False), store)
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "another home"))
    planned = plan("pixels", "Simulated.V1-cka", store=store, predict=False)
    assert set(states(planned).values()) == {"compute"}
    assert [done.state for done in run_plan(planned, store).done] == ["found"]
    assert len(store.frame(latest=False)) == 1
    assert set(states(plan("pixels", "Simulated.V1-cka", store=store, predict=False)).values()) == {"scored"}


def test_a_model_with_the_content_of_another_has_a_score_of_its_own(plugins, store):
    net = bsjax.load_model("net0")
    models = ["net0", net.with_region_layers(net.region_layer_map, "renamed")]
    assert content_of_model(net) == content_of_model(models[1])
    grid = run_plan(plan(models, "Tiny.b0", store=store), store)
    assert grid.frame()["state"].tolist() == ["scored", "scored"]
    assert sorted(store.frame()["model"]) == ["net0", "renamed"]


def test_options_that_change_no_score_are_no_other_cell():
    def cell(**extraction):
        return cell_of(Job("pixels", "Simulated.V1-pls", Options.of(extraction)), "0")

    assert cell() == cell(batch_size=3, memory="1GB", cache=None)
    from bsjax.activations.reducers import SpatialPooling

    assert cell() != cell(reducer=SpatialPooling(1)) != cell(reducer=SpatialPooling(2))


def test_what_is_in_the_way_is_said(store, monkeypatch):
    planned = plan(
        ["pixels", bsjax.load_model("v1-population")], ["Cowley2026.V4-pls", "MajajHong2015.V4-pls"], store=store
    )
    reasons = {cell.names[0]: cell.reason for cell in planned if "Cowley" in cell.names[1]}
    assert reasons["pixels"] == "it needs data=..., the folder of its recordings"
    assert "blocked" in set(states(planned).values())
    assert "cannot" in str(planned)


def test_nothing_is_in_the_way_of_what_comes_with_bsjax(store, tmp_path, monkeypatch):
    """Also where no data set is on this machine, and none can be had."""
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    planned = plan("pixels", builtin_benchmarks(), store=store, predict=False)
    assert [cell for cell in planned if cell.state == "blocked"] == []


@pytest.mark.slow
def test_models_of_one_network_record_each_others_layers_ahead(store):
    model = bsjax.load_model("gabor-v1")
    layers = [model.with_region_layers({"V1": layer}, f"gabor-{layer}") for layer in ("simple", "complex")]
    planned = plan(layers, ["Simulated.V1-pls", "Simulated.V1-cka"], store=store, predict=False)
    assert {cell.ahead for cell in planned} == {("simple", "complex")}


def test_benchmarks_in_memory_with_the_same_stimuli_record_each_others_layers_ahead(store):
    made, metric = {}, bsjax.load_metric("cka")
    for region, kept in (("V1", 24), ("V4", 24), ("IT", 12)):
        shown = bsjax.StimulusSet({"stimulus_id": [f"s{number:02d}" for number in range(kept)]})
        data = recorded(np.zeros((kept, 2)), shown, region)
        made[region] = NeuralBenchmark(f"Mine.{region}", data, metric, ceiling_func=lambda: bsjax.Score(1.0))
    stored = from_stored({name: np.zeros((24, 3)) for name in "abc"}, "stored", stimulus_ids=range(24))
    model = bsjax.ModelCommitment("stored", stored, region_layer_map=dict(zip(made, "abc", strict=True)))
    planned = plan(model, list(made.values()), store=store, predict=False)
    assert {cell.names[1]: cell.ahead for cell in planned} == {
        "Mine.V1": ("a", "b"), "Mine.V4": ("a", "b"), "Mine.IT": ("c",),
    }  # fmt: skip


@pytest.mark.slow
def test_the_time_and_memory_of_a_comparison_are_predicted_from_its_sizes(store, known_rates):
    models = [bsjax.load_model("gabor-v1").with_region_layers({"V1": layer}, layer) for layer in ("simple", "complex")]
    assert [model.width_of("V1") for model in models] == [4 * 612, 612]
    planned = plan(models, "Simulated.V1-ridge", store=store)
    narrow, wide = sorted(planned, key=lambda cell: cell.names[0])  # complex cells, simple cells
    n = len(bsjax.load_benchmark("Simulated.V1-ridge").stimuli)
    # The responses in float32, a copy in float64 and another within the program, at the least.
    assert 20 * n * 3 * 612 <= wide.memory - narrow.memory < 50 * n * 3 * 612
    assert 0 < narrow.seconds < wide.seconds


def test_stored_activations_are_predicted_too(store, known_rates):
    names = bsjax.load_benchmark("Simulated.V1-ridge").stimuli["stimulus_id"].tolist()
    values = np.random.default_rng(0).normal(size=(len(names), 30, 2)).astype(np.float32)
    stored = from_stored({"all": values}, "stored", stimulus_ids=names)
    model = bsjax.ModelCommitment("stored", stored, region_layer_map={"V1": "all"})
    assert model.width_of("V1") == 60
    [cell] = plan(model, "Simulated.V1-ridge", store=store)
    assert cell.seconds > 0 and cell.memory > held() / 2


@pytest.mark.slow
def test_a_comparison_that_does_not_fit_is_blocked_with_what_would(store, known_rates):
    benchmark = bsjax.load_benchmark("Simulated.V1-pls")
    few = benchmark.target
    benchmark.target = few.isel(neuroid=np.arange(5_000) % few.sizes["neuroid"])
    with bsjax.memory_limit("150MB"):
        [cell] = plan(bsjax.load_model("gabor-v1"), benchmark, store=store)
    assert cell.state == "blocked" and 'This fits: dtype="float32"' in cell.reason


def test_what_is_not_known_before_the_run_is_said(plugins, store):
    [cell] = plan("pixels", "MajajHong2015public.IT-pls", store=store)
    assert cell.seconds is None and "MajajHong2015.public" in cell.unknown
    assert {cell.unknown for cell in plan("net*", "Tiny.*", store=store)} == {"the model is built when it runs"}
    assert "unknown" in str(plan("pixels", "MajajHong2015public.IT-pls", store=store))
