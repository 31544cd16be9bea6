"""What is formed in blocks equals what is formed at once, and so do its gradients."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives.products import matmul_t
from bsjax.engine.row_blocks import over_blocks, sum_over_row_blocks


@pytest.mark.slow
@pytest.mark.parametrize("length", [512, 1300])
@pytest.mark.parametrize("axis", [0, -1])
def test_rows_or_columns_in_blocks(axis, length):
    rng = np.random.default_rng(length)
    x, scale = jnp.asarray(rng.normal(size=(length, 3))), jnp.asarray(rng.normal(size=(length, 1)))
    if axis == -1:
        x, scale = x.T, scale[:, 0]

    def sums(x, scale):
        return jnp.cumsum(x, axis=1 + axis) * (scale if axis == 0 else scale[None]) ** 2

    np.testing.assert_array_equal(over_blocks(sums, x, scale, axis=axis), sums(x, scale))
    got = jax.grad(lambda *values: jnp.sum(over_blocks(sums, *values, axis=axis) ** 2), (0, 1))(x, scale)
    expected = jax.grad(lambda *values: jnp.sum(sums(*values) ** 2), (0, 1))(x, scale)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-12), got, expected)


@pytest.mark.slow
@pytest.mark.parametrize("length", [256, 700])
def test_sums_over_rows_in_blocks(length):
    rng = np.random.default_rng(length)
    x, y = jnp.asarray(rng.normal(size=(length, 4))), jnp.asarray(rng.normal(size=(length, 2)))
    np.testing.assert_allclose(sum_over_row_blocks(matmul_t, x, y), x.T @ y, atol=1e-12)
