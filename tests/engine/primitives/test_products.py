"""Products of other layouts against the plain ones."""

import jax
import numpy as np
import pytest

from bsjax.engine.platforms import traced_for
from bsjax.engine.primitives.products import matmul_t, skinny_product


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
@pytest.mark.parametrize(("n", "p", "k"), [(7, 5, 3), (40, 2, 10), (3, 50, 17), (4, 4, 16)])
def test_products_are_those_of_numpy(platform, n, p, k):
    rng = np.random.default_rng(0)
    x, y, rows = rng.normal(size=(n, p)), rng.normal(size=(n, k)), rng.normal(size=(k, p))
    with traced_for(platform):
        np.testing.assert_allclose(jax.jit(matmul_t)(x, y), x.T @ y, atol=1e-12)
        np.testing.assert_allclose(jax.jit(skinny_product)(rows, x), rows @ x.T, atol=1e-12)
        gradient = jax.grad(lambda x: jax.vmap(skinny_product, (0, None))(rows[None], x).sum())(x)
    np.testing.assert_allclose(gradient, np.broadcast_to(rows.sum(axis=0), x.shape), atol=1e-12)
