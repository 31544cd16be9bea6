import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from bsjax import metrics

pearson, spearman = jax.jit(metrics.pearson), jax.jit(metrics.spearman)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 4))
    return x, 0.5 * x + rng.normal(size=x.shape)


def test_pearson_equals_scipy(data):
    x, y = data
    expected = [scipy.stats.pearsonr(a, b).statistic for a, b in zip(x.T, y.T, strict=True)]
    np.testing.assert_allclose(pearson(jnp.asarray(x), jnp.asarray(y)), expected, atol=1e-14)


def test_a_mask_equals_a_subset_and_hides_nan(data):
    x, y = map(jnp.asarray, data)
    where = np.arange(30) % 3 > 0
    masked = pearson(x.at[3].set(jnp.nan), y, where=jnp.asarray(where)[:, None])
    np.testing.assert_allclose(masked, pearson(x[where], y[where]), atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("constant", [0.0, 0.1, -1e6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constant_values_are_undefined_with_a_finite_gradient(data, constant, dtype):
    x, y = (jnp.asarray(v, dtype) for v in data)
    x = x.at[:, 1].set(constant)
    r = pearson(x, y)
    assert jnp.isnan(r[1]) and jnp.isfinite(r).sum() == 3
    gradient = jax.jit(jax.grad(lambda a: jnp.nansum(pearson(a, y))))(x)
    assert jnp.isfinite(gradient).all()
    assert (gradient[:, 1] == 0).all() and (gradient[:, 0] != 0).any()


def test_a_single_value_is_undefined():
    assert jnp.isnan(pearson(jnp.ones((1, 1)), jnp.ones((1, 1)))).all()


def test_large_values_do_not_overflow_in_float32(data):
    x, y = (jnp.asarray(v, jnp.float32) for v in data)
    np.testing.assert_allclose(pearson(x * 1e15, y * 1e15), pearson(x, y), atol=1e-5)


numbers = st.lists(st.integers(-5, 5), min_size=12, max_size=12)


@pytest.mark.slow
@given(numbers, st.integers(0, 1000))
def test_spearman_equals_scipy_with_ties(values, seed):
    x = np.array(values, np.float32)
    y = np.random.default_rng(seed).integers(-3, 4, len(x)).astype(np.float32)
    got = spearman(jnp.asarray(x), jnp.asarray(y))
    if np.ptp(x) == 0 or np.ptp(y) == 0:
        assert jnp.isnan(got)
    else:
        assert float(got) == pytest.approx(scipy.stats.spearmanr(x, y).statistic, abs=1e-5)


@pytest.mark.slow
def test_spearman_with_a_mask_equals_the_subset(data):
    x, y = (jnp.asarray(v[:, 0]) for v in data)
    where = np.arange(30) % 4 > 0
    masked = spearman(x.at[0].set(jnp.nan), y, where=jnp.asarray(where))
    assert float(masked) == pytest.approx(float(spearman(x[where], y[where])), abs=1e-14)


def test_spearman_of_a_nan_that_counts_is_undefined(data):
    x, y = (jnp.asarray(v[:, 0]) for v in data)
    assert jnp.isnan(spearman(x.at[5].set(jnp.nan), y))
