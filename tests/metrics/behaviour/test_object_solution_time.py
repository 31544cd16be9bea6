"""Solution times against a plain loop over images, bins and splits."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, spearmanr

from bsjax.engine.programs.compilation import compiled
from bsjax.metrics.behaviour.object_solution_time import crossing_times, decoded_d_primes, ost_correlation
from bsjax.metrics.behaviour.softmax_decoder import SoftmaxDecoder, decode, initial_weights
from bsjax.metrics.optimisation.minibatches import epoch_orders

DECODER = SoftmaxDecoder(learning_rate=0.02, epochs=4, batch_size=16)
N, P, BINS, OBJECTS, SPLITS = 36, 5, 4, 3, 2


def crossing_by_definition(values, thresholds, times):
    result = []
    for i, threshold in enumerate(thresholds):
        last = hit = None
        for time, value in zip(times, values[:, i], strict=True):
            if value >= threshold:
                hit = time, value
                break
            if value < threshold and (last is None or value > last[1]):
                last = time, value
        if hit is None:
            result.append(np.nan)
        elif last is None:
            result.append(hit[0])
        else:
            result.append(last[0] + (threshold - last[1]) * (hit[0] - last[0]) / (hit[1] - last[1]))
    return np.array(result)


@given(st.integers(0, 10_000))
def test_crossing_times_equal_the_definition(seed):
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(0.2, 1, (6, 20)), axis=0).round(1)  # rounded: with ties
    values[rng.random(values.shape) < 0.1] = np.nan
    thresholds = rng.normal(1, 1, 20).round(1)
    thresholds[0] = np.nan
    times = np.cumsum(rng.uniform(5, 20, 6))
    got = compiled(crossing_times)(*(jnp.asarray(a) for a in (values, thresholds, times)))
    np.testing.assert_allclose(got, crossing_by_definition(values, thresholds, times), atol=1e-9)


def population(seed=0):
    """Responses that carry the object from a time on that differs by image."""
    rng = np.random.default_rng(seed)
    labels = np.arange(N) % OBJECTS
    onset = rng.permutation(N) / N * (BINS - 1)
    signal = np.eye(OBJECTS)[labels] @ rng.normal(size=(OBJECTS, P)) * 2
    strength = np.clip(np.arange(BINS)[:, None] - onset, 0, 1)
    x = strength[:, :, None] * signal + 0.5 * rng.normal(size=(BINS, N, P))
    test = np.zeros((SPLITS, N), bool)
    test[0, :12], test[1, 12:27] = True, True  # of unequal size, whole cycles of objects
    arrays = {
        "x": jnp.asarray(x),
        "labels": jnp.asarray(labels, jnp.int32),
        "train": jnp.asarray(~test),
        "test": jnp.asarray(test),
        "orders": epoch_orders(jax.random.key(0), N, DECODER.epochs),
        "start": initial_weights(jax.random.key(1), P, OBJECTS).astype(float),
    }
    return arrays, onset


def d_primes_by_definition(chosen, labels):
    """I1 of the images given: no images but these give false alarms."""
    rates = [
        [np.nan if c == o else p[c] / (p[c] + p[o]) for c in range(OBJECTS)]
        for p, o in zip(chosen, labels, strict=True)
    ]
    rates = np.array(rates)
    result = []
    for i, o in enumerate(labels):
        d = [norm.ppf(1 - rates[i, c]) - norm.ppf(rates[labels == c, o].mean()) for c in range(OBJECTS) if c != o]
        result.append(np.mean(np.clip(d, -5, 5)))
    return np.array(result)


@pytest.mark.slow
def test_decoded_d_primes_equal_each_fit_alone():
    arrays, _ = population()
    got = np.asarray(compiled(decoded_d_primes, decoder=DECODER)(*arrays.values()))
    labels = np.asarray(arrays["labels"])
    one = jax.jit(DECODER.fit)
    for split in range(SPLITS):
        test = np.asarray(arrays["test"][split])
        assert np.isnan(got[split][:, ~test]).all()
        for bin in range(BINS):
            recordings = arrays["x"][bin]
            params = one(recordings, arrays["labels"], arrays["train"][split], arrays["orders"], arrays["start"])
            chosen = np.asarray(decode(params, recordings))[test]
            np.testing.assert_allclose(got[split, bin, test], d_primes_by_definition(chosen, labels[test]), atol=1e-8)


@pytest.mark.slow
def test_correlation_is_that_of_the_crossing_times():
    arrays, onset = population()
    times, thresholds = np.arange(70.0, 110.0, 10.0), np.full(N, 0.4)
    target = onset.copy()
    target[5] = np.nan
    numbers = [jnp.asarray(a) for a in (times, thresholds, target)]
    got = compiled(ost_correlation, decoder=DECODER)(*arrays.values(), *numbers)
    values = np.asarray(compiled(decoded_d_primes, decoder=DECODER)(*arrays.values()))
    for split in range(SPLITS):
        predicted = crossing_by_definition(values[split], thresholds, times)
        both = np.isfinite(predicted) & np.isfinite(target)
        test_images = int(arrays["test"][split].sum())
        assert 4 <= both.sum() < test_images
        assert got[split] == pytest.approx(spearmanr(predicted[both], target[both])[0], abs=1e-9)


def test_recordings_that_never_change_are_undefined():
    arrays, onset = population()
    arrays["x"] = jnp.broadcast_to(arrays["x"][-1:], arrays["x"].shape)
    numbers = [jnp.asarray(a) for a in (np.arange(70.0, 110.0, 10.0), np.full(N, 0.4), onset)]
    assert np.isnan(compiled(ost_correlation, decoder=DECODER)(*arrays.values(), *numbers)).all()
