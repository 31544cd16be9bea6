"""Fallbacks that a batch computes only where one of its elements needs it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.programs.compilation import Program
from bsjax.engine.programs.fallbacks import cond, with_fallback, without_fallbacks
from bsjax.engine.programs.platforms import traced_for
from tests.support.lowered import lowered


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


def test_a_program_of_an_accelerator_has_its_fallbacks_only_when_they_are_needed(root):
    of, computed = root
    program = Program(lambda xs: (jax.vmap(of)(xs), jax.lax.map(of, xs)))
    with traced_for("gpu"):
        for here in program(jnp.array([1.0, 4.0])):
            np.testing.assert_array_equal(here, [1, 2])
        jax.effects_barrier()
        assert not computed
        for here in program(jnp.array([1.0, -4.0])):
            np.testing.assert_array_equal(here, [1, 0])
        jax.effects_barrier()
        assert computed


def test_what_is_lowered_for_an_accelerator_has_no_decomposition_that_few_data_need():
    def of(x):
        return with_fallback(x[0, 0] < 0, lambda: x[0], lambda: jnp.linalg.eigh(x)[0])

    shape = jax.ShapeDtypeStruct((3, 3), "float32")
    assert "syevd" in lowered(of, shape, "gpu").text
    assert "custom_call" not in lowered(without_fallbacks(of), shape, "gpu").text


@pytest.mark.slow
def test_a_scalar_choice_of_a_batch_keeps_its_one_branch():
    def of(x, chosen):
        return cond(chosen, lambda: x + 1, lambda: x)

    assert jax.vmap(of, (0, None))(jnp.arange(2), jnp.asarray(True)).tolist() == [1, 2]
    assert jax.vmap(of, (None, 0))(jnp.asarray(1), jnp.array([True, False])).tolist() == [2, 1]
    assert jax.vmap(jax.vmap(of))(jnp.ones((1, 2), int), jnp.array([[True, False]])).tolist() == [[2, 1]]
