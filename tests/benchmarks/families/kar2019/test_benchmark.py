"""Object solution times: which data, which images are shown, and models without a time course."""

import math

import numpy as np
import pytest

from bsjax import load_benchmark, load_metric
from bsjax.benchmarks import benchmark_row
from bsjax.benchmarks.families.kar2019.benchmark import solution_times
from bsjax.data import DataAssembly
from tests.support import served_data as served
from tests.support.recorder import Recorder

N = 60
TIME_BINS = benchmark_row("Kar2019-ost").time_bins
OBJECTS = ["bear", "car", "dog"] * (N // 3)


@pytest.fixture
def stimuli(serve):
    """Sixty images; the first and the last come twice in the recording, the second time with other values."""
    rng = np.random.default_rng(0)
    stimuli = served.stimuli_of(N, image_label=OBJECTS)
    rows = np.r_[rng.permutation(N), 0, N - 1]
    times = rng.uniform(80, 200, (2, len(rows)))
    times[0, 4] = np.nan
    ids = stimuli["stimulus_id"].to_numpy()[rows]
    coords = {
        "decoder": ("decoder", ["logistic", "svm"]),
        "stimulus_id": ("presentation", ids),
        "i1": ("presentation", rng.uniform(0.2, 1.0, len(rows))),
        "image_label": ("presentation", np.array(OBJECTS)[rows]),
    }
    assembly = DataAssembly(times, coords=coords, dims=["decoder", "presentation"])
    serve("Kar2019", assembly, stimuli)
    stimuli.attrs["expected"] = {one: (times[1, i], coords["i1"][1][i]) for i, one in reversed(list(enumerate(ids)))}
    return stimuli


def moving(n_neuroids=6):
    """Responses that come to tell the objects apart over time, of some images earlier than of others."""
    rng = np.random.default_rng(1)
    signal = rng.normal(size=(3, n_neuroids))[np.unique(OBJECTS, return_inverse=True)[1]]
    onset = rng.uniform(0, 12, N)[:, None]
    strength = 1 / (1 + np.exp(onset - np.arange(len(TIME_BINS))))
    noise = rng.normal(size=(N, n_neuroids, len(TIME_BINS)))
    return 3 * signal[:, :, None] * strength[:, None, :] + noise


@pytest.mark.slow
def test_the_times_are_those_of_the_support_vector_machine_each_image_once(stimuli):
    times = solution_times()
    assert times.dims == ("presentation",) and times["stimulus_id"].values.tolist() == sorted(stimuli["stimulus_id"])
    expected = [stimuli.attrs["expected"][one] for one in times["stimulus_id"].values]
    np.testing.assert_array_equal(np.stack([times.values, times["i1"].values], axis=1), expected)
    assert len(times.attrs["stimulus_set"]) == N


@pytest.mark.parametrize("shape", ["two-dimensional", "constant over time"])
def test_a_static_model_is_refused_after_one_image(stimuli, shape):
    values = moving()[:, :, 0]
    if shape == "constant over time":
        values = np.repeat(values[:, :, None], len(TIME_BINS), axis=2)
    model = Recorder(stimuli, values)
    score = load_benchmark("Kar2019-ost")(model)
    assert math.isnan(score) and math.isnan(score.unceiled.value) and score.ceiling == 0.79
    assert [(len(shown), trials) for shown, trials in model.looked] == [(1, 44)]
    assert "model 'recorder' answers the same in all 18 time bins" in score.provenance["reason"]
    assert score.provenance["n_stimuli"] == 1


@pytest.mark.slow
def test_a_model_that_moves_is_scored_by_the_metric_over_the_ceiling(stimuli, same_as_published):
    model, benchmark = Recorder(stimuli, moving(), degrees=16, backwards=True), load_benchmark("Kar2019-ost")
    score = benchmark(model)
    assert model.recorded[0] == ("IT", [(start, start + 10) for start in range(70, 250, 10)])
    assert [len(shown) for shown, _ in model.looked] == [1, N]
    assert set(model.looked[1][0]["degrees"]) == {16.0}  # placed on its screen
    model.start_recording("IT", TIME_BINS)
    alone = load_metric("ost")(model.look_at(stimuli), solution_times())
    np.testing.assert_array_equal(score.unceiled.raw, alone.raw)
    assert float(score) == pytest.approx(float(alone) / 0.79) and score.error == pytest.approx(alone.error / 0.79)
    assert score.provenance["region"] == "IT" and "reason" not in score.provenance
    same_as_published(score, model)
