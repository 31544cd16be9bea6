"""The examples of Brain-Score's tutorial on neural benchmarks, as plugins: their code, with the imports changed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bsjax
from bsjax import PropertyAssembly, data_registry, load_dataset, load_model
from bsjax.labelled.similarity.rdms.subject_rdms import square

TUTORIALS = Path(__file__).with_name("tutorials")


@pytest.fixture(autouse=True)
def _tutorials(search):
    search(TUTORIALS)


@pytest.fixture
def data(monkeypatch):
    """``data(name, assembly)``: what ``load_dataset(name)`` gives in this test, whatever bsjax has of that name."""
    before = {}

    def register(name, assembly):
        before.setdefault(name, (data_registry[name], data_registry.summary(name)))
        data_registry[name] = lambda: assembly

    yield register
    for name, (factory, summary) in before.items():
        data_registry.register(name, factory, summary=summary)


def test_they_are_listed_without_running_them():
    code = (
        "import bsjax, sys; print(sum('tutorial' in each or 'Your' in each for each in bsjax.list_benchmarks()),"
        "{'xarray', 'jax'} & set(sys.modules), bsjax.benchmark_registry.notes())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "6 set() []\n", done.stderr


@pytest.mark.slow
def test_coggan2024(data):
    stimuli = load_dataset("YourDataset").stimulus_set[:24]
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(24, 30))
    matrices = [np.corrcoef(shared + 0.3 * rng.normal(size=shared.shape)) for _ in range(4)]
    subjects = np.array([f"subject-{number}" for number in range(4)])
    assembly = square(np.stack(matrices), stimuli["stimulus_id"].to_numpy(), subjects)
    regions = {"region": ("subject", ["V1", "V1", "V1", "V2"])}
    data("Coggan2024_fMRI", assembly.assign_coords(regions).assign_attrs(stimulus_set=stimuli))
    benchmark = bsjax.load_benchmark("tutorial.Coggan2024_fMRI.V1-rdm")
    assert benchmark.region == "V1"
    score = benchmark(load_model("pixels"))
    assert abs(float(score)) < 0.1  # the data have nothing to do with the images
    off = ~np.eye(24, dtype=bool)
    others = [np.mean([m for j, m in enumerate(matrices[:3]) if j != i], axis=0) for i in range(3)]
    expected = np.mean([np.corrcoef(matrices[i][off], others[i][off])[0, 1] for i in range(3)])
    assert float(score.ceiling) == pytest.approx(expected, abs=1e-6)


def test_marques2020_is_built_and_has_a_ceiling(data):
    values = np.random.default_rng(0).beta(1, 3, size=200)
    # bsjax renders the gratings of this name; the file is there to be digested
    gratings = load_dataset("YourDataset").stimulus_set[:1]
    gratings.identifier = "Marques2020_size"
    coords = {"neuroid_property": ["surround_suppression_index"], "region": ("neuroid", ["V1"] * 200)}
    attrs = {"surround_suppression_index_bins": np.linspace(0, 1, 11), "stimulus_set": gratings}
    data("Cavanaugh2002a", PropertyAssembly(values[:, None], coords, ["neuroid", "neuroid_property"], attrs=attrs))
    surround = bsjax.load_benchmark("tutorial.Marques2020-surround")
    assert surround.parent == "V1-surround_modulation" and 0.9 < surround.ceiling < 1
