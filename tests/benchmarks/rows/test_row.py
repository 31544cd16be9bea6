"""The row of every benchmark against the benchmark that is built from it."""

import json
from dataclasses import asdict

import pytest

from bsjax import data_registry, list_benchmarks, load_benchmark, stimulus_set_registry
from bsjax.benchmarks import Ceiling, MultiSubjectNeuralBenchmark, benchmark_row, benchmark_rows
from bsjax.benchmarks.ceilings import KnownCeiling
from bsjax.data.catalogue.published import ACCESS
from bsjax.labelled import metric_registry

ROWS = [row for row in benchmark_rows() if not row.plugin]


def test_all_benchmarks_have_one():
    assert [row.identifier for row in benchmark_rows()] == list_benchmarks()
    assert len(ROWS) == 282  # those of the reference, four of Cowley2026, five simulated, three of published matrices


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.identifier)
def test_it_says_what_the_benchmark_is(row, without_network):
    built = load_benchmark(row.identifier)
    assert row.identifier in built.describe()
    for name in ("identifier", "version", "parent", "bibtex"):
        assert getattr(built, name) == getattr(row, name), name
    if isinstance(built, MultiSubjectNeuralBenchmark):
        assert list(built.children) == [name[-6:] for name in row.data]
        built = next(iter(built.children.values()))()
    assert (getattr(built, "visual_degrees", None), built.number_of_trials) == (
        row.visual_degrees,
        row.number_of_trials,
    )
    assert (getattr(built, "region", ""), getattr(built, "time_bins", None) or []) == (row.region, list(row.time_bins))
    normalisation = "ceil_score" if row.kind == "properties" else getattr(built, "normalisation", "")
    assert normalisation == row.normalisation
    own = {"behavioural": row.settings.get("task"), "engineering": "label"}.get(row.kind)
    assert own is None or built.task.value == own
    if row.metric in metric_registry and getattr(built.metric, "identifier", "") in metric_registry:
        assert built.metric.identifier in (row.metric, row.metric.removeprefix("dual_"))
    if isinstance(row.ceiling, float):
        assert float(built.ceiling) == row.ceiling and isinstance(built.ceiling_func, KnownCeiling)
    elif row.ceiling in metric_registry and row.kind != "properties":
        assert isinstance(built.ceiling_func, Ceiling)


def test_words_are_those_there_are():
    for row in ROWS:
        assert row.summary and row.about and row.kind and row.metric and (row.bibtex or row.with_data), row
        assert row.modality in {"electrophysiology", "fMRI", "EEG", "behaviour", "simulation", "none"}, row
        assert row.species in {"macaque", "human", "none"}, row
        assert (row.species == "none") == (row.modality in {"simulation", "none"}), row
        for name, access in row.access.items():
            assert name.startswith("Marques2020_") or access in ACCESS, name  # those of Marques2020 are rendered here
            assert name.startswith("Marques2020_") or name in data_registry or name in stimulus_set_registry, name
        assert "{" not in json.dumps([row.identifier, row.summary, row.about, row.parent, row.region, row.data])
        assert json.loads(json.dumps(asdict(row)))["identifier"] == row.identifier


def test_access_of_data():
    assert benchmark_row("MajajHong2015.IT-pls").access == {"MajajHong2015.private": "private"}
    assert benchmark_row("Cowley2026.V4-rdm").access == {"Cowley2026.V4": "public"}
    assert (benchmark_row("Cowley2026.V4-rdm").needs, benchmark_row("Algonauts2019.IT-rdm").needs) == (
        ("data",),
        ("images",),
    )


def test_a_plugin_has_one_without_being_imported(plugin):
    folder = plugin(
        "theirs",
        "from bsjax import benchmark_registry\n"
        "benchmark_registry['Theirs2026-pls'] = lambda: 1\n"
        "raise RuntimeError('it runs')\n",
    )
    row = benchmark_row("Theirs2026-pls")
    assert (row.identifier, row.version, row.plugin) == ("Theirs2026-pls", None, str(folder))
