import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from jax.test_util import check_grads

from bsjax.metrics.linalg.semidefinite import nearest_semidefinite, semidefinite_root

nearest, root = jax.jit(nearest_semidefinite), jax.jit(semidefinite_root)


def symmetric(seed, d=5, shift=0.0):
    matrix = np.random.default_rng(seed).normal(size=(d, d))
    return matrix + matrix.T + shift * np.eye(d)


@given(st.integers(0, 10_000))
def test_no_semidefinite_matrix_is_nearer(seed):
    matrix = symmetric(seed)
    found = np.asarray(nearest(matrix))
    np.testing.assert_array_equal(found, found.T)
    assert np.linalg.eigvalsh(found)[0] > -1e-12
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(20, 5, 5))
    steps = found + 0.1 * rng.random((20, 1, 1)) * (factors @ factors.swapaxes(1, 2) - found)
    assert (np.linalg.norm(steps - matrix, axis=(1, 2)) >= np.linalg.norm(found - matrix) - 1e-12).all()


def test_a_definite_matrix_stays():
    matrix = symmetric(0, shift=20.0)
    np.testing.assert_array_equal(nearest(matrix), matrix)
    np.testing.assert_array_equal(nearest(np.zeros((3, 3))), 0.0)


def test_root_equals_scipys():
    matrix = symmetric(0, shift=20.0)
    np.testing.assert_allclose(root(matrix), scipy.linalg.sqrtm(matrix), atol=1e-12)
    projected = nearest(symmetric(0))
    np.testing.assert_allclose(root(projected) @ root(projected), projected, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("function", [nearest, lambda matrix: root(nearest(matrix))])
def test_derivatives(function):
    check_grads(function, (jnp.asarray(symmetric(1)),), order=1, modes=("fwd", "rev"), atol=1e-5, rtol=1e-5)


@pytest.mark.slow
def test_derivatives_where_eigenvalues_repeat():
    repeated = jnp.diag(jnp.asarray([2.0, 2.0, -1.0, -1.0]))
    check_grads(nearest, (repeated,), order=1, modes=("rev",), atol=1e-5, rtol=1e-5)
    assert jnp.isfinite(jax.grad(lambda m: jnp.sum(root(nearest(m))))(jnp.zeros((3, 3)))).all()
