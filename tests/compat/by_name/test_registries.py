"""What plugins register, from both sides."""

import numpy as np
import pytest

import bsjax
from bsjax import data as of_bsjax
from bsjax import labelled
from bsjax.benchmarks import benchmark_registry
from bsjax.compat import assemblies
from bsjax.compat.benchmarks.base import BenchmarkForBsjax, BenchmarkForPlugins
from bsjax.compat.by_name import registries
from bsjax.compat.score import Score
from bsjax.compat.sides.scores import MetricForBsjax, MetricForPlugins
from bsjax.labelled.registry import metric_registry
from tests.compat.conftest import recording

METRICS = """
from brainscore_vision import metric_registry
from brainscore_core.metrics import Metric, Score


class Mean(Metric):
    def __init__(self, scale=1.0):
        self.scale = scale

    def __call__(self, assembly1, assembly2):
        product = self.scale * assembly1 * assembly2
        score = Score(float(product.mean()))
        score.attrs['raw'] = product.mean('presentation')
        score.attrs['classes'] = [type(assembly1).__name__, type(assembly1).__module__]
        return score


metric_registry['tiny_mean'] = Mean
metric_registry['rdm'] = Mean
metric_registry['tiny_ridge_split'] = lambda: Mean(3.0)
"""
BENCHMARKS = """
from brainscore_vision import benchmark_registry, load_dataset, load_metric
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_vision.metrics import Score

built = []


class Tiny(BenchmarkBase):
    def __init__(self, identifier):
        built.append(identifier)
        super().__init__(identifier=identifier, version=3, ceiling_func=lambda: Score(0.8), parent='V1', bibtex='@a{}')

    def __call__(self, candidate):
        candidate.start_recording('V1', [(70, 170)])
        assembly = load_dataset('TinyData')
        seen = candidate.look_at(assembly.stimulus_set)
        raw = load_metric('tiny_mean')(seen.isel(neuroid=slice(2)), assembly)
        score = Score(raw.item() / self.ceiling.item())
        score.attrs.update(raw=raw, ceiling=self.ceiling, error=0.1, seen=type(seen).__module__)
        return score


benchmark_registry['Tiny.V1-mean'] = lambda: Tiny('Tiny.V1-mean')
benchmark_registry['Simulated.V1-rdm'] = lambda: Tiny('Simulated.V1-rdm')
"""
DATA = """
from brainscore_vision import data_registry, load_stimulus_set, stimulus_set_registry
from brainscore_core.supported_data_standards.brainio.assemblies import NeuroidAssembly
from tests.support.written_plugins import images_of


def recordings():
    coords = {'stimulus_id': ('presentation', ['a', 'b', 'c']), 'unit': ('neuroid', [1, 2])}
    made = NeuroidAssembly([[1., 2.], [3., 4.], [5., 6.]], coords=coords, dims=['presentation', 'neuroid'])
    made.attrs['stimulus_set'] = load_stimulus_set('TinyStimuli')
    return made


data_registry['TinyData'] = recordings
stimulus_set_registry['TinyStimuli'] = lambda: images_of(FOLDER)
"""


@pytest.fixture
def plugins(write, tmp_path):
    write("metrics", "tiny_metrics", METRICS)
    write("benchmarks", "tiny_benchmarks", BENCHMARKS)
    data = write("data", "tiny_data", "from pathlib import Path\nFOLDER = Path(__file__).parent\n" + DATA)
    return data


def test_a_metric_of_a_plugin(plugins):
    metric = bsjax.load_metric("tiny_mean", scale=2.0)
    assert type(metric) is MetricForBsjax and metric_registry.plugin_of("tiny_mean").folder.name == "tiny_metrics"
    one, two = (recording(seed, 8, 3, cls=of_bsjax.NeuroidAssembly) for seed in range(2))
    score = metric(one, assembly2=two)
    assert metric.scale == 2 and not hasattr(metric, "nothing")
    np.testing.assert_allclose(score.raw.values, 2 * (one.values * two.values).mean(axis=0))
    assert type(score) is labelled.Score and float(score) == pytest.approx(2 * (one.values * two.values).mean())
    assert score.attrs["classes"] == ["NeuroidAssembly", "bsjax.compat.assemblies"]
    theirs = registries.load_metric("tiny_mean", 2.0)
    assert type(theirs).__name__ == "Mean" and type(theirs(assemblies.for_plugins(one), two)) is Score
    assert registries.load_ceiling("tiny_mean").scale == 1
    assert registries.load_metric("tiny_ridge_split", alphas=[1, 2]).scale == 3  # it chooses no penalty


