"""Signatures against their definition, cell by cell."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm, pearsonr

from bsjax.engine.programs.compilation import compiled
from bsjax.metrics.behaviour.choice_signatures import (
    Rates,
    Signature,
    choice_consistency,
    rates_of_probabilities,
    rates_of_trials,
    signature,
)
from tests.support.signatures import KINDS

IMAGES, OBJECTS, TRIALS = 12, 4, 160
each_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def draw(seed=0, images=IMAGES, trials=TRIALS, halves=2):
    rng = np.random.default_rng(seed)
    truth = rng.permutation(np.arange(images) % OBJECTS)
    stimulus = rng.integers(0, images, trials)
    sample = truth[stimulus]
    distractor = (sample + rng.integers(1, OBJECTS, trials)) % OBJECTS
    choice = np.where(rng.random(trials) < 0.7, sample, distractor)
    weights = (rng.random((halves, trials)) < 0.5).astype(float)
    probabilities = rng.dirichlet(np.ones(OBJECTS), images)
    codes = (truth, stimulus, choice, sample, distractor)
    return probabilities, [jnp.asarray(c, jnp.int32) for c in codes], jnp.asarray(weights)


def mean_of(values):
    values = [v for v in values if not np.isnan(v)]
    return np.mean(values) if values else np.nan


def rates_by_definition(truth, stimulus, choice, sample, distractor, weights):
    rates = np.full((len(truth), OBJECTS), np.nan)
    for i in range(len(truth)):
        for c in range(OBJECTS):
            here = [t for t in range(len(stimulus)) if stimulus[t] == i and weights[t]]
            offered = sum((sample[t] == c) + (distractor[t] == c) for t in here)
            if c != truth[i] and offered:
                rates[i, c] = sum(choice[t] == c for t in here) / offered
    return rates


def signature_by_definition(rates, truth, kind):
    def difference(hit, false_alarm):
        with np.errstate(invalid="ignore"):
            return np.clip(norm.ppf(hit) - norm.ppf(false_alarm), -5, 5)

    objects = rates.shape[1]
    confusions = np.array(
        [
            [mean_of([rates[i, c] for i in range(len(truth)) if truth[i] == o]) for c in range(objects)]
            for o in range(objects)
        ]
    )
    if kind.of == "object":
        d = np.array(
            [[difference(1 - confusions[c, o], confusions[o, c]) for c in range(objects)] for o in range(objects)]
        )
        return d if kind.per_distractor else np.array([mean_of(column) for column in d.T])
    d = np.array(
        [[difference(1 - rates[i, c], confusions[c, truth[i]]) for c in range(objects)] for i in range(len(truth))]
    )
    if kind.normalise:
        blocks = [[mean_of(d[truth == truth[i], c]) for c in range(objects)] for i in range(len(truth))]
        d = d - np.array(blocks)
    return d if kind.per_distractor else np.array([mean_of(row) for row in d])


@pytest.mark.slow
@each_kind
def test_signature_of_probabilities_equals_the_definition(kind):
    p, (truth, *_), _ = draw()
    own = p[np.arange(IMAGES), truth][:, None]
    rates = np.where(np.arange(OBJECTS) == np.asarray(truth)[:, None], np.nan, p / (p + own))
    got = signature(rates_of_probabilities(jnp.asarray(p), truth), truth, kind=kind)
    np.testing.assert_allclose(got, signature_by_definition(rates, np.asarray(truth), kind), atol=1e-10)


@each_kind
def test_signature_of_trials_equals_the_definition(kind):
    _, (truth, *trials), weights = draw()
    got = rates_of_trials(truth, tuple(trials), weights, n_objects=OBJECTS)
    for half in range(2):
        expected = rates_by_definition(np.asarray(truth), *map(np.asarray, trials), weights[half])
        np.testing.assert_allclose(got.distractor[half], expected, atol=1e-12)
        np.testing.assert_allclose(got.object[half], 1 - expected, atol=1e-12)
        d = signature(Rates(got.distractor[half], got.object[half]), truth, kind=kind)
        np.testing.assert_allclose(d, signature_by_definition(expected, np.asarray(truth), kind), atol=1e-10)


@pytest.mark.slow
@each_kind
def test_consistency_is_the_correlation_over_what_both_define(kind):
    p, (truth, *trials), weights = draw(trials=90)
    got = compiled(choice_consistency, kind=kind)(jnp.asarray(p), truth, *trials, weights)
    model = np.asarray(signature(rates_of_probabilities(jnp.asarray(p), truth), truth, kind=kind)).ravel()
    everywhere = np.isfinite(model)
    for half in range(2):
        rates = rates_by_definition(np.asarray(truth), *map(np.asarray, trials), weights[half])
        people = signature_by_definition(rates, np.asarray(truth), kind).ravel()
        both = np.isfinite(model) & np.isfinite(people)
        everywhere &= both
        assert got.r[half] == pytest.approx(pearsonr(model[both], people[both])[0], abs=1e-10)
        assert got.lost[half] == (np.isfinite(people) & ~np.isfinite(model)).sum()
    assert got.compared == everywhere.sum()


def test_probabilities_need_not_sum_to_one():
    p, (truth, *_), _ = draw()
    scaled = p * np.random.default_rng(1).uniform(0.1, 10, (IMAGES, 1))
    a, b = (rates_of_probabilities(jnp.asarray(v), truth).distractor for v in (p, scaled))
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_the_cap_and_what_has_no_d_prime():
    truth = jnp.array([0, 1])
    never, always = jnp.array([[np.nan, 0.0], [0.0, np.nan]]), jnp.array([[np.nan, 1.0], [1.0, np.nan]])
    mixed = jnp.array([[np.nan, 1.0], [0.0, np.nan]])
    for rates, expected in ((never, [5, 5]), (always, [-5, -5]), (mixed, [np.nan, np.nan])):
        np.testing.assert_array_equal(signature(Rates(rates, 1 - rates), truth, kind=Signature()), expected)


@pytest.mark.slow
def test_an_undefined_cell_is_left_out_of_means_and_has_no_gradient():
    p, (truth, *trials), weights = draw()
    p[0] = 0.0  # neither its own object nor a distractor
    p[1] = np.eye(OBJECTS)[truth[1]]
    p[2, (truth[2] + 1) % OBJECTS] = np.nan
    d = signature(rates_of_probabilities(jnp.asarray(p), truth), truth, kind=Signature())
    assert np.isnan(d[0]) and np.isfinite(d[1:]).all()

    def total(p):
        return jnp.nansum(choice_consistency(p, truth, *trials, weights, kind=KINDS["I2n"]).r)

    gradient = jax.grad(total)(jnp.asarray(p))
    assert np.isfinite(gradient).all() and (gradient != 0).any()


@pytest.mark.slow
def test_gradient_equals_finite_differences():
    p, (truth, *trials), weights = draw()
    direction = np.random.default_rng(1).normal(size=p.shape)

    @jax.jit
    def f(t):
        changed = jnp.asarray(p) * jnp.exp(t * direction)
        return jnp.sum(choice_consistency(changed, truth, *trials, weights, kind=KINDS["I1"]).r)

    expected = (f(1e-6) - f(-1e-6)) / 2e-6
    assert float(jax.grad(f)(0.0)) == pytest.approx(float(expected), rel=1e-5, abs=1e-9)


def test_tiny_probabilities_keep_their_digits_in_float32():
    p, (truth, *_), _ = draw()
    p = p**14
    kind = KINDS["I2"]
    single, double = (
        np.asarray(signature(rates_of_probabilities(jnp.asarray(p, dtype), truth), truth, kind=kind))
        for dtype in ("float32", "float64")
    )
    np.testing.assert_allclose(single, double, atol=1e-4)
