import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives.grams import sums_of_gram_products


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(300, 130, 140), (300, 130, 200)])
def test_all_implementations_give_the_sums_and_their_gradients(shape):
    n, p, q = shape
    rng = np.random.default_rng(0)
    x, y = jnp.asarray(rng.normal(size=(n, p))), jnp.asarray(rng.normal(size=(n, q)))

    def by_definition(x, y):
        k, ell = x @ x.T, y @ y.T
        return (k * ell).sum(), (k**2).sum(), (ell**2).sum()

    def gradient(function):
        return jax.jit(jax.grad(lambda x, y: sum(function(x, y)), (0, 1)))(x, y)

    expected = by_definition(x, y), gradient(by_definition)
    for implementation in (sums_of_gram_products.plain, *sums_of_gram_products.own.values()):
        got = jax.jit(implementation)(x, y), gradient(implementation)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-9), got, expected)
