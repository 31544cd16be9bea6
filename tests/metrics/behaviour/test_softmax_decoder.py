"""Minibatches and the softmax read-out against plain loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import truncnorm
from sklearn.preprocessing import StandardScaler

from bsjax.engine.programs.compilation import compiled
from bsjax.metrics.behaviour.softmax_decoder import SoftmaxDecoder, decode, initial_weights
from bsjax.metrics.optimisation.minibatches import epoch_orders
from tests.support.slopes import check_slope

N, P, CLASSES = 50, 6, 3


def data():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, N)
    x = rng.normal(size=(N, P)) * np.logspace(-2, 2, P) + rng.normal(size=P) * 10
    x += np.eye(CLASSES)[labels] @ rng.normal(size=(CLASSES, P)) * np.logspace(-2, 2, P)
    train = np.ones(N, bool)
    train[rng.permutation(N)[:7]] = False
    return x, labels, train


def fit(decoder, x, labels, train):
    orders = epoch_orders(jax.random.key(0), len(x), decoder.epochs)
    start = initial_weights(jax.random.key(1), x.shape[1], CLASSES).astype(x.dtype)
    params = jax.jit(decoder.fit)(jnp.asarray(x), jnp.asarray(labels, jnp.int32), jnp.asarray(train), orders, start)
    return params, np.asarray(orders), np.asarray(start)


def adam_by_hand(decoder, x, labels, train, orders, start):
    """Plain NumPy: one batch after the other, gradients written out."""
    x = StandardScaler().fit(x[train]).transform(x)
    values = [start.copy(), np.ones(CLASSES)]
    m, v = ([np.zeros_like(value) for value in values] for _ in range(2))
    t = 0
    for order in orders:
        rows = [i for i in order if train[i]]
        for first in range(0, len(rows), decoder.batch_size):
            batch = rows[first : first + decoder.batch_size]
            scores = x[batch] @ values[0] + values[1]
            error = -np.mean(log_softmax(scores, axis=1)[np.arange(len(batch)), labels[batch]])
            slope = (softmax(scores, axis=1) - np.eye(CLASSES)[labels[batch]]) / len(batch)
            gradients = [
                x[batch].T @ slope + decoder.weight_decay * values[0],
                slope.sum(0) + decoder.weight_decay * values[1],
            ]
            t += 1
            for i, g in enumerate(gradients):
                m[i] = 0.9 * m[i] + 0.1 * g
                v[i] = 0.999 * v[i] + 0.001 * g**2
                step = (m[i] / (1 - 0.9**t)) / (np.sqrt(v[i] / (1 - 0.999**t)) + 1e-8)
                values[i] = values[i] - decoder.learning_rate * step
        if error < decoder.tolerance:
            break
    return values, softmax(x @ values[0] + values[1], axis=1), t


@pytest.mark.slow
@pytest.mark.parametrize(
    "decoder",
    [SoftmaxDecoder(0.0, 0.05, 30, 16), SoftmaxDecoder(0.01, 0.1, 30, 43, 0.3)],
    ids=["no penalty, four batches", "stops early"],
)
def test_equals_adam_by_hand(decoder):
    x, labels, train = data()
    params, orders, start = fit(decoder, x, labels, train)
    (weights, bias), probabilities, steps = adam_by_hand(decoder, x, labels, train, orders, start)
    np.testing.assert_allclose(params.weights, weights, atol=1e-6)
    np.testing.assert_allclose(params.bias, bias, atol=1e-6)
    np.testing.assert_allclose(decode(params, jnp.asarray(x)), probabilities, atol=1e-6)
    if decoder.tolerance == 0.3:
        assert steps < decoder.epochs  # one batch an epoch


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_constant_feature_is_left_unscaled(dtype):
    x, labels, train = data()
    x[:, 0] = 0.1
    x[:, 1] = np.where(train, 0.3, 5.0)  # varies in what does not train
    params, _, _ = fit(SoftmaxDecoder(epochs=2), x.astype(dtype), labels, train)
    peer = StandardScaler().fit(x[train])
    np.testing.assert_allclose(params.scale, peer.scale_, rtol=1e-4 if dtype == "float32" else 1e-9)
    np.testing.assert_allclose(params.mean, peer.mean_, rtol=1e-4 if dtype == "float32" else 1e-9)


def test_initial_weights_are_cut_normals_of_unit_fan_in_variance():
    weights = np.asarray(compiled(initial_weights, features=400, classes=50)(jax.random.key(0)), float)
    expected = truncnorm(-2, 2, scale=1 / truncnorm(-2, 2).std() / np.sqrt(400))
    assert np.abs(weights).max() <= expected.support()[1] + 1e-6
    assert weights.std() == pytest.approx(1 / np.sqrt(400), rel=0.02)
    np.testing.assert_allclose(np.quantile(weights, [0.1, 0.5, 0.9]), expected.ppf([0.1, 0.5, 0.9]), atol=2e-3)


@pytest.mark.slow
def test_gradient_through_the_fit_equals_finite_differences():
    x, labels, train = data()
    decoder = SoftmaxDecoder(learning_rate=0.05, epochs=4, batch_size=20)
    orders = epoch_orders(jax.random.key(0), N, 4)
    start = initial_weights(jax.random.key(1), P, CLASSES).astype(float)

    def of(moved):
        params = decoder.fit(moved, jnp.asarray(labels, jnp.int32), jnp.asarray(train), orders, start)
        return jnp.sum(decode(params, moved)[:, 0] ** 2)

    check_slope(of, (x - x.mean(0)) / x.std(0), rtol=1e-4)
