import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives import ordering


@pytest.mark.parametrize("implementation", ordering.sort_by_key.own.values())
@pytest.mark.parametrize("shape", [(40,), (3, 40), (2, 3, 40)])
def test_sorts_of_pairs_equal_the_plain_one(monkeypatch, shape, implementation):
    monkeypatch.setattr(ordering, "_MANY", 30)
    rng = np.random.default_rng(0)
    keys = jnp.asarray(rng.permuted(np.broadcast_to(np.arange(40, dtype=np.int32), shape), axis=-1))
    others = jnp.asarray(rng.integers(0, 9, shape, np.int32))
    expected = ordering.sort_by_key.plain(keys, others)
    jax.tree.map(np.testing.assert_array_equal, jax.jit(implementation)(keys, others), expected)
    batched = jax.jit(jax.vmap(implementation, in_axes=(0, None)))(keys[None], others)
    jax.tree.map(lambda own, plain: np.testing.assert_array_equal(own[0], plain), batched, expected)
    assert ("scan" in str(jax.make_jaxpr(implementation)(keys, others))) == (len(shape) > 1)


@pytest.mark.parametrize("n", [1, 17, 64])
@pytest.mark.parametrize("implementation", [ordering.first_largest.plain, *ordering.first_largest.own.values()])
def test_the_first_largest_is_that_of_numpy(implementation, n):
    values = np.random.default_rng(0).integers(-3, 3, (40, n)).astype("float32")
    values[0], values[1], values[2, -1] = -np.inf, 2.0, np.inf
    found = jax.jit(implementation)(jnp.asarray(values))
    np.testing.assert_array_equal(found, values.argmax(axis=1))
    assert found.dtype == "int32"
