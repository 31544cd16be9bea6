"""The simulated benchmark proves the pipeline: what is known about its data has to come out of it."""

import numpy as np
import pytest

from bsjax import load_benchmark, load_model
from bsjax.benchmarks import list_benchmarks
from bsjax.benchmarks.families.simulated import benchmark as simulated
from tests.support.shuffled import Shuffled


@pytest.fixture(scope="module")
def population():
    return simulated.population()


@pytest.fixture(scope="module")
def benchmarks():
    own = [name for name in list_benchmarks() if name.startswith("Simulated.V1-")]
    return {name.removeprefix("Simulated.V1-"): load_benchmark(name) for name in own}


@pytest.mark.slow
def test_the_true_reliability_is_the_correlation_of_two_independent_measurements(population):
    """The closed form against brute force: many pairs of averages over the trials of two experiments."""
    rng = np.random.default_rng(1)
    shape = (simulated.N_TRIALS, *population.rates.shape)
    correlations = []
    for _ in range(40):
        first, second = (rng.poisson(population.rates, size=shape).mean(axis=0) for _ in range(2))
        first, second = (x - x.mean(axis=0) for x in (first, second))
        norms = np.sqrt((first**2).sum(axis=0) * (second**2).sum(axis=0))
        correlations.append((first * second).sum(axis=0) / norms)
    np.testing.assert_allclose(np.mean(correlations, axis=0), simulated.true_reliability(), atol=0.02)


@pytest.mark.slow
def test_the_estimated_ceiling_is_the_true_one_within_its_error(benchmarks):
    ceiling, truth = benchmarks["ridge"].ceiling, simulated.true_reliability()
    assert abs(ceiling.value - np.median(truth)) < ceiling.error
    assert ceiling.error < 0.04  # over six objects
    np.testing.assert_allclose(ceiling.raw.mean("split"), truth, atol=0.12)
    assert np.corrcoef(ceiling.raw.mean("split"), truth)[0, 1] > 0.95


@pytest.mark.slow
def test_the_model_that_generated_the_data_scores_one(benchmarks):
    score = benchmarks["neuron_to_neuron"](load_model(simulated.GENERATOR))
    assert abs(score.value - 1) < 2 * score.error
    assert score.error < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ridge", "cka"])
def test_the_generating_model_is_ahead_of_others_and_shuffled_ones_score_nothing(benchmarks, metric):
    benchmark = benchmarks[metric]
    generator = load_model(simulated.GENERATOR)
    scores = [benchmark(model) for model in (generator, load_model("pixels"), Shuffled(generator))]
    assert scores[0] > 0.4
    assert scores[0].value - scores[1].value > 5 * max(scores[0].error, scores[1].error)
    assert abs(scores[2].unceiled.value) < 0.05
    assert all(0.6 < score.ceiling < 0.95 and score.error > 0 for score in scores)
    assert scores[0].formula == ("r²/c" if metric == "ridge" else "r/√c")


@pytest.mark.slow
def test_the_neuroids_are_units_of_the_generating_model_with_a_gain(population):
    model = load_model(simulated.GENERATOR)
    model.start_recording("V1", time_bins=[(0, 100)])
    responses = model.look_at(population.stimuli)
    units = responses.isel(neuroid=np.isin(responses["neuroid_id"].values, population.unit_ids)).values
    for rate, unit in zip(population.rates.T, units.T, strict=True):
        np.testing.assert_allclose(np.polyval(np.polyfit(unit, rate, 1), unit), rate, rtol=1e-4)
    assert (population.rates > 0).all()
    assert len(set(population.unit_ids)) == simulated.N_NEUROIDS


@pytest.mark.slow
def test_another_process_reads_the_population_that_was_kept(population, monkeypatch, tmp_path):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path))
    made = simulated._population.__wrapped__(tmp_path)  # nothing is taken over from another home
    np.testing.assert_array_equal(made.counts, population.counts)
    simulate, calls = simulated._simulated, []
    monkeypatch.setattr(simulated, "_simulated", lambda stimuli: calls.append(1) or simulate(stimuli))
    monkeypatch.setattr(simulated, "identity_of", lambda _: kept.stem)
    [kept] = tmp_path.glob("simulated/*.npz")
    for damaged in (False, True):
        if damaged:
            kept.write_bytes(kept.read_bytes()[:1000])
        found = simulated._population.__wrapped__(tmp_path)
        assert len(calls) == damaged and found.stimuli.equals(made.stimuli)
        for name in ("unit_ids", "rates", "counts"):
            one, other = getattr(made, name), getattr(found, name)
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)
