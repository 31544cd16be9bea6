"""The tutorials' benchmarks with the imports that they print, and the page that says what becomes of each example."""

import re

import numpy as np
import pytest

import bsjax
from bsjax import load_dataset, load_model
from bsjax.compat.by_name.registries import load_metric
from tests.submission.test_tutorials import TUTORIALS, data  # noqa: F401 (fixture)
from tests.support.paths import REPOSITORY
from tests.support.written_plugins import writing

PAGE = (REPOSITORY / "docs" / "tutorials.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d\.\d+) \| (.+) \| (.+) \| `([\w/]+\.py)::(\w+)` \|$", PAGE, re.MULTILINE)
PRINTED = {
    "from bsjax.benchmarks import BenchmarkBase": "from brainscore_vision.benchmarks import BenchmarkBase",
    "from bsjax.benchmarks import place_on": "from brainscore_vision.benchmark_helpers.screen import place_on",
    "from bsjax.benchmarks import LazyLoad": "from brainscore_vision.utils import LazyLoad",
    "from bsjax.benchmarks import": "from brainscore_vision.benchmark_helpers.neural_common import",
    "from bsjax import Score": "from brainscore_core import Score",
    "from bsjax import": "from brainscore_vision import",
}


@pytest.fixture
def printed(tmp_path, monkeypatch):
    """``printed(folder)`` has a tutorial's plugin found, with the imports that it has there."""
    with writing(tmp_path / "plugins", monkeypatch) as write:

        def put(name):
            files = {}
            for path in (TUTORIALS / name).glob("*.py"):
                text = path.read_text()
                for ours, theirs in PRINTED.items():
                    text = text.replace(f"{ours} families", ours).replace(ours, theirs)
                files[path.stem] = text
            write("benchmarks", name, files.pop("__init__"), **files)

        monkeypatch.setenv("BSJAX_PLUGINS", f"{tmp_path / 'plugins'}:{TUTORIALS / 'yourdataset'}")
        yield put


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "identifier"),
    [
        ("yourbenchmark", "YourBenchmark.IT-pls"),
        ("myexperiment2024", "MyExperiment2024.IT-pls"),
        ("majajhong2015", "tutorial.MajajHong2015.IT-pls"),
    ],
)
def test_neural_benchmarks(folder, identifier, printed, data):  # noqa: F811
    printed(folder)
    recordings = load_dataset("YourDataset")
    data("MajajHong2015", recordings)
    if folder == "yourbenchmark":  # which does not select a region
        data("YourDataset", recordings.sel(region="IT"))
    benchmark = bsjax.load_benchmark(identifier)
    assert benchmark.parent == "IT" and "@article" in benchmark.bibtex and "plugin" not in vars(benchmark)
    assert 0.8 < float(benchmark.ceiling) < 1
    assert 0.5 < float(benchmark(load_model("pixels"))) < 1.1


@pytest.mark.slow
def test_a_train_test_benchmark(printed, data):  # noqa: F811
    printed("papale2025")
    trials = load_dataset("YourDataset")
    test = np.isin([each[-1] for each in trials["stimulus_id"].values], ["3", "7"])
    once = trials["repetition"].values == trials["repetition"].values.min()  # "train has no repetitions"
    for split, rows in (("train", ~test & once), ("test", test)):
        part = trials.isel(presentation=np.flatnonzero(rows))
        shown = trials.stimulus_set[trials.stimulus_set["stimulus_id"].isin(part["stimulus_id"].values)]
        data(f"Papale2025_{split}", part.assign_attrs(stimulus_set=shown))
    benchmark = bsjax.load_benchmark("tutorial.Papale2025.IT-ridge")
    assert (benchmark.version, benchmark.parent) == (2, "IT")
    pixels = load_model("pixels").activations_model
    wide = bsjax.ModelCommitment("wide", pixels, region_layer_map={"IT": "pixels"}, visual_degrees=18)
    assert 0.5 < float(benchmark(wide)) < 1.2


def test_a_benchmark_of_ones_own_call(printed, data):  # noqa: F811
    printed("kar2019")
    data("Kar2019", load_dataset("YourDataset"))
    benchmark = bsjax.load_benchmark("tutorial.Kar2019-ost")
    assert (benchmark.version, benchmark.parent, float(benchmark.ceiling)) == (2, "IT", 0.79)
    assert np.isnan(benchmark(load_model("pixels")).value)  # as it does not change over time


SKELETON = """
# The tutorial prints this line in its other examples alone.
from brainscore_vision import load_dataset, load_metric, load_stimulus_set
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_vision.model_interface import BrainModel
from brainscore_core.metrics import Score

class MyExperiment2024Benchmark(BenchmarkBase):
    def __init__(self):
        self._assembly = load_dataset('MyExperiment2024')
        self._stimulus_set = load_stimulus_set('MyExperiment2024')
        self._metric = load_metric('accuracy')
        self._visual_degrees = 8
        super().__init__(identifier='MyExperiment2024-accuracy', version=1, parent='behavior',
                         ceiling_func=lambda: self._compute_ceiling(), bibtex="@article{author2024}")

    def __call__(self, candidate: BrainModel) -> Score:
        pass

    def _compute_ceiling(self) -> Score:
        pass
"""
REGISTERED = """
from brainscore_vision import benchmark_registry
from .benchmark import MyExperiment2024Benchmark

benchmark_registry['MyExperiment2024-accuracy'] = MyExperiment2024Benchmark
"""
REGISTERED_STIMULI = """
from brainscore_vision import load_dataset, stimulus_set_registry

stimulus_set_registry['MyExperiment2024'] = lambda: load_dataset('MyExperiment2024').stimulus_set
"""


def test_a_benchmark_whose_bodies_are_to_be_written(tmp_path, monkeypatch):
    with writing(tmp_path / "plugins", monkeypatch) as write:
        write("benchmarks", "myexperiment2024", REGISTERED, benchmark=SKELETON)
        monkeypatch.setenv("BSJAX_PLUGINS", f"{tmp_path / 'plugins'}:{TUTORIALS / 'yourdataset'}")
        write("data", "myexperiment2024", REGISTERED_STIMULI)
        benchmark = bsjax.load_benchmark("MyExperiment2024-accuracy")
        assert (benchmark.version, benchmark.parent) == (1, "behavior") and "author2024" in benchmark.bibtex
        with pytest.raises(ValueError, match="the ceiling of .* must be a Score, or a number, got None"):
            _ = benchmark.ceiling
        with pytest.raises(ValueError, match="the score of .*'MyExperiment2024-accuracy' must be a Score, or a number"):
            benchmark(load_model("pixels"))


def test_metrics_by_their_names():
    names = "pls ridge linear_predictivity neuron_to_neuron".split()
    names += [f"{name}_{form}" for name in names for form in ("cv", "split")]
    for name in [*names, "ridgecv_split", "spantime_pls", "spantime_ridge", "rdm", "rdm_cv", "cka", "cka_cv"]:
        assert callable(load_metric(name)), name


def test_the_page_has_a_test_for_each_example():
    assert len(ROWS) >= 30 and len({number for number, *_ in ROWS}) == len(ROWS)
    for number, example, becomes, file, test in ROWS:
        path = REPOSITORY / file
        assert path.is_file() and f"def {test}(" in path.read_text(encoding="utf-8"), number
        assert example and becomes.split()[0], number
