"""The factor that is summed up block by block, against the products that it replaces."""

import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics.linalg.stimulus_factor import block_of_features, patterns, with_block, with_zero_means

N = 7
RNG = np.random.default_rng(0)


def factor(x, of=None):
    dtype = x.dtype
    made = block_of_features(x, np.int32(0), of, dtype=dtype)
    for start in range(N, x.shape[1], N):
        made = with_block(made, block_of_features(x, np.int32(start), of, dtype=dtype))
    return np.asarray(made)


@pytest.mark.parametrize("width", [N + 1, 3 * N])
def test_inner_products_of_centred_features(width):
    x = RNG.normal(size=(N, width)) + 100
    x[:, 3] = 0.1  # does not vary, but for rounding of its mean
    found = factor(jnp.asarray(x))
    centred = x - x.mean(axis=0)
    assert found.shape == (N, N)
    np.testing.assert_allclose(found @ found.T, centred @ centred.T, atol=1e-12)


@pytest.mark.slow
def test_correlations_between_patterns():
    x = RNG.normal(size=(N, 25)) + 100
    x[2] = 0.1
    values = jnp.asarray(x)
    found = np.asarray(with_zero_means(jnp.asarray(factor(values, patterns(values, dtype=values.dtype)))))
    there = np.arange(N) != 2
    assert found.shape == (N, N + 1) and not found[2].any()
    np.testing.assert_allclose(found.mean(axis=1), 0, atol=1e-15)
    np.testing.assert_allclose((found @ found.T)[np.ix_(there, there)], np.corrcoef(x[there]), atol=1e-13)


def test_single_precision_keeps_small_directions():
    """A Gram matrix would square their share of the whole, which float32 does not hold."""
    x = (RNG.normal(size=(N, 25)) * 10.0 ** -(np.arange(25)[None] ** 0.5)).astype(np.float32)
    found = np.linalg.svd(factor(jnp.asarray(x)).astype(float), compute_uv=False)
    exact = np.linalg.svd((x - x.mean(axis=0, dtype=float)).astype(float), compute_uv=False)
    np.testing.assert_allclose(found[:-1], exact[: N - 1], rtol=1e-4)
