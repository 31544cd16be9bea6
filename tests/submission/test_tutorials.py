"""The examples of Brain-Score's tutorial on neural benchmarks, as plugins: their code, with the imports changed."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import bsjax
from bsjax import (
    ModelCommitment,
    NeuroidAssembly,
    PropertyAssembly,
    benchmark_registry,
    data_registry,
    load_dataset,
    load_model,
)
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


class Fading:
    """A model whose units are those of another one, each growing and fading at its own time."""

    identifier = "fading"

    def __init__(self, model):
        self.model = model
        self.shown = []

    def visual_degrees(self):
        return self.model.visual_degrees()

    def start_recording(self, region, time_bins):
        self.time_bins = time_bins
        self.model.start_recording(region, [(70, 170)])

    def look_at(self, stimuli, number_of_trials=1):
        self.shown.append(len(stimuli))
        still = self.model.look_at(stimuli).isel(neuroid=slice(0, 3072, 192))
        starts, ends = zip(*self.time_bins, strict=True)
        course = np.clip(
            np.linspace(0, 2, len(starts))[None] - np.linspace(0, 1, still.sizes["neuroid"])[:, None], 0, 1
        )
        moving = NeuroidAssembly(still.values[:, :, None] * course, dims=["presentation", "neuroid", "time_bin"])
        times = {"time_bin_start": ("time_bin", list(starts)), "time_bin_end": ("time_bin", list(ends))}
        labels = dict(zip(stimuli["stimulus_id"], stimuli["object_name"], strict=True))
        objects = [labels[each] for each in still["stimulus_id"].values]
        ids = {name: (still[name].dims, still[name].values) for name in ("stimulus_id", "neuroid_id")}
        return moving.assign_coords({**ids, "image_label": ("presentation", objects), **times})


def test_they_are_listed_without_running_them():
    code = (
        "import bsjax, sys; print(sum('tutorial' in each or 'Your' in each for each in bsjax.list_benchmarks()),"
        "{'xarray', 'jax'} & set(sys.modules), bsjax.benchmark_registry.notes())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "6 set() []\n", done.stderr


@pytest.mark.slow
def test_kar2019(data):
    recordings = load_dataset("YourDataset")
    stimuli = recordings.stimulus_set
    stimuli = stimuli[stimuli["object_name"].isin(["noise", "grating"])]
    times = bsjax.DataAssembly(
        np.linspace(100, 200, len(stimuli)),
        dims=["presentation"],
        coords={
            "stimulus_id": ("presentation", stimuli["stimulus_id"]),
            "i1": ("presentation", np.full(len(stimuli), 0.5)),
        },
        attrs={"stimulus_set": stimuli},
    )
    data("Kar2019", times)
    benchmark = bsjax.load_benchmark("tutorial.Kar2019-ost")
    assert float(benchmark.ceiling) == 0.79
    still = benchmark(load_model("pixels"))
    assert np.isnan(still.value)
    fading = Fading(load_model("pixels"))
    score = benchmark(fading)
    assert fading.shown == [1, 20]
    assert score.formula == "r/c" and score.raw.sizes["split"] == 10


@pytest.mark.slow
def test_papale2025(data):
    trials = load_dataset("YourDataset")
    test = np.isin([each[-1] for each in trials["stimulus_id"].values], ["3", "7"])  # two of ten images of a kind
    for split, rows in (("train", ~test), ("test", test)):
        data(f"Papale2025_{split}", trials.isel(presentation=np.flatnonzero(rows)))
    benchmark = bsjax.load_benchmark("tutorial.Papale2025.IT-ridge")
    assert 0.7 < benchmark.ceiling < 1
    pixels = load_model("pixels").activations_model
    score = benchmark(ModelCommitment("wide", pixels, region_layer_map={"IT": "pixels"}, visual_degrees=18))
    assert score.n_units == 3  # one neuroid is not reliable
    assert 0.5 < score < 1.2


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


@pytest.fixture
def surround(data):
    values = np.random.default_rng(0).beta(1, 3, size=200)
    # bsjax renders the gratings of this name; the file is there to be digested
    gratings = load_dataset("YourDataset").stimulus_set[:1]
    gratings.identifier = "Marques2020_size"
    data(
        "Cavanaugh2002a",
        PropertyAssembly(
            values[:, None],
            dims=["neuroid", "neuroid_property"],
            coords={"neuroid_property": ["surround_suppression_index"], "region": ("neuroid", ["V1"] * 200)},
            attrs={
                "surround_suppression_index_bins": np.linspace(0, 1, 11),
                "stimulus_set": gratings,
            },
        ),
    )
    return bsjax.load_benchmark("tutorial.Marques2020-surround")


def test_marques2020_is_built_and_has_a_ceiling(surround):
    assert surround.parent == "V1-surround_modulation"
    assert 0.9 < surround.ceiling < 1


def test_names_that_bsjax_has_are_not_taken_over(plugin):
    plugin(
        "majajhong2015",
        "from bsjax import benchmark_registry\nbenchmark_registry['MajajHong2015.IT-pls'] = lambda: 'the tutorial'\n",
    )
    with pytest.raises(ValueError, match="is registered by bsjax itself .* and by .*majajhong2015/__init__.py line 2"):
        benchmark_registry["MajajHong2015.IT-pls"]
