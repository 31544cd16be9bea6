"""Gram matrices in tiles against those at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.engine.gram import Gram, centred, factor
from bsjax.metrics import cka
from bsjax.metrics.similarity.cka import cka_of_grams

ROWS = [slice(0, 4), slice(4, 8), slice(8, 12)]


def gram_of(values, block=5):
    gram = Gram(ROWS, jax.devices())
    for start in range(0, values.shape[1], block):
        gram.add({i: jnp.asarray(values[rows, start : start + block]) for i, rows in enumerate(ROWS)})
    return gram


@pytest.mark.slow
def test_tiles_are_those_of_the_whole():
    x, y = (np.random.default_rng(seed).normal(size=(12, 20)) + 3 for seed in (0, 1))
    with jax.enable_x64(True):
        one, other = gram_of(x), gram_of(y)
        np.testing.assert_allclose(one.dense(), x @ x.T, rtol=1e-12)
        pairwise = Gram(ROWS, jax.devices())
        parts = {i: jnp.asarray(x[rows]) for i, rows in enumerate(ROWS)}
        pairwise.add({0: parts[0], 1: parts[1]})
        pairwise.add({2: parts[2]})
        pairwise.add({0: parts[0], 1: parts[1]}, {2: parts[2]})
        np.testing.assert_allclose(pairwise.dense(), x @ x.T, rtol=1e-12)
        for gram in (one, other):
            gram.centre()
        np.testing.assert_allclose(one.dense(), centred(x @ x.T), atol=1e-10)
        for unbiased in (True, False):
            wanted = float(cka(jnp.asarray(x), jnp.asarray(y), unbiased=unbiased))
            assert cka_of_grams(one, other, unbiased=unbiased) == pytest.approx(wanted, abs=1e-12)
        nothing = gram_of(np.zeros((12, 5)))
        assert np.isnan(cka_of_grams(one, nothing, unbiased=True))


@pytest.mark.parametrize("rank", [0, 3, 12])
def test_a_factor_has_the_inner_products_and_the_rank(rank):
    x = np.random.default_rng(0).normal(size=(12, rank)) * np.logspace(0, 3, 12)[:, None]
    rows = factor(x @ x.T)
    np.testing.assert_allclose(rows @ rows.T, x @ x.T, atol=1e-13 * max(1, np.abs(x @ x.T).max(initial=0)))
    assert np.count_nonzero(rows.any(axis=0)) == rank
