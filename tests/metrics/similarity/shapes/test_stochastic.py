"""The shape metric of noisy responses: its definition by Bures distances, identities, and axioms of a metric."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import sqrtm
from scipy.optimize import minimize

from bsjax.metrics import angle, compiled, shape_similarity, stochastic_shape_similarity
from tests.support.slopes import check_slope

pytestmark = pytest.mark.slow


similarity = jax.jit(stochastic_shape_similarity, static_argnames="noise_weight")


def trials(rng, r=6, n=9, p=4, noise=0.7):
    """Trials whose covariances differ between stimuli."""
    mixing = noise * rng.normal(size=(n, p, p))
    return rng.normal(size=(n, p)) + np.einsum("rnp,npq->rnq", rng.normal(size=(r, n, p)), mixing)


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    x = trials(rng)
    return x, np.concatenate([x, x])[:, :, :3] @ rng.normal(size=(3, 3)) + rng.normal(size=(12, 9, 3))


def gaussians(x, weight):
    means = x.mean(axis=0) - x.mean(axis=(0, 1))
    covariances = weight * np.stack([np.cov(x[:, i], rowvar=False) for i in range(x.shape[1])])
    scale = (means**2).sum() + np.trace(covariances, axis1=1, axis2=2).sum()
    return means / np.sqrt(scale), covariances / scale


def squared_distance(one, other, rotation):
    """The sum over stimuli of the squared 2-Wasserstein distances of Gaussians, the second ones rotated."""
    total = ((one[0] - other[0] @ rotation.T) ** 2).sum()
    for a, b in zip(one[1], other[1], strict=True):
        root = np.real(sqrtm(a))
        total += np.trace(a) + np.trace(b) - 2 * np.trace(np.real(sqrtm(root @ rotation @ b @ rotation.T @ root)))
    return total


@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_is_the_wasserstein_distance_at_the_best_rotation(weight):
    rng = np.random.default_rng(1)
    x = trials(rng, p=3)
    y = x[:4] @ rng.normal(size=(3, 3)) + 0.5 * rng.normal(size=(4, 9, 3))
    one, other = gaussians(x, weight), gaussians(y, weight)

    def turned(angles, flip):
        found = np.diag([flip, 1.0, 1.0])
        for (i, j), by in zip([(0, 1), (0, 2), (1, 2)], angles, strict=True):
            plane = np.eye(3)
            plane[[i, i, j, j], [i, j, i, j]] = np.cos(by), -np.sin(by), np.sin(by), np.cos(by)
            found = plane @ found
        return found

    best = min(
        minimize(lambda angles, flip=flip: squared_distance(one, other, turned(angles, flip)), start, method="BFGS").fun
        for flip in (-1.0, 1.0)
        for start in ([0.0, 0.0, 0.0], [1.5, -1.0, 2.0], [-2.0, 1.0, 0.5])
    )
    found = similarity(jnp.asarray(x), jnp.asarray(y), noise_weight=weight)
    assert 1.0 - float(found) == pytest.approx(best / 2, abs=1e-6)


def test_without_noise_it_is_procrustes(sides):
    x, y = (jnp.asarray(side.mean(axis=0)) for side in sides)
    expected = float(shape_similarity(x, y))
    assert float(similarity(x[None], y[None])) == pytest.approx(expected, abs=1e-12)
    assert float(similarity(jnp.stack([x, x, x]), y[None])) == pytest.approx(expected, abs=1e-9)
    assert float(similarity(*map(jnp.asarray, sides), noise_weight=0.0)) == pytest.approx(expected, abs=1e-12)


def test_a_source_without_noise_lacks_the_noise_of_the_target(sides):
    x, y = jnp.asarray(sides[0].mean(axis=0)), jnp.asarray(sides[1])
    means = ((sides[1].mean(axis=0) - sides[1].mean(axis=(0, 1))) ** 2).sum()
    share = means / (means + sides[1].var(axis=0, ddof=1).sum())
    expected = float(shape_similarity(x, y.mean(axis=0))) * np.sqrt(share)
    assert float(similarity(x[None], y)) == pytest.approx(expected, abs=1e-12)


def test_a_rotation_is_not_found_in_the_noise_alone():
    """Stimuli of equal means: only covariances are left, of which rotations of both sides are found."""
    rng = np.random.default_rng(3)
    x = trials(rng)
    x -= x.mean(axis=0)
    assert float(similarity(jnp.asarray(x), jnp.asarray(x))) == pytest.approx(1.0, abs=1e-6)


def test_the_angle_is_a_metric():
    rng = np.random.default_rng(4)
    several = jnp.asarray(np.stack([trials(rng, r=4, n=8, p=3, noise=0.2) for _ in range(5)]))
    pairs = angle(jax.jit(jax.vmap(lambda a: jax.vmap(lambda b: similarity(a, b))(several)))(several))
    np.testing.assert_allclose(pairs, pairs.T, atol=1e-6)
    np.testing.assert_allclose(np.diag(pairs), 0.0, atol=1e-6)
    assert all(pairs[a, c] <= pairs[a, b] + pairs[b, c] + 1e-6 for a, b, c in itertools.permutations(range(5), 3))


def test_gradients_of_a_stimulus_without_noise_beside_a_constant_unit(sides):
    x, y = sides[0].copy(), jnp.asarray(sides[1])
    x[:, 0], x[:, :, 3] = x[:1, 0], 0.1
    way = np.random.default_rng(5).normal(size=x.shape) * (x.std(axis=0) > 0)
    check_slope(lambda x: stochastic_shape_similarity(x, y), x, way=way, atol=1e-5)


def test_a_weight_below_zero_is_refused(sides):
    with pytest.raises(ValueError, match="noise_weight must be 0 or more"):
        compiled(stochastic_shape_similarity, noise_weight=-1.0)(*map(jnp.asarray, sides))
