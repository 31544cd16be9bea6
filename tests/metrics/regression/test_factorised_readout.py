"""The factorised read-out against a plain loop, and on planted models."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.ndimage import convolve

from bsjax.metrics import Mapping
from bsjax.metrics.regression.factorised_readout import FactorisedReadout

pytestmark = pytest.mark.slow


C, H, W, Q = 3, 4, 5, 2
LAPLACIAN = np.array([[0, -1, 0], [-1, 4, -1], [0, -1, 0]])
READOUT = FactorisedReadout(C, H, W, epochs=6, batch_size=8, decay_every=2)


def planted(n=40, q=Q, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, C, H, W))
    at = rng.uniform(1, 3, size=(q, 2, 1, 1))
    i, j = np.meshgrid(np.arange(H), np.arange(W), indexing="ij")
    where = np.exp(-((i - at[:, 0]) ** 2 + (j - at[:, 1]) ** 2) / 2)
    y = np.einsum("ncij,qij,qc->nq", x, where, rng.normal(size=(q, C))) + rng.normal(size=q)
    return jnp.asarray(x.reshape(n, -1)), jnp.asarray(y + noise * rng.normal(size=y.shape))


def fit_by_hand(readout, x, y, train):
    """Plain NumPy: gradients written out, Adam one batch after the other."""
    x, y, (n, q) = np.asarray(x).reshape(len(x), C, H, W), np.asarray(y), y.shape
    s, d, b = (np.asarray(value, float) for value in readout.start(q))
    values = [s.reshape(q, H, W), d, b]
    m, v = ([np.zeros_like(value) for value in values] for _ in range(2))
    rate, t = readout.learning_rate, 0
    for epoch, order in enumerate(np.asarray(readout.orders(n))):
        rows = [i for i in order if i in set(train)]
        for first in range(0, len(rows), readout.batch_size):
            s, d, b = values
            part = x[rows[first : first + readout.batch_size]]
            difference = np.einsum("ncij,qij,qc->nq", part, s, d) + b - y[rows[first : first + readout.batch_size]]
            error = np.sqrt(np.sum(difference**2))
            slope = difference / error
            rough = np.array([convolve(mask, LAPLACIAN, mode="constant") for mask in s])
            norms = np.sqrt(np.sum(rough**2, axis=(1, 2), keepdims=True))
            smoother = np.array([convolve(mask, LAPLACIAN, mode="constant") for mask in rough / norms])
            gradients = [
                np.einsum("nq,ncij,qc->qij", slope, part, d) + readout.spatial_penalty * (2 * s + smoother),
                np.einsum("nq,ncij,qij->qc", slope, part, s) + readout.channel_penalty * 2 * d,
                slope.sum(0),
            ]
            t += 1
            for k, g in enumerate(gradients):
                m[k], v[k] = 0.9 * m[k] + 0.1 * g, 0.999 * v[k] + 0.001 * g**2
                values[k] = values[k] - rate * (m[k] / (1 - 0.9**t)) / (np.sqrt(v[k] / (1 - 0.999**t)) + 1e-8)
        if epoch % readout.decay_every == 0 and epoch != 0:
            rate /= 10
        if error < readout.tolerance:
            break
    return values, t


@pytest.mark.parametrize(
    ("readout", "noise"),
    [
        (READOUT, 0.5),
        (FactorisedReadout(C, H, W, epochs=120, batch_size=16, learning_rate=0.05, decay_every=60, tolerance=2.5), 0.0),
    ],
    ids=["decays", "stops early"],
)
def test_equals_a_fit_by_hand(readout, noise):
    x, y = planted(noise=noise)
    held_out = np.r_[3:12]
    train = np.setdiff1d(np.arange(40), held_out)
    prepared = readout.prepare(x, y)
    params = jax.jit(readout.fit)(prepared, jnp.asarray(held_out)[None], jnp.ones((1, 9), bool))
    (s, d, b), steps = fit_by_hand(readout, x, y, train)
    for got, expected in zip(params, (s.reshape(Q, -1), d, b), strict=True):
        np.testing.assert_allclose(got[0], expected, atol=1e-5)
    predicted = readout.predict(params, x[None])[0]
    expected = np.einsum("ncij,qij,qc->nq", np.asarray(x).reshape(-1, C, H, W), s, d) + b
    np.testing.assert_allclose(predicted, expected, atol=1e-5)
    assert (steps < readout.epochs * 2) == (readout.tolerance > 1)


def test_is_a_mapping_and_names_a_wrong_number_of_features():
    assert isinstance(READOUT, Mapping)
    with pytest.raises(ValueError, match="expected 3 x 4 x 5 features, there are 7"):
        READOUT.prepare(jnp.ones((4, 7)), jnp.ones((4, 1)))
