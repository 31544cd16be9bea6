"""Fallbacks that a batch computes only where one of its elements needs it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.fallbacks import with_fallback


@pytest.fixture
def root():
    """Of what is not negative; else 0, each computation of which is counted."""
    computed = []

    def of(x):
        def zero():
            jax.debug.callback(lambda: computed.append(1))
            return jnp.zeros_like(x)

        return with_fallback(x < 0, lambda: jnp.sqrt(jnp.abs(x)), zero)

    return of, computed


@pytest.mark.parametrize("within", [lambda f: f, jax.jit])
def test_one_element_takes_its_own_branch(root, within):
    of, computed = root
    assert within(of)(jnp.asarray(4.0)) == 2 and not computed
    assert within(of)(jnp.asarray(-4.0)) == 0
    jax.effects_barrier()
    assert len(computed) == 1


def test_a_batch_without_a_failure_computes_no_fallback(root):
    of, computed = root
    batch = jax.jit(jax.vmap(jax.vmap(of)))
    np.testing.assert_array_equal(batch(jnp.array([[1.0, 4.0], [9.0, 16.0]])), [[1, 2], [3, 4]])
    jax.effects_barrier()
    assert not computed
    np.testing.assert_array_equal(batch(jnp.array([[1.0, -4.0], [9.0, 16.0]])), [[1, 0], [3, 4]])
    jax.effects_barrier()
    assert computed


def test_derivatives_are_those_of_the_branch(root):
    of, _ = root
    x = jnp.array([4.0, -4.0])
    np.testing.assert_allclose(jax.vmap(jax.grad(of))(x), [0.25, 0])
    np.testing.assert_allclose(jax.grad(lambda x: jax.vmap(of)(x).sum())(x), [0.25, 0])
