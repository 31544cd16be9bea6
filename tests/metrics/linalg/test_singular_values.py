import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics.linalg.singular_values import orthonormal_basis, overlap_of_columns, polar_factor

X = np.random.default_rng(0).normal(size=(9, 4))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "x", [X, X * [1, 0, 1, 0], X @ np.diag([1, 1, 1, 0]) @ np.ones((4, 4)), X * 10.0 ** -np.arange(0, 8, 2), 0 * X, X.T]
)
def test_a_basis_spans_what_the_polar_factor_does(x, dtype):
    x = jnp.asarray(x, dtype)
    basis, polar, atol = jax.jit(orthonormal_basis)(x), jax.jit(polar_factor)(x), 1e-5 if dtype == "float32" else 1e-12
    basis, polar = map(np.asarray, (basis, polar))
    np.testing.assert_allclose(basis @ basis.T, polar @ polar.T, atol=atol)
    overlap, rank = jax.jit(overlap_of_columns)(x, x)
    assert float(overlap) == pytest.approx(float(rank), abs=4 * atol)
    assert int(rank) == np.linalg.matrix_rank(polar, 0.5)
