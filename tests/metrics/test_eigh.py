"""Eigendecompositions, on the host and in XLA, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics.eigh import _LARGE, _on_host, eigh


def symmetric(n, seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a @ a.T


@pytest.mark.parametrize(("dtype", "atol"), [("float32", 1e-5), ("float64", 1e-13)])
def test_the_host_call_keeps_the_dtype_and_its_digits(dtype, atol):
    matrices = np.stack([symmetric(6, seed) for seed in range(3)])
    values, vectors = jax.jit(jax.vmap(_on_host))(jnp.asarray(matrices, dtype))
    assert values.dtype == vectors.dtype == dtype
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrices), rtol=0, atol=30 * atol)
    rebuilt = np.einsum("fik,fk,fjk->fij", *map(np.asarray, (vectors, values, vectors)))
    np.testing.assert_allclose(rebuilt, matrices, atol=30 * atol)


def test_what_is_not_finite_gives_nan():
    values, vectors = jax.jit(_on_host)(jnp.full((3, 3), jnp.nan))
    assert np.isnan(values).all() and np.isnan(vectors).all()


@pytest.mark.slow
def test_large_matrices_are_decomposed_by_scipy_on_cpu():
    matrix = jnp.asarray(symmetric(_LARGE))
    values, vectors = jax.jit(eigh)(matrix)
    np.testing.assert_allclose(matrix @ vectors, vectors * values[None], atol=1e-10 * float(values[-1]))
    assert "callback" in jax.jit(eigh).lower(matrix).as_text()
    assert "callback" not in jax.jit(eigh).lower(matrix[:9, :9]).as_text()
