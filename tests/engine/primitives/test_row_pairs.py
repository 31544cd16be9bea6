import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.primitives.row_pairs import numbers_of_pairs, pairs_of_matrix, pairs_of_rows
from bsjax.engine.programs.platforms import traced_for


def products(a, b):
    return a @ b.T


FEW = [("cpu", 1), ("gpu", 1), ("cpu", 7), ("tpu", 7)]
MANY = [pytest.param(platform, n, marks=pytest.mark.slow) for platform in ("cpu", "gpu") for n in (256, 601)]


@pytest.mark.parametrize(("platform", "n"), [*FEW, *MANY])
def test_every_pair_of_few_and_of_many_rows_is_there_once(platform, n, monkeypatch):
    # As little memory as makes blocks of a hundred rows.
    monkeypatch.setattr("bsjax.engine.row_blocks.device_memory", lambda: 16 * 8 * 100 * n)
    monkeypatch.setattr("bsjax.engine.row_blocks._ROWS_AT_A_TIME", 100)
    rows = jnp.asarray(np.random.default_rng(0).normal(size=(n, 3)))
    with traced_for(platform):
        left, right = (np.asarray(side) for side in jax.jit(numbers_of_pairs, static_argnums=0)(n))
        got = jax.jit(lambda rows: pairs_of_rows(rows, function=products))(rows)
        of_matrix = jax.jit(lambda rows: pairs_of_matrix(products(rows, rows)))(rows)
    pairs = np.sort(np.stack([left, right]), axis=0)
    np.testing.assert_array_equal(pairs[:, np.lexsort(pairs[::-1])], np.triu_indices(n, 1))
    expected = np.asarray(rows @ rows.T)[left, right]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(of_matrix, expected, atol=1e-12)


def test_several_matrices_are_each_of_them_on_a_tpu_with_gradients_in_batches():
    matrices, weights = np.random.default_rng(0).normal(size=(3, 6, 6)), np.arange(15.0)
    with traced_for("tpu"):
        together = jax.jit(jax.vmap(pairs_of_matrix))(matrices)
        slopes = jax.jit(jax.vmap(jax.grad(lambda matrix: pairs_of_matrix(matrix) @ weights)))(matrices)
        alone = [jax.jit(pairs_of_matrix)(matrix) for matrix in matrices]
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_allclose(np.sum(slopes * matrices, axis=(1, 2)), np.stack(alone) @ weights)
