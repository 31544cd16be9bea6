"""Models and benchmarks that are quick: the benchmarks are real objects of the protocol, on arrays."""

import dataclasses
import json

import numpy as np
import pytest

from bsjax import ModelCommitment, NeuroidAssembly, Score, StimulusSet, load_metric
from bsjax.adapters import from_stored
from bsjax.benchmarks import benchmark_registry
from bsjax.engine import rates
from bsjax.models import model_registry
from bsjax.scoring import Watcher
from tests.support.tiny_grid import write_plugins

IDS = [f"s{number:02d}" for number in range(30)]


@pytest.fixture
def known_rates(tmp_path, monkeypatch):
    """Keeps rates of 1e9 for this machine, with which nothing is measured; a function to change them."""
    monkeypatch.setattr(rates, "FILE", str(tmp_path / "rates.json"))
    kinds = [f"{kind} {dtype}" for kind in ("product", "cholesky", "eigh") for dtype in ("float32", "float64")]

    def keep(rate):
        kept = {rates.machine_name(): dict.fromkeys([*kinds, "memory"], rate)}
        (tmp_path / "rates.json").write_text(json.dumps(kept))

    keep(1e9)
    return keep


def stored_model(identifier: str, noise: float) -> ModelCommitment:
    """A model of V1 whose responses to thirty stimuli are the data of the benchmarks, and noise."""
    values = responses() + noise * np.random.default_rng(1).normal(size=(30, 4))
    activations = from_stored({"all": values.astype(np.float32)}, identifier, stimulus_ids=IDS)
    return ModelCommitment(identifier, activations, region_layer_map={"V1": "all"})


def recorded(values: np.ndarray, stimuli: StimulusSet, region: str = "V1", **coords) -> NeuroidAssembly:
    """Responses to stimuli, each of which was shown once, in one time bin."""
    known = {
        "stimulus_id": ("presentation", stimuli["stimulus_id"].tolist()),
        "neuroid_id": ("neuroid", [f"n{number}" for number in range(values.shape[1])]),
        "region": ("neuroid", [region] * values.shape[1]),
        "time_bin_start": ("time_bin", [70]),
        "time_bin_end": ("time_bin", [170]),
    }
    dims, attrs = ["presentation", "neuroid", "time_bin"], {"stimulus_set": stimuli}
    return NeuroidAssembly(values[..., None], known | coords, dims, attrs=attrs)


def responses() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(30, 4))


class Small:
    """A benchmark on thirty stimuli that needs no images."""

    version = 1
    parent = "V1"
    bibtex = ""

    def __init__(self, identifier: str):
        self.identifier = identifier

    @property
    def ceiling(self) -> Score:
        return Score(1.0)

    def __call__(self, candidate) -> Score:
        candidate.start_recording("V1", time_bins=[(0, 100)])
        recorded = candidate.look_at(StimulusSet({"stimulus_id": IDS}))
        target = recorded.isel(neuroid=slice(0, 4)).copy(data=responses())
        score = load_metric("ridge", crossvalidation_kwargs={"stratification_coord": None})(recorded, target)
        return dataclasses.replace(score, unceiled=score, ceiling=self.ceiling, formula="r/c")


class Broken(Small):
    """A benchmark that cannot score."""

    def __call__(self, candidate) -> Score:
        raise ValueError("the data are\n    incomplete")


class Told(Watcher):
    """Notes what it is told."""

    def __init__(self):
        self.jobs, self.outcomes, self.steps = [], [], {}

    def begun(self, job):
        self.jobs.append(job)

    def came(self, outcome):
        self.outcomes.append(outcome)

    def step(self, what, done, total):
        self.steps.setdefault(what, []).append((done, total))


@pytest.fixture
def plugins(tmp_path, monkeypatch):
    """Writes plugins of models ``net*`` and benchmarks ``Tiny.*``, so many of each; gives their folder."""

    def write(n_models, n_benchmarks):
        write_plugins(tmp_path / "plugins", n_models, n_benchmarks)
        monkeypatch.setenv("BSJAX_PLUGINS", str(tmp_path / "plugins"))
        return tmp_path / "plugins"

    yield write
    for registry in (model_registry, benchmark_registry):
        for name in [name for name in registry if name.startswith(("net", "Tiny."))]:
            del registry[name]


@pytest.fixture
def good() -> ModelCommitment:
    return stored_model("good", noise=0.1)


@pytest.fixture
def bad() -> ModelCommitment:
    return stored_model("bad", noise=3.0)


@pytest.fixture
def small() -> Small:
    return Small("Small.V1-ridge")


@pytest.fixture
def broken() -> Broken:
    return Broken("Broken.V1-ridge")
