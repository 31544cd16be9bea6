"""Similarity of averages and noise of assemblies of single trials."""

import jax.numpy as jnp
import numpy as np
import pytest

from bsjax import load_metric
from bsjax.data import average_repetition
from bsjax.metrics import compiled, shape_similarity, stochastic_shape_similarity
from tests.support.single_trials import recording


def by_trial(side):
    return jnp.asarray(side.sortby(["repetition", "stimulus_id"]).values.reshape(4, 60, -1))


@pytest.fixture(scope="module")
def sides():
    return recording(u=5), recording(seed=1, u=4)


@pytest.mark.slow
def test_trials_are_matched_by_their_labels(sides):
    x, y = sides
    expected = float(compiled(stochastic_shape_similarity)(*map(by_trial, sides)))
    score = load_metric("stochastic_shape")(x[np.random.default_rng(0).permutation(len(x))], y)
    assert float(score) == pytest.approx(expected, abs=1e-5)
    assert score.provenance.settings == {"noise_weight": 1.0, "split_coord": "repetition"}
    shorter = y[~((y["repetition"] == 3) & (y["stimulus_id"] == "s003")).values]
    assert float(load_metric("stochastic_shape")(x, shorter)) == pytest.approx(expected, abs=0.01)


@pytest.mark.slow
def test_a_source_without_repetitions_has_no_noise(sides):
    x, trials = average_repetition(sides[0]), by_trial(sides[1])
    means = by_trial(sides[0]).mean(axis=0)
    score = float(load_metric("stochastic_shape")(x, sides[1]))
    assert score == pytest.approx(float(compiled(stochastic_shape_similarity)(means[None], trials)), abs=1e-5)
    of_means = float(load_metric("stochastic_shape", noise_weight=0.0)(x, sides[1]))
    assert score < of_means == pytest.approx(float(compiled(shape_similarity)(means, trials.mean(axis=0))), abs=1e-5)


def test_what_cannot_be_compared(sides):
    (x, y), metric = sides, load_metric("stochastic_shape")
    values = y.values.copy()
    values[5, 1] = np.nan
    with pytest.raises(ValueError, match="trials of target lack values"):
        metric(x, y.copy(data=values))
