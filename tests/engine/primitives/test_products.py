"""Products of other layouts against the plain ones."""

import jax
import numpy as np
import pytest

from bsjax.engine.primitives.products import cross_products, matmul_t, skinny_product, symmetric_product
from bsjax.engine.programs.platforms import traced_for


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
@pytest.mark.parametrize(("n", "p", "k"), [(40, 2, 10), (3, 50, 17)])
def test_products_are_those_of_numpy(platform, n, p, k):
    rng = np.random.default_rng(0)
    x, y, rows = rng.normal(size=(n, p)), rng.normal(size=(n, k)), rng.normal(size=(k, p))
    with traced_for(platform):
        np.testing.assert_allclose(jax.jit(matmul_t)(x, y), x.T @ y, atol=1e-12)
        np.testing.assert_allclose(jax.jit(skinny_product)(rows, x), rows @ x.T, atol=1e-12)
        gradient = jax.jit(jax.grad(lambda x: jax.vmap(skinny_product, (0, None))(rows[None], x).sum()))(x)
    np.testing.assert_allclose(gradient, np.broadcast_to(rows.sum(axis=0), x.shape), atol=1e-12)


def test_many_rows_are_summed_in_blocks_on_a_tpu():
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=(1300, width)) for width in (4, 3, 2))
    with traced_for("tpu"):
        found = jax.jit(cross_products)(a, b, c)
    for one, other in zip(found, (b, c), strict=True):
        np.testing.assert_allclose(one, a.T @ other, atol=1e-11)


@pytest.mark.parametrize("n", [5, 300])
def test_a_symmetric_product_is_whole_and_has_a_gradient(n):
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(n, 7)), rng.normal(size=(n, n))
    with traced_for("cpu"):
        found = jax.jit(symmetric_product)(x)
        slope = jax.jit(jax.grad(lambda x: (weights * symmetric_product(x)).sum()))(x)
    np.testing.assert_allclose(found, x @ x.T, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(slope, (weights + weights.T) @ x, atol=1e-10)
