import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ks_2samp

from bsjax.metrics import compiled
from bsjax.metrics.tuning.distributions import bin_numbers, bootstrapped_similarity, ks_similarity

EDGES = np.linspace(-2.0, 2.0, 9)
similarity = compiled(bootstrapped_similarity)


def population(seed=0, neurons=40, recorded=30, draws=20):
    rng = np.random.default_rng(seed)
    source, target = 1.5 * rng.normal(size=neurons), rng.normal(size=recorded) + 0.4
    source[::7], target[::9] = np.nan, np.nan
    return source, target, rng.integers(0, neurons, (draws, recorded))


def run(source, target, edges, draws):
    return np.asarray(similarity(*map(jnp.asarray, (source, target, edges, draws))))


def by_definition(sample, target):
    p, q = (np.histogram(np.clip(v, EDGES[0], EDGES[-1]), EDGES)[0] for v in (sample, target))
    p, q = np.cumsum(p / p.sum()), np.cumsum(q / q.sum())
    return 1 - np.abs(p - q).max() / max((1 - q).max(), q[:-1].max())


@pytest.mark.parametrize("seed", range(3))
def test_equals_the_definition(seed):
    source, target, draws = population(seed)
    np.testing.assert_allclose(
        run(source, target, EDGES, draws), [by_definition(source[d], target) for d in draws], atol=1e-12
    )


def test_equals_the_two_sample_statistic_of_scipy():
    """Of values on a grid, one bin each, the histograms lose nothing."""
    rng = np.random.default_rng(0)
    source, target = rng.integers(0, 6, 50).astype(float), rng.integers(1, 6, 40).astype(float)
    edges = np.arange(-0.5, 6.0)
    draws = rng.integers(0, 50, (10, 40))
    share = np.cumsum(np.bincount(target.astype(int), minlength=6)) / 40
    greatest = max((1 - share).max(), share[:-1].max())
    expected = [1 - ks_2samp(source[d], target).statistic / greatest for d in draws]
    np.testing.assert_allclose(run(source, target, edges, draws), expected, atol=1e-12)


@given(st.lists(st.integers(0, 20), min_size=2, max_size=2), st.integers(0, 10_000))
def test_lies_between_0_and_1_and_is_1_for_the_same(extremes, seed):
    rng = np.random.default_rng(seed)
    counts = np.array([rng.integers(0, 20, 6), rng.integers(0, 20, 6)], float)
    counts[:, 0], counts[:, -1] = extremes
    counts[:, 2] += 1
    p, q = jnp.asarray(counts / counts.sum(axis=1, keepdims=True))
    assert 0 <= float(compiled(ks_similarity)(p, q)) <= 1 + 1e-12
    assert float(compiled(ks_similarity)(p, p)) == 1


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


def test_draws_without_a_value_and_a_target_without_one_are_undefined():
    source, target, draws = population()
    draws[3] = 7  # NaN
    draws[5] = len(source)  # nobody
    result = run(source, target, EDGES, draws)
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(result)), [3, 5])
    assert np.isnan(run(source, np.full_like(target, np.nan), EDGES, draws)).all()


def test_takes_any_similarity_of_histograms():
    def overlap(p, q):
        return jnp.sum(jnp.minimum(p, q))

    source, target, draws = population()
    got = compiled(bootstrapped_similarity, similarity=overlap)(*map(jnp.asarray, (source, target, EDGES, draws)))
    p, q = (np.histogram(np.clip(v, -2, 2), EDGES)[0] for v in (source[draws[0]], target))
    assert float(got[0]) == pytest.approx(np.minimum(p / p.sum(), q / q.sum()).sum())
