"""Recordings simulated with known noise: the model that generated them scores 1, and a noisy one what it should."""

import numpy as np
import pytest

from bsjax import NeuroidAssembly, StimulusSet, load_ceiling, load_metric
from bsjax.benchmarks import (
    Ceiling,
    RSABenchmark,
    TrainTestNeuralBenchmark,
)
from bsjax.models import PrecomputedFeatures

pytestmark = pytest.mark.slow


N_TRIALS = 6


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))


@pytest.fixture
def population(tmp_path):
    """``population(stimuli, neuroids, subjects, noise)``: single trials, and the responses without noise."""

    def make(n_stimuli, n_neuroids, n_subjects, noise, seed=0):
        rng = np.random.default_rng(seed)
        signal = rng.normal(size=(n_stimuli, 6)) @ rng.normal(size=(6, n_neuroids))
        trials = signal + noise * rng.normal(size=(N_TRIALS, n_stimuli, n_neuroids))
        ids = [f"s{number:03d}" for number in range(n_stimuli)]
        blank = tmp_path / "blank.png"
        blank.write_bytes(b"nobody looks at it")
        stimuli = StimulusSet({"stimulus_id": ids}, identifier="simulated", stimulus_paths=dict.fromkeys(ids, blank))
        neuroids = {
            "neuroid_id": ("neuroid", np.arange(n_neuroids)),
            "subject": ("neuroid", [f"subject-{number % n_subjects}" for number in range(n_neuroids)]),
            "region": ("neuroid", ["IT"] * n_neuroids),
        }
        assembly = NeuroidAssembly(
            trials.reshape(-1, n_neuroids),
            coords={
                "stimulus_id": ("presentation", ids * N_TRIALS),
                "repetition": ("presentation", np.repeat(np.arange(N_TRIALS), n_stimuli)),
                "time_bin_start": 70,
                "time_bin_end": 170,
                **neuroids,
            },
            dims=["presentation", "neuroid"],
            attrs={"stimulus_set": stimuli},
        )
        truth = NeuroidAssembly(
            signal, coords={"stimulus_id": ("presentation", ids), **neuroids}, dims=["presentation", "neuroid"]
        )
        return assembly, PrecomputedFeatures(truth, visual_degrees=8)

    return make


def halves(assembly, n_train):
    order = np.unique(assembly["stimulus_id"].values)
    return (assembly.isel(presentation=np.isin(assembly["stimulus_id"], part)) for part in np.split(order, [n_train]))


def test_a_train_test_benchmark_gives_the_generating_model_one(population):
    assembly, model = population(600, 60, 6, noise=3.0)
    train, test = halves(assembly, 200)
    ceiling = Ceiling(load_ceiling("internal_consistency"), test)
    arguments = {"train_assembly": train, "test_assembly": test, "ceiling_func": ceiling}
    benchmark = TrainTestNeuralBenchmark(
        "Simulated-split", similarity_metric=load_metric("neuron_to_neuron_split"), alpha_coord="subject", **arguments
    )
    score = benchmark(model)
    assert score.ceiling < 0.9
    assert abs(float(score) - 1) < 3 * score.error < 0.05
    whole = TrainTestNeuralBenchmark(
        "Simulated-split", similarity_metric=load_metric("neuron_to_neuron_split"), per_voxel_ceilings=True, **arguments
    )(model)
    assert float(whole) == pytest.approx(1, abs=0.02)


def test_an_rsa_benchmark_gives_the_generating_model_one(population):
    """The ceiling holds each subject's own noise: 1 is approached from below, as one over the number of subjects."""
    assembly, model = population(60, 600, 20, noise=3.0, seed=1)
    score = RSABenchmark("Simulated-rsa", assembly)(model)
    lower, upper = (float(score.ceiling.raw.sel(bound=bound).mean()) for bound in ("lower", "upper"))
    assert lower < float(score.unceiled) < upper
    assert upper < 0.95
    assert abs(float(score) - 1) < 2 * score.error < 0.03
