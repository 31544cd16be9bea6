"""Factors and triangular solutions in blocks, as on a TPU, against SciPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from bsjax.engine.primitives import triangular
from bsjax.engine.primitives.triangular import cholesky, inverse_and_pivots, solve_lower, solve_with_cholesky
from bsjax.engine.programs.platforms import traced_for


@pytest.fixture(params=["cpu", "tpu"], autouse=True)
def platform(request, monkeypatch):
    monkeypatch.setattr(triangular, "_BLOCK", 8)
    monkeypatch.setattr(triangular, "_AT_ONCE", 8)
    with traced_for(request.param):
        yield request.param


@pytest.mark.slow
@pytest.mark.parametrize("n", [3, 29])
def test_equals_scipy(n):
    rng = np.random.default_rng(0)
    half, right = rng.normal(size=(n, 2 * n)), rng.normal(size=(n, 5))
    matrix = half @ half.T
    factor = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(jax.jit(cholesky)(matrix), factor, atol=1e-12)
    for transposed in (False, True):
        expected = scipy.linalg.solve_triangular(factor, right, lower=True, trans=int(transposed))
        found = jax.jit(lambda f, r, t=transposed: solve_lower(f, r, transposed=t))(factor, right)
        np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(jax.jit(solve_with_cholesky)(factor, right), np.linalg.solve(matrix, right), atol=1e-12)


@pytest.mark.parametrize("n", [3, 29, 36])
def test_inverses_and_their_pivots_equal_numpy(n, monkeypatch):
    monkeypatch.setattr(triangular, "_LOOPED", 20)
    half = np.random.default_rng(0).normal(size=(2, n, 2 * n))
    matrices = half @ half.mT
    inverse, least, most = jax.jit(jax.vmap(inverse_and_pivots))(matrices)
    np.testing.assert_allclose(inverse, np.linalg.inv(matrices), atol=1e-10)
    pivots = np.diagonal(np.linalg.cholesky(matrices), axis1=1, axis2=2) ** 2
    np.testing.assert_allclose(least, pivots.min(1))
    np.testing.assert_allclose(most, pivots.max(1))


def test_large_halves_of_one_size_are_compiled_once(platform, monkeypatch):
    monkeypatch.setattr(triangular, "_LOOPED", 8)
    text = jax.jit(inverse_and_pivots).lower(jnp.eye(64)).compile().as_text()
    assert platform != "cpu" or text.count("potrf") == 1


def test_what_is_not_positive_definite_gives_nan():
    assert np.isnan(jax.jit(cholesky)(-jnp.eye(20))).any()
    assert np.isnan(jax.jit(inverse_and_pivots)(-jnp.eye(20))[1])


@pytest.mark.parametrize("transposed", [False, True])
def test_gradients_equal_finite_differences(transposed):
    rng = np.random.default_rng(0)
    factor, right = np.tril(rng.normal(size=(20, 20))) + 5 * np.eye(20), rng.normal(size=(20, 2))
    ways = [rng.normal(size=a.shape) for a in (factor, right)]

    @jax.jit
    def total(step):
        solved = solve_lower(factor + step * np.tril(ways[0]), right + step * ways[1], transposed=transposed)
        return jnp.sum(jnp.sin(solved))

    measured = (total(1e-6) - total(-1e-6)) / 2e-6
    np.testing.assert_allclose(jax.grad(total)(0.0), measured, rtol=1e-7)
    np.testing.assert_allclose(jax.jvp(total, (0.0,), (1.0,))[1], measured, rtol=1e-7)
