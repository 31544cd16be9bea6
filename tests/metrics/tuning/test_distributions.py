import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from bsjax.metrics import compiled
from bsjax.metrics.tuning.distributions import bin_numbers, bootstrapped_similarity, ks_similarity

EDGES = np.linspace(-2.0, 2.0, 9)


def test_equals_the_two_sample_statistic_of_scipy():
    """Of values on a grid, one bin each, the histograms lose nothing."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 6, 50).astype(float), rng.integers(1, 6, 40).astype(float)
    edges = np.arange(-0.5, 6.0)
    draws = rng.integers(0, 50, (10, 40))
    share = np.cumsum(np.bincount(target.astype(int), minlength=6)) / 40
    greatest = max((1 - share).max(), share[:-1].max())
    expected = [1 - ks_2samp(source[d], target).statistic / greatest for d in draws]
    found = compiled(bootstrapped_similarity)(*map(jnp.asarray, (source, target, edges, draws)))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_the_opposite_extreme_is_0():
    first, last = jnp.asarray([1.0, 0.0, 0.0]), jnp.asarray([0.0, 0.0, 1.0])
    assert float(ks_similarity(first, last)) == 0 and float(ks_similarity(last, first)) == 0


def test_a_single_bin_is_undefined():
    assert jnp.isnan(ks_similarity(jnp.ones(1), jnp.ones(1)))


# Compiled programs take subnormal numbers for zero.
@given(st.lists(st.floats(-4.0, 4.0, allow_subnormal=False) | st.sampled_from(EDGES.tolist()), min_size=8, max_size=8))
def test_bins_are_those_of_numpy(values):
    numbers = compiled(bin_numbers)(jnp.asarray(values), jnp.asarray(EDGES))
    expected = np.histogram(np.clip(values, EDGES[0], EDGES[-1]), EDGES)[0]
    np.testing.assert_array_equal(np.bincount(numbers, minlength=8), expected)


def test_takes_any_similarity_of_histograms():
    def overlap(p, q):
        return jnp.sum(jnp.minimum(p, q))

    rng = np.random.default_rng(0)
    source, target, draws = rng.normal(size=40), rng.normal(size=30), rng.integers(0, 40, (20, 30))
    got = compiled(bootstrapped_similarity, similarity=overlap)(*map(jnp.asarray, (source, target, EDGES, draws)))
    p, q = (np.histogram(np.clip(v, -2, 2), EDGES)[0] for v in (source[draws[0]], target))
    assert float(got[0]) == pytest.approx(np.minimum(p / p.sum(), q / q.sum()).sum())
