import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import cka, cka_biased, compiled, similarity_on_subsets
from tests.support import exact_regressions as exact

BLOCKS = [(300, 140, 150), (150, 300, 10)]  # more rows or columns than one block


def arrays(n, p, q, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + 1.0
    return x, x[:, : min(p, q)] @ rng.normal(size=(min(p, q), q)) + rng.normal(size=(n, q))


@pytest.mark.parametrize("shape", [(30, 5, 4), (12, 40, 50), *BLOCKS], ids=str)
@pytest.mark.parametrize("unbiased", [True, False])
def test_equals_the_definition_on_either_side(shape, unbiased):
    x, y = arrays(*shape)
    got = compiled(cka, unbiased=unbiased)(jnp.asarray(x), jnp.asarray(y))
    assert float(got) == pytest.approx(exact.cka(unbiased=unbiased)(x, y), abs=1e-12)


def test_fewer_than_four_stimuli_are_undefined_if_unbiased():
    x, y = map(jnp.asarray, arrays(3, 6, 4))
    assert jnp.isnan(compiled(cka)(x, y)) and jnp.isfinite(compiled(cka_biased)(x, y))


@pytest.mark.slow
def test_subsets_of_wide_responses_equal_each_subset():
    x, y = map(jnp.asarray, arrays(20, 60, 50))
    subsets = jnp.asarray([np.arange(15), np.arange(5, 20)])
    on_subsets = compiled(similarity_on_subsets, similarity=cka, rotation_invariant=True)
    got = on_subsets(x, y, subsets, jnp.ones((2, 15), bool))
    np.testing.assert_allclose(got, [compiled(cka)(x[rows], y[rows]) for rows in subsets], atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "q", "copies", "matrices"), [(400, 100, 2, 1.0), (2000, 500, 3, 0.1)])
def test_memory_is_bounded_by_the_inputs_and_wide_ones_form_no_matrix_of_stimuli(p, q, copies, matrices):
    n = 1024
    x, y = (jax.ShapeDtypeStruct((n, units), jnp.float64) for units in (p, q))
    temporary = jax.jit(cka).lower(x, y).compile().memory_analysis().temp_size_in_bytes
    inputs, matrix = 8 * n * (p + q), 8 * n * n
    assert temporary < copies * inputs + matrices * matrix


@pytest.mark.slow
def test_a_symmetric_product_is_computed_by_little_more_than_half():
    n, p, q = 1024, 400, 100
    x, y = (jax.ShapeDtypeStruct((n, units), jnp.float64) for units in (p, q))
    flops = jax.jit(cka).lower(x, y).compile().cost_analysis()["flops"]
    # Whole products would be 2 n (p p + q q + p q); two thirds of the first are left.
    assert flops < 2.2 * n * (p * p * 2 / 3 + q * q + p * q)
