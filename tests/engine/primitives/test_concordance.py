import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives.concordance import net_concordance

each = pytest.mark.parametrize("implementation", [net_concordance.plain, net_concordance.own["cpu"]])


def by_signs(a, b):
    return np.sum(np.sign(a[:, None] - a) * np.sign(b[:, None] - b)) / 2


@each
@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 2, 3, 150])
def test_equals_the_signs_of_all_pairs(implementation, n):
    rng = np.random.default_rng(n)
    a, b = rng.integers(0, 4, (2, n)).astype(float)
    where = rng.random(n) < 0.7
    assert implementation(jnp.asarray(a), jnp.asarray(b)) == by_signs(a, b)
    assert implementation(jnp.asarray(a), jnp.asarray(b), jnp.asarray(where)) == by_signs(a[where], b[where])


@each
def test_a_small_negative_number_is_exact_in_float32(implementation):
    a, b = jnp.array([1.0, 2.0, 3.0], "float32"), jnp.array([3.0, 1.0, 2.0], "float32")
    assert jax.jit(implementation)(a, b) == -1.0


@pytest.mark.slow
def test_of_many_elements_in_blocks():
    # The plain one: 10,000 elements have 5e7 pairs, and a matrix of them is nowhere made.
    a, b = np.random.default_rng(0).normal(size=(2, 10_000))
    program = jax.jit(net_concordance.plain)
    assert program(jnp.asarray(a), jnp.asarray(b)) == net_concordance(jnp.asarray(a), jnp.asarray(b))
    floats = jax.ShapeDtypeStruct((10_000,), "float64")
    assert program.lower(floats, floats).compile().memory_analysis().temp_size_in_bytes < 10_000**2 / 8