def test_the_metric_of_bsjax_counts_and_the_other_has_its_name(plugins):
    one, two = (recording(seed, 8, 3, cls=of_bsjax.NeuroidAssembly) for seed in range(2))
    other, theirs = bsjax.load_metric("brainscore:rdm"), registries.load_metric("rdm")
    assert metric_registry.plugin_of("rdm") is None and type(other) is MetricForBsjax
    assert float(other(one, two)) == pytest.approx((one.values * two.values).mean())
    assert type(theirs) is MetricForPlugins
    score = theirs(assemblies.for_plugins(one), assembly2=assemblies.for_plugins(two))
    assert type(score) is Score and score == float(bsjax.load_metric("rdm")(one, two)) != float(other(one, two))
    assert type(registries.load_metric("brainscore:rdm")).__name__ == "Mean"


def test_data_of_a_plugin(plugins):
    own, theirs = bsjax.load_dataset("TinyData"), registries.load_dataset("TinyData")
    assert type(own) is of_bsjax.NeuroidAssembly and type(theirs) is assemblies.NeuroidAssembly
    for each in (own, theirs):
        assert each.values.tolist() == [[1, 2], [3, 4], [5, 6]] and each["unit"].values.tolist() == [1, 2]
        assert each.attrs["stimulus_set"]["stimulus_id"].tolist() == ["a", "b", "c"]
    for load in (bsjax.load_stimulus_set, registries.load_stimulus_set):
        assert load("TinyStimuli").get_stimulus("c") == plugins / "c.png"


def test_a_benchmark_of_a_plugin(plugins):
    benchmark = bsjax.load_benchmark("Tiny.V1-mean")
    assert type(benchmark) is BenchmarkForBsjax and "Tiny.V1-mean" in bsjax.list_benchmarks()
    model = bsjax.load_model("pixels")
    score = benchmark(model)
    model.start_recording("V1", [(70, 170)])
    seen = model.look_at(bsjax.load_stimulus_set("TinyStimuli"))
    expected = (seen.values[:, :2] * [[1, 2], [3, 4], [5, 6]]).mean()
    assert float(score) == pytest.approx(expected / 0.8) and score.error == 0.1
    assert float(score.unceiled) == pytest.approx(expected) and float(score.ceiling) == 0.8
    assert score.raw.dims == ("neuroid",) and score.attrs["seen"] == "bsjax.compat.assemblies"
    assert (score.provenance.benchmark, score.provenance.benchmark_version) == ("Tiny.V1-mean", 3)
    assert (score.provenance.model, score.provenance.parent) == ("pixels", "V1")
    theirs = registries.load_benchmark("Tiny.V1-mean")
    assert type(theirs).__name__ == "Tiny" and (theirs.version, theirs.bibtex) == (3, "@a{}")
    found = registries.score("pixels", "Tiny.V1-mean")
    assert type(found) is Score and found == float(score) and found.raw == float(score.unceiled)
    assert found.ceiling == 0.8 and found.attrs["error"] == 0.1
    np.testing.assert_array_equal(found.raw.raw.values, score.raw.values)
    assert found.model_identifier == "pixels" and found.benchmark_identifier == "Tiny.V1-mean"
    assert found.comment == f"layers: {dict(score.provenance.layers)}" and "V1" in found.comment


@pytest.mark.slow
def test_the_benchmark_of_bsjax_counts_and_the_other_has_its_name(plugins):
    own, other = (bsjax.load_benchmark(f"{side}Simulated.V1-rdm") for side in ("", "brainscore:"))
    assert benchmark_registry.plugin_of("Simulated.V1-rdm") is None and type(own) is not BenchmarkForBsjax
    assert type(other) is BenchmarkForBsjax and other.identifier == "Simulated.V1-rdm" and other.plugin.version == 3
    theirs = registries.load_benchmark("Simulated.V1-rdm")
    assert type(theirs) is BenchmarkForPlugins and theirs.identifier == own.identifier
    model = bsjax.load_model("pixels")
    assert float(other(model)) == pytest.approx(float(bsjax.load_benchmark("Tiny.V1-mean")(model)))


def test_registries_are_mappings_as_there():
    registry = registries.metric_registry
    before = len(registry)
    with pytest.raises(ValueError, match="'built-already': expected a callable that builds it, got list; wrap what is"):
        registry["built-already"] = [1]
    registry["made-here"] = lambda: 3
    try:
        assert "made-here" in registry and list(registry)[-1] == "made-here" and callable(registry["made-here"])
    finally:
        del registry["made-here"]
    assert "made-here" not in registry and len(registry) == before == len(list(registry))
    with pytest.raises(KeyError, match="no plugin of Brain-Score's in .* registers 'Tiny2099'"):
        registries.load_benchmark("brainscore:Tiny2099")


def test_a_plugin_of_a_name_of_bsjax_that_fails_is_one_line(write):
    write(
        "metrics", "broken_metrics", "from brainscore_vision import metric_registry\nmetric_registry['cka'] = nowhere\n"
    )
    assert type(bsjax.load_metric("cka")) is not MetricForBsjax
    with pytest.raises(ImportError, match="metric 'brainscore:cka' of the plugin .*line 2: NameError") as failed:
        bsjax.load_metric("brainscore:cka")
    assert "\n" not in str(failed.value)
