import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives.running_sums import running_sums


@pytest.mark.parametrize("dtype", ["int32", "float32"])
@pytest.mark.parametrize("implementation", [running_sums.plain, *running_sums.own.values()])
def test_sums_are_those_of_numpy_in_the_same_dtype_and_have_gradients(implementation, dtype):
    rows = np.random.default_rng(0).integers(-9, 9, (7, 3)).astype(dtype)
    got = jax.jit(implementation)(jnp.asarray(rows))
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, np.cumsum(rows, axis=0))
    # A row counts in all sums from its own on.
    gradient = jax.jit(jax.grad(lambda rows: jnp.sum(implementation(rows))))(jnp.ones((4, 2)))
    np.testing.assert_array_equal(gradient, np.array([[4.0, 3.0, 2.0, 1.0]] * 2).T)
