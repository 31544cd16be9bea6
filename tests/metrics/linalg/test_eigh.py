"""Eigendecompositions against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics.linalg.eigh import eigh


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 1e-5), ("float64", 1e-13)])
def test_matrices_are_rebuilt_from_their_eigenvectors(dtype, atol):
    stacked = np.random.default_rng(0).normal(size=(3, 6, 6))
    matrices = stacked @ stacked.mT
    values, vectors = jax.jit(jax.vmap(eigh))(jnp.asarray(matrices, dtype))
    assert values.dtype == vectors.dtype == dtype
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrices), rtol=0, atol=30 * atol)
    rebuilt = np.einsum("fik,fk,fjk->fij", *map(np.asarray, (vectors, values, vectors)))
    np.testing.assert_allclose(rebuilt, matrices, atol=30 * atol)


def test_what_is_not_finite_gives_nan():
    values, vectors = jax.jit(eigh)(jnp.full((3, 3), jnp.nan))
    assert np.isnan(values).all() and np.isnan(vectors).all()
