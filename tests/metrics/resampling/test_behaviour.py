"""Weights of trials, images and subjects, which are as good as copies, and draws of them in blocks."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import compiled, error_consistency
from bsjax.metrics.behaviour.choice_signatures import Signature, choice_consistency
from bsjax.metrics.resampling.behaviour import accuracy_bootstraps, agreement_bootstraps, signature_bootstraps
from tests.support.signatures import KINDS

CONDITIONS, SOURCES, TARGETS, TRIALS = 2, 1, 3, 8
IMAGES, OBJECTS, CHOICES = 9, 3, 90


def observers(trials):
    rng = np.random.default_rng(0)
    shapes = (CONDITIONS, SOURCES, trials), (CONDITIONS, TARGETS, trials)
    right = [(rng.random(shape) < 0.6).astype(float) for shape in shapes]
    return *right, *(rng.random(shape) < 0.8 for shape in shapes)


def choices():
    rng = np.random.default_rng(0)
    truth = rng.permutation(np.arange(IMAGES) % OBJECTS)
    stimulus = rng.integers(0, IMAGES, CHOICES)
    sample = truth[stimulus]
    distractor = (sample + rng.integers(1, OBJECTS, CHOICES)) % OBJECTS
    choice = np.where(rng.random(CHOICES) < 0.7, sample, distractor)
    first = rng.random((2, CHOICES)) < 0.5
    codes = [np.asarray(each, np.int32) for each in (stimulus, choice, sample, distractor)]
    halves = np.stack([first, ~first]).astype(float)
    return rng.dirichlet(np.ones(OBJECTS), IMAGES), truth.astype(np.int32), codes, halves


def drawn(rng, n):
    return np.bincount(rng.integers(0, n, n), minlength=n)


@pytest.mark.slow
def test_gradients_of_a_weighted_signature_are_finite_and_right():
    kind = KINDS["I2n"]
    probabilities, truth, codes, halves = jax.tree.map(jnp.asarray, choices())
    weights = jnp.asarray(drawn(np.random.default_rng(1), IMAGES), float)
    assert (weights == 0).any() and (weights > 1).any()
    unheld = int(jnp.argmin(weights))
    direction = np.random.default_rng(1).normal(size=probabilities.shape)

    @jax.jit
    def f(t):
        changed = (jnp.asarray(probabilities) * jnp.exp(t * direction)).at[unheld].set(jnp.nan)
        return jnp.sum(choice_consistency(changed, truth, *codes, halves[0], weights, kind=kind).r)

    expected = (f(1e-6) - f(-1e-6)) / 2e-6
    assert float(jax.grad(f)(0.0)) == pytest.approx(float(expected), rel=1e-5, abs=1e-9)


def drawn_agreement(draws, trials=TRIALS):
    rng = np.random.default_rng(0)
    stimuli = np.stack([drawn(rng, trials) for _ in range(draws)])
    subjects = np.stack([drawn(rng, TARGETS) for _ in range(draws)])
    shown = np.tile(np.arange(trials, dtype=np.int32), (CONDITIONS, 1))
    return *observers(trials), stimuli, shown, subjects, np.arange(TARGETS, dtype=np.int32)


@pytest.mark.slow
def test_a_draw_that_holds_too_little_is_nan():
    nothing, all_of_one = np.zeros((1, TRIALS), int), np.zeros((1, TARGETS), int)
    all_of_one[0, 1] = TARGETS
    arrays = drawn_agreement(1)
    kernel = compiled(agreement_bootstraps, compare=error_consistency)
    assert np.isnan(kernel(*arrays[:4], nothing, *arrays[5:])).all()
    people = arrays[1], arrays[1], arrays[3], arrays[3]
    of_pairs = compiled(agreement_bootstraps, compare=error_consistency, pairs=True)
    assert np.isnan(of_pairs(*people, None, arrays[5], all_of_one, arrays[7])).all()  # no copy of oneself
    right, present = arrays[1][0, 0], arrays[3][0, 0]
    assert np.isnan(compiled(accuracy_bootstraps)(right, present, (nothing,), (arrays[5][0],))).all()
    probabilities, truth, codes, halves = choices()
    of_images = compiled(signature_bootstraps, kind=Signature(), n_objects=OBJECTS)
    counts = np.zeros((1, IMAGES), int)
    counts[0, 0] = IMAGES
    assert np.isnan(of_images(truth, tuple(codes), halves[:1], counts, None, None, probabilities)).all()


def test_draws_are_in_memory_one_at_a_time():
    """What a program holds beside what it is given and gives does not grow with the number of draws."""
    kernel = partial(agreement_bootstraps, compare=error_consistency)
    sizes = [
        jax.jit(kernel).lower(*drawn_agreement(draws, trials=64)).compile().memory_analysis().temp_size_in_bytes
        for draws in (4, 400)
    ]
    assert sizes[1] < sizes[0] + 400 * 64 * 4  # less than a draw's weights of one condition, for all draws
