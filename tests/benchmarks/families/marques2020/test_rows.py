"""The 22 benchmarks: that they are those of Brain-Score, and what they know without any data."""

import json
from pathlib import Path

import numpy as np
import pytest

from bsjax import load_benchmark
from bsjax.benchmarks import benchmark_rows
from bsjax.benchmarks.families.marques2020.histograms import recorded

REFERENCE = json.loads(Path(__file__).with_name("reference_rows.json").read_text())
ROWS = [row for row in benchmark_rows() if row.identifier.startswith("Marques2020_")]
PUBLISHED = [row for row in ROWS if row.with_data]


def property_of(row):
    return row.settings["property"].replace(" ", "_")


def test_the_rows_are_those_of_brainscore():
    ours = {(row.identifier, *row.data, row.stimuli, property_of(row), row.parent) for row in ROWS}
    names = ("identifier", "dataset", "stimulus_set", "property", "parent")
    assert ours == {tuple(row[name] for name in names) for row in REFERENCE}
    assert len(ROWS) == len({row.identifier for row in ROWS}) == 22


@pytest.mark.slow
def test_ceilings_of_the_published_histograms():
    expected = {row["identifier"]: row["ceiling"] for row in REFERENCE}
    ceilings = {row.identifier: float(load_benchmark(row.identifier).ceiling) for row in PUBLISHED}
    assert len(ceilings) == 7
    for identifier, ceiling in ceilings.items():
        assert ceiling == pytest.approx(expected[identifier], abs=0.005), identifier


def test_the_histograms_are_those_that_were_published(shared_data):
    published = json.loads((shared_data / "v1_histograms.json").read_text())["properties"]
    of_benchmark = {histogram["benchmark"]: histogram for histogram in published.values()}
    assert len(of_benchmark) == len(PUBLISHED)
    for row in PUBLISHED:
        histogram, assembly = of_benchmark[row.identifier], recorded(row.data[0])
        edges = assembly.attrs[f"{property_of(row)}_bins"]
        values = assembly.sel(neuroid_property=property_of(row)).values
        counts, _ = np.histogram(values[~np.isnan(values)], edges)
        assert counts.tolist() == histogram["counts"] and edges.tolist() == histogram["bins"]
        assert len(values) == histogram["n_neurons"]
        assembly.validate()
