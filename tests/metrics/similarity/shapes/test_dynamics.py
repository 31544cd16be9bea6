"""Dynamical similarity analysis: known dynamics are recovered, and compared up to a rotation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from bsjax.metrics import dynamical_similarity, linear_dynamics
from tests.support.slopes import check_slope

pytestmark = pytest.mark.slow
similarity = jax.jit(dynamical_similarity, static_argnames=("delays", "rank"))


def series(matrix, rng, n=20, t=15, noise=0.0, units=None):
    """Trajectories of a linear system from random states, seen by units that mix them."""
    states = [rng.normal(size=(n, len(matrix)))]
    for _ in range(t - 1):
        states.append(states[-1] @ matrix.T)
    seen = np.stack(states, axis=2)
    if units is not None:
        seen = np.einsum("nkt,ku->nut", seen, rng.normal(size=(len(matrix), units)))
    return jnp.asarray(seen + noise * rng.normal(size=seen.shape))


def oscillators(*speeds, decay=0.97):
    blocks = np.zeros((2 * len(speeds), 2 * len(speeds)))
    for i, by in enumerate(speeds):
        blocks[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = [[np.cos(by), -np.sin(by)], [np.sin(by), np.cos(by)]]
    return decay * blocks


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    return [series(oscillators(*speeds), rng, noise=0.1, units=6) for speeds in ((0.3, 0.9), (0.4, 1.3))]


@pytest.mark.parametrize("delays", [1, 3])
def test_eigenvalues_of_a_linear_system_are_recovered(delays):
    matrix = np.diag([0.9, 0.5, -0.4]) + np.triu(np.full((3, 3), 0.2), 1)
    found = linear_dynamics(series(matrix, np.random.default_rng(1), units=7), delays=delays, rank=3)
    np.testing.assert_allclose(np.sort(np.linalg.eigvals(found).real), [-0.4, 0.5, 0.9], atol=1e-2)


def test_the_prediction_is_least_squares_on_left_singular_vectors(noisy):
    x = np.asarray(noisy[0])
    n, p, t = x.shape
    rows = np.swapaxes(x - x.mean(axis=(0, 2), keepdims=True), 1, 2)
    stacked = np.concatenate([rows[:, : t - 1], rows[:, 1:]], axis=2)
    states = np.linalg.svd(stacked.reshape(-1, 2 * p), full_matrices=False)[0][:, :4].reshape(n, t - 1, 4)
    before, after = states[:, :-1].reshape(-1, 4), states[:, 1:].reshape(-1, 4)
    expected = np.linalg.lstsq(before, after, rcond=None)[0].T
    found = np.asarray(linear_dynamics(noisy[0], delays=2, rank=4))
    np.testing.assert_allclose(np.linalg.svd(found)[1], np.linalg.svd(expected)[1], atol=1e-9)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-9)


def test_the_rotation_is_the_best_of_many(noisy):
    one, other = (np.asarray(linear_dynamics(side, delays=2, rank=3)) for side in noisy)

    def apart(entries):
        skew = np.zeros((3, 3))
        skew[np.triu_indices(3, 1)] = entries
        skew -= skew.T
        turn = np.linalg.solve(np.eye(3) + skew, np.eye(3) - skew)  # of either sign, which makes no difference
        return ((one - turn @ other @ turn.T) ** 2).sum()

    rng = np.random.default_rng(2)
    best = np.sqrt(min(minimize(apart, rng.normal(size=3)).fun for _ in range(20)))
    squares = (one**2).sum() + (other**2).sum()
    assert float(similarity(*noisy, delays=2, rank=3)) == pytest.approx(1 - best**2 / squares, abs=1e-6)


def test_gradients_where_singular_values_are_equal(noisy):
    """The same trajectories in every orientation."""
    turns = np.eye(2), np.array([[0.0, 1.0], [-1.0, 0.0]])
    x = jnp.concatenate([jnp.einsum("nut,uv->nvt", noisy[0][:5, :2], turn) for turn in turns])
    check_slope(lambda x: dynamical_similarity(x, noisy[1][:10], delays=2, rank=2), x, atol=1e-5)


def test_what_is_undefined(noisy):
    x, y = noisy
    assert np.isfinite(similarity(x[:, :2], y[:, :2], delays=1, rank=2))
    planar = series(oscillators(0.4), np.random.default_rng(7), units=5)  # two dimensions only, of four
    assert float(similarity(planar, planar, delays=1, rank=4)) == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(ValueError, match="delays must be from 1 to the number of time points less 1"):
        dynamical_similarity(x, y, delays=15)
    with pytest.raises(ValueError, match="rank must be from 1 to 6"):
        dynamical_similarity(x, y, delays=1, rank=7)
