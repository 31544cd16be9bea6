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
