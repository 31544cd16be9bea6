"""Names and arguments as Brain-Score's tutorials print them."""

import numpy as np
import pytest

import bsjax
from bsjax.benchmarks import benchmark_registry as registry
from bsjax.compat import data, install
from bsjax.compat.assemblies import for_plugins
from bsjax.compat.benchmarks import base
from bsjax.compat.benchmarks.neural import NeuralBenchmark
from bsjax.compat.by_name.registries import load_benchmark, load_metric
from bsjax.compat.data import unzip
from bsjax.compat.score import Score
from bsjax.submission.checks.check_metrics import _recording
from tests.support.written_plugins import images_of


@pytest.fixture(autouse=True)
def _installed():
    install()


@pytest.fixture
def stimuli(tmp_path):
    """As the first tutorial makes them, with ids and paths under their older names."""
    from brainio.stimuli import StimulusSet

    files = images_of(tmp_path / "images", 4).stimulus_paths
    rows = [
        {"image_id": name, "object_name": ["dog", "cat"][number % 2], "image_path_within_store": f"image_{name}"}
        for number, name in enumerate(files)
    ]
    made = StimulusSet(rows)
    made.image_paths = files
    made.name = "Doe2026"
    return made


def test_stimuli_are_packaged(stimuli, tmp_path):
    from brainio.packaging import package_stimulus_set_locally

    assert stimuli.name == stimuli.identifier == "Doe2026" and stimuli.image_paths == stimuli.stimulus_paths
    packaged = package_stimulus_set_locally(stimuli, stimulus_set_identifier=stimuli.name, downloads_path=tmp_path)
    unzip(packaged["zip_path"])
    read = bsjax.data.read_stimulus_set(packaged["csv_path"], packaged["zip_path"].removesuffix(".zip"))
    assert read["image_id"].tolist() == read["stimulus_id"].tolist() == list("abcd")
    assert read["filename"].tolist() == [f"image_{name}.png" for name in "abcd"]
    assert list(stimuli.columns) == ["image_id", "object_name", "image_path_within_store"]


def test_choices_are_packaged(stimuli, tmp_path):
    from brainio.assemblies import BehavioralAssembly
    from brainio.packaging import package_data_assembly_locally

    assembly = BehavioralAssembly(
        ["dog", "dog", "cat", "dog"],
        coords={
            "image_id": ("presentation", list("abcd")),
            "sample_object": ("presentation", ["dog", "cat", "cat", "dog"]),
            "distractor_object": ("presentation", ["cat", "dog", "dog", "cat"]),
        },
        dims=["presentation"],
    )
    assembly.name = "Doe2026"
    packaged = package_data_assembly_locally(
        assembly,
        assembly_identifier=assembly.name,
        stimulus_set_identifier=stimuli.name,
        assembly_class="BehavioralAssembly",
        downloads_path=tmp_path,
    )
    read = bsjax.data.read_assembly(packaged["path"], "BehavioralAssembly")
    names = {"image_id": "stimulus_id", "sample_object": "sample_obj", "distractor_object": "dist_obj"}
    for older, name in names.items():
        assert read[older].values.tolist() == read[name].values.tolist()
    assert read["truth"].values.tolist() == read["sample_object"].values.tolist()


def test_a_catalogue_may_be_left_out(stimuli):
    def package(catalog_name, proto_stimulus_set, stimulus_set_identifier, bucket_name="brainio-temp"):
        return catalog_name, proto_stimulus_set["stimulus_id"].tolist(), stimulus_set_identifier

    of_both = data._packaging(package)
    assert of_both(stimuli, stimulus_set_identifier="Doe2026") == (None, list("abcd"), "Doe2026")
    named = {"catalog_name": "some", "proto_stimulus_set": stimuli, "stimulus_set_identifier": "Doe2026"}
    assert of_both(**named) == ("some", list("abcd"), "Doe2026")


