"""Bounds of the errors of products and angles, against the errors themselves."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2, spearmanr

from bsjax.metrics import compiled
from bsjax.metrics.bounds.angles import cosine_within
from bsjax.metrics.bounds.products import FAILURE, PROBES, products_within
from bsjax.metrics.bounds.similarity import rdm_similarity_within
from bsjax.metrics.linalg.positive_definite import least_curvature


def probes_of(n, seed=1):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(n, PROBES)))


@pytest.mark.parametrize("working", ["float32", "float16", "bfloat16"])
def test_the_error_of_products_is_bounded_within_a_small_factor(working):
    x = np.random.default_rng(0).normal(size=(50, 30))
    made = products_within(jnp.asarray(x), probes_of(50), working)
    error = np.asarray(made.values) - (1 - np.eye(50)) * (x @ x.T)
    of_rows = np.linalg.norm(error, axis=1)
    assert np.linalg.norm(error) < made.off < 5 * np.linalg.norm(error)
    assert (of_rows < made.off_rows).all()
    assert (made.off_rows < 10 * of_rows).all()


@pytest.mark.slow
def test_the_probability_is_that_of_a_chi_square_in_the_worst_case():
    """An error of rank one has the lightest lower tail; the bound is then off by the tail of chi-square."""
    x = jnp.asarray(np.random.default_rng(0).normal(size=(6, 3)))
    probes = probes_of(6)
    made = products_within(x, probes, "float16")
    error = np.asarray(made.values) - (1 - np.eye(6)) * np.asarray(x @ x.T)
    squared = (float(jnp.linalg.norm(error @ np.asarray(probes))) / float(made.off)) ** 2
    assert FAILURE / 1000 < chi2.cdf(squared, PROBES) < FAILURE / 4


@pytest.mark.slow
def test_cosines_of_all_vectors_near_are_held_and_some_reach_the_ends():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 1))
    off = 0.3 * np.linalg.norm(a), 0.2 * np.linalg.norm(b)
    low, high = (float(end) for end in cosine_within(*map(jnp.asarray, (a[:, 0], b[:, 0], *off))))
    near = []
    for side, reach in zip((a, b), off, strict=True):
        moves = rng.normal(size=(3, 200_000))
        near.append(side + reach * moves / np.linalg.norm(moves, axis=0))
    cosines = (near[0] * near[1]).sum(0) / np.prod([np.linalg.norm(side, axis=0) for side in near], axis=0)
    assert low <= cosines.min() < low + 0.05
    assert high - 0.05 < cosines.max() <= high


@pytest.mark.parametrize("of_a", [1.0, 2.0, np.inf, np.nan])
def test_an_error_as_long_as_a_vector_says_nothing(of_a):
    low, high = cosine_within(*map(jnp.asarray, (np.eye(3)[0], np.eye(3)[0], of_a, 0.0)))
    assert (float(low), float(high)) == (-1.0, 1.0)


def test_ties_widen_the_interval_of_ranks():
    """Equal dissimilarities may be in any order within their errors."""
    x = np.round(np.random.default_rng(0).normal(size=(12, 4)))
    x, y = x + np.arange(4), np.random.default_rng(1).normal(size=(12, 5))
    how = {"working": "float32", "dissimilarity": "sqeuclidean"}
    low, high = compiled(rdm_similarity_within, **how)(jnp.asarray(x), jnp.asarray(y), probes_of(12))
    upper = np.triu_indices(12, 1)
    distances = [((side[:, None] - side) ** 2).sum(2)[upper] for side in (x, y)]
    assert float(low) <= spearmanr(*distances).statistic <= float(high)
    assert 0.05 < float(high - low) < 2


@pytest.mark.slow
def test_the_least_curvature_leaves_out_columns_of_zeros_and_is_no_overestimate():
    x = np.random.default_rng(0).normal(size=(20, 4))
    exact = np.linalg.svd(x, compute_uv=False)[-1] ** 2
    found = float(least_curvature(jnp.asarray(np.hstack([x, np.zeros((20, 1))]))))
    assert 0.4 * exact < found <= exact
    assert float(least_curvature(jnp.asarray(np.hstack([x, x[:, :1]])))) < 1e-12
