import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives.row_pairs import numbers_of_pairs
from bsjax.metrics import compiled, rdm
from bsjax.metrics.similarity.rdms.rdm import rdm_to_compare

to_compare = jax.jit(rdm_to_compare, static_argnums=(1, 2))


def responses(n, p, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


@pytest.mark.slow
def test_rdm_equals_numpy():
    x = responses(12, 7)
    np.testing.assert_allclose(compiled(rdm)(jnp.asarray(x)), 1 - np.corrcoef(x), atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 601])
def test_vectors_of_rows_at_a_time_equal_the_pairs_of_the_matrix(n):
    x = jnp.asarray(responses(n, 7))
    (vector, _), lost = to_compare(x, "correlation", "corr")
    matrix = compiled(rdm)(x)
    left, right = numbers_of_pairs(n)
    np.testing.assert_allclose(vector, matrix[left, right], atol=1e-14)
    assert not lost.any()


@pytest.mark.slow
def test_stimuli_without_a_dissimilarity_are_told():
    x = jnp.asarray(responses(8, 6)).at[2].set(1.0).at[5, 0].set(jnp.nan)
    (vector, _), lost = to_compare(x, "correlation", "corr")
    left, right = numbers_of_pairs(8)
    np.testing.assert_array_equal(np.flatnonzero(lost), [2, 5])
    np.testing.assert_array_equal(vector == 1.0, lost[left] | lost[right])
