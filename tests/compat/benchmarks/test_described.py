"""What plugins' benchmarks say of themselves before their data are read."""

import pytest

import bsjax
from bsjax.benchmarks import benchmark_row
from bsjax.compat.benchmarks.base import BenchmarkForBsjax
from bsjax.compat.benchmarks.described import Said, described
from bsjax.core.discovery import brainscore_plugins

INIT = """
from brainscore_vision import benchmark_registry
from . import benchmark

for_it = benchmark.for_it
benchmark_registry["Mine2024.IT-first"] = for_it
benchmark_registry["Mine2024.V1-lazy"] = benchmark.Lazy
benchmark_registry["Mine2024.V2-positions"] = benchmark.positions
benchmark_registry["Mine2024.V2-own"] = benchmark.Own
benchmark_registry["Hebart2023-match"] = for_it
"""
BENCHMARK = '''
import functools

from brainscore_vision import data_registry, load_dataset, load_stimulus_set
from brainscore_vision.benchmarks import BenchmarkBase
from brainscore_vision.benchmark_helpers.neural_common import NeuralBenchmark, average_repetition
from brainscore_core.metrics import Score

BIBTEX = """@article{mine2024, title={Mine}, author={Me, A.}, year={2024}}"""
VERSIONS = {"IT": 3}


@functools.cache
def load_assembly(region, average):
    try:
        assembly = load_dataset("NoSuchData2024")
    except Exception:
        assembly = None
    assembly = assembly.sel(region=region)
    return average_repetition(assembly) if average else assembly


def of_region(region, metric):
    trials = load_assembly(region, average=False)
    assembly = load_assembly(region, average=True)
    return NeuralBenchmark(identifier=f"Mine2024.{region}-first", version=VERSIONS[region], assembly=assembly,
                           similarity_metric=metric, visual_degrees=8, number_of_trials=len(trials),
                           ceiling_func=lambda: Score(1), parent=region, bibtex=BIBTEX)


def for_it():
    return of_region("IT", metric=None)


class Lazy(BenchmarkBase):
    def __init__(self):
        super().__init__("Mine2024.V1-lazy", lambda: 1, 4, "V1", BIBTEX)
        self.assembly = data_registry["NoSuchData2024"]()


def positions():
    load_stimulus_set("NoSuchStimuli2024")
    return BenchmarkBase("Mine2024.V2-positions", lambda: 1, 5, "V2", BIBTEX)


class Own:
    identifier, version, parent, bibtex = "Mine2024.V2-own", 6, "V2", BIBTEX
'''


@pytest.fixture
def written(write):
    return write("benchmarks", "mine2024", INIT, benchmark=BENCHMARK)


@pytest.mark.parametrize(
    ("identifier", "version", "parent"),
    [
        ("Mine2024.IT-first", 3, "IT"),
        ("Mine2024.V1-lazy", 4, "V1"),
        ("Mine2024.V2-own", 6, "V2"),
        ("brainscore:Hebart2023-match", 3, "IT"),
    ],
)
def test_it_is_told_without_data(written, identifier, version, parent):
    benchmark = bsjax.load_benchmark(identifier)
    name = identifier.removeprefix("brainscore:")
    assert (benchmark.identifier, benchmark.version, benchmark.parent) == (name, version, parent)
    assert "title={Mine}" in benchmark.bibtex and f"{name}, version {version}" in benchmark.describe()
    assert "plugin" not in vars(benchmark)


def test_what_cannot_be_told_is_asked_of_the_benchmark_itself(written):
    benchmark = bsjax.load_benchmark("Mine2024.V2-positions")
    with pytest.raises(KeyError, match="NoSuchStimuli2024"):
        _ = benchmark.version
    built = []
    benchmark = BenchmarkForBsjax("Mine", lambda: built.append(1) or 1 / (len(built) - 1) and Said(7, "IT"))
    assert (benchmark.version, benchmark.parent, benchmark.bibtex) == (7, "IT", "") and len(built) == 2


def test_nothing_is_kept_of_a_run_that_only_describes(written):
    """A loader that keeps its results does not keep that there were no data."""
    assert bsjax.load_benchmark("Mine2024.IT-first").version == 3
    with pytest.raises(AttributeError, match="sel"):  # as the plugin takes what it cannot load for nothing
        _ = bsjax.load_benchmark("Mine2024.IT-first").plugin


def test_the_row_names_the_publications_that_stand_in_its_code(written):
    for name in ("Mine2024.IT-first", "brainscore:Hebart2023-match"):
        row = benchmark_row(name)
        assert row.plugin == str(written) and row.bibtex.startswith("@article{mine2024")
    assert benchmark_row("Hebart2023-match").plugin == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::SyntaxWarning", "ignore::DeprecationWarning")  # of their code
def test_all_published_ones_tell_it(published_plugins):
    declared = [each for plugin in brainscore_plugins() for each in plugin.declarations]
    names = [f"brainscore:{each.identifier}" for each in declared if each.registry == "benchmark_registry"]
    assert len(names) > 60
    for name in names:
        benchmark = bsjax.load_benchmark(name)
        said = described(benchmark._build)
        assert said is not None and benchmark.version == said.version and "@" in benchmark.bibtex.strip()[:1]
        assert benchmark.parent or name.startswith("brainscore:FreemanZiemba2013public")  # which has none
        assert benchmark_row(name).bibtex
    assert bsjax.load_benchmark("brainscore:MajajHong2015.IT-pls").version == 4
    assert bsjax.load_benchmark("brainscore:Kar2019-ost").version == 2