def test_the_oldest_names_of_the_package():
    from brainio.assemblies import PropertiesAssembly
    from brainscore import get_assembly, get_stimulus_set
    from brainscore.benchmarks import BenchmarkBase
    from brainscore.benchmarks.screen import place_on_screen
    from brainscore.metrics.image_level_behavior import I2n
    from brainscore.model_interface import BrainModel
    from brainscore.utils import LazyLoad

    assert BenchmarkBase is base.BenchmarkBase and callable(place_on_screen)
    assert PropertiesAssembly.__name__ == "PropertyAssembly" and BrainModel.Task.label == "label"
    assert len(LazyLoad(lambda: [1])) == 1 and callable(get_assembly) and callable(get_stimulus_set)
    ceiled = I2n().ceil_score(Score(0.4), Score(0.8))
    assert ceiled == 0.5 and ceiled.raw == 0.4 and ceiled.ceiling == 0.8
    assert load_metric("i2n").ceil_score(0.4, 0.8) == 0.5


def test_a_pool_of_what_is_loaded_when_it_is_needed():
    from brainscore import Score
    from brainscore.benchmarks import BenchmarkBase, benchmark_pool
    from brainscore.utils import LazyLoad

    class First(BenchmarkBase):
        def __init__(self):
            super().__init__(identifier="Mine2021-first", version=1, ceiling_func=lambda: 1, parent="IT")

        def __call__(self, candidate):
            return Score(0.4)

    benchmark_pool["Mine2021-first"] = LazyLoad(First)
    assert float(bsjax.score("pixels", "Mine2021-first")) == 0.4
    del registry["Mine2021-first"]


@pytest.mark.parametrize("load", [bsjax.load_benchmark, load_benchmark])
def test_public_benchmarks_by_the_names_of_the_tutorials(load):
    assert load("MajajHong2015.IT.public-pls").identifier == "MajajHong2015public.IT-pls"
    assert load("FreemanZiemba2013.V1.public-pls").identifier == "FreemanZiemba2013public.V1-pls"
    assert "MajajHong2015.IT.public-pls" not in bsjax.list_benchmarks()


def test_time_bins_of_a_neural_benchmark():
    def of(assembly, **named):
        benchmark = NeuralBenchmark("Mine.IT-x", assembly, None, 8, 1, version=1, ceiling_func=lambda: 1, **named)
        return benchmark.timebins

    still = for_plugins(_recording())
    assert of(still) == [(70, 170)] and of(still, timebins=[(0, 50)]) == [(0, 50)]
    assert of(still.assign_coords(time_bin_start=10, time_bin_end=20)) == [(10, 20)]


@pytest.mark.slow
def test_a_metric_that_is_put_together():
    from brainscore_vision.metrics.regression_correlation.metric import (
        CrossRegressedCorrelation,
        linear_regression,
        pearsonr_correlation,
        pls_regression,
        ridge_regression,
    )

    class Mean(CrossRegressedCorrelation):
        def aggregate(self, scores):
            return scores.mean(dim="neuroid")

    rng = np.random.default_rng(0)
    target = for_plugins(_recording().assign_coords(object_name=("presentation", ["dog", "cat"] * 20)))
    source = target.copy(data=target.values + rng.normal(size=target.shape))
    stratified = {"stratification_coord": "object_name"}
    made = {
        "pls": pls_regression({"n_components": 3}),
        "ridge": ridge_regression(),
        "linear_predictivity": linear_regression(),
    }
    for name, regression in made.items():
        settings = {"n_components": 3} if name == "pls" else {}
        ours = load_metric(name, crossvalidation_kwargs=stratified, **settings)(source, target)
        metric = CrossRegressedCorrelation(regression, pearsonr_correlation(), stratified)
        assert float(metric(source, target)) == pytest.approx(float(ours), abs=1e-4)
        assert float(Mean(regression, pearsonr_correlation(), stratified)(source, target)) != float(ours)
