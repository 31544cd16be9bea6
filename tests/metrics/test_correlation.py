import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from bsjax.metrics import pearson, ranks, spearman
from bsjax.metrics.correlation import _MANY, _PART, _numpy_double_ranks, _ranks_in_xla
from tests.support.memory_held import most_held


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 4))
    return x, 0.5 * x + rng.normal(size=x.shape)


def test_pearson_equals_scipy(data):
    x, y = data
    expected = [scipy.stats.pearsonr(a, b).statistic for a, b in zip(x.T, y.T, strict=True)]
    np.testing.assert_allclose(pearson(jnp.asarray(x), jnp.asarray(y)), expected, atol=1e-14)


def test_a_mask_equals_a_subset(data):
    x, y = map(jnp.asarray, data)
    where = np.arange(30) % 3 > 0
    np.testing.assert_allclose(
        pearson(x, y, where=jnp.asarray(where)[:, None]), pearson(x[where], y[where]), atol=1e-14
    )


def test_what_a_mask_hides_may_be_nan(data):
    x, y = map(jnp.asarray, data)
    where = jnp.ones((30, 1), bool).at[3].set(False)
    assert jnp.isfinite(pearson(x.at[3].set(jnp.nan), y, where=where)).all()


@pytest.mark.slow
@pytest.mark.parametrize("constant", [0.0, 0.1, 3.0, -1e6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_constant_values_are_undefined_with_a_finite_gradient(data, constant, dtype):
    x, y = (jnp.asarray(v, dtype) for v in data)
    x = x.at[:, 1].set(constant)
    r = pearson(x, y)
    assert jnp.isnan(r[1]) and jnp.isfinite(r).sum() == 3
    gradient = jax.grad(lambda a: jnp.nansum(pearson(a, y)))(x)
    assert jnp.isfinite(gradient).all()
    assert (gradient[:, 1] == 0).all() and (gradient[:, 0] != 0).any()


def test_a_single_value_is_undefined():
    assert jnp.isnan(pearson(jnp.ones((1, 1)), jnp.ones((1, 1)))).all()


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e4])
def test_an_offset_costs_few_digits_in_float32(data, offset):
    x, y = data
    shifted = pearson(jnp.asarray(x + offset, jnp.float32), jnp.asarray(y, jnp.float32))
    np.testing.assert_allclose(shifted, pearson(jnp.asarray(x), jnp.asarray(y)), atol=1e-3)


def test_large_values_do_not_overflow_in_float32(data):
    x, y = (jnp.asarray(v, jnp.float32) for v in data)
    np.testing.assert_allclose(pearson(x * 1e15, y * 1e15), pearson(x, y), atol=1e-5)


numbers = st.lists(st.integers(-5, 5), min_size=3, max_size=40)


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
@given(numbers)
def test_ranks_are_the_same_on_the_host_and_in_xla(values):
    x = jnp.asarray(values, jnp.float32)
    expected = scipy.stats.rankdata(values)
    np.testing.assert_array_equal(ranks(x), expected)
    np.testing.assert_array_equal(jax.jit(_ranks_in_xla)(x), expected)


def test_ranks_keep_the_digits_of_float64_in_a_large_program():
    # Large enough that the host call runs on another thread, where the local float64 context is off.
    n = 1_000_000
    order = np.random.default_rng(0).permutation(n)
    got = jax.jit(lambda v: ranks(1.0 * v))(jnp.asarray(1.0 + 1e-12 * order))
    np.testing.assert_array_equal(got, order + 1.0)


def test_ranks_of_rows_equal_those_of_each():
    rows = jnp.asarray(np.random.default_rng(0).integers(0, 9, (4, 25)).astype(float))
    by_row = jnp.stack([ranks(row) for row in rows])
    np.testing.assert_array_equal(ranks(rows), by_row)
    np.testing.assert_array_equal(jax.vmap(ranks)(rows), by_row)


def test_spearman_with_a_mask_equals_the_subset(data):
    x, y = (jnp.asarray(v[:, 0]) for v in data)
    where = np.arange(30) % 4 > 0
    masked = spearman(x.at[0].set(jnp.nan), y, where=jnp.asarray(where))
    assert float(masked) == pytest.approx(float(spearman(x[where], y[where])), abs=1e-14)


def test_spearman_of_a_nan_that_counts_is_undefined(data):
    x, y = (jnp.asarray(v[:, 0]) for v in data)
    assert jnp.isnan(spearman(x.at[5].set(jnp.nan), y))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", ["spread", "tied", "clustered", "masked", "infinite"])
@pytest.mark.parametrize("parts", [0, 3])
def test_the_order_of_many_numbers_is_exact(parts, kind, dtype):
    rng = np.random.default_rng(0)
    n = parts * _PART + 3 if parts else _MANY + 3
    x = rng.normal(size=n)
    if kind == "tied":
        x = x.round(2)
    elif kind == "clustered":  # nearly all of them within one step
        x[1:] *= 1e-12
        x[0] = 1e3
    elif kind == "masked":
        x[rng.random(n) < 0.3] = np.inf
    elif kind == "infinite":
        x[0], x[1] = -np.inf, np.inf
    x = x.astype(dtype)
    np.testing.assert_array_equal(ranks(jnp.asarray(x)), scipy.stats.rankdata(x))


@pytest.mark.slow
@pytest.mark.parametrize("n", [_MANY, 2 * _PART])
def test_among_many_numbers_nan_is_last(n):
    x = np.random.default_rng(0).normal(size=n)
    expected = np.append(scipy.stats.rankdata(x), n + 1.0)
    np.testing.assert_array_equal(ranks(jnp.asarray(np.append(x, np.nan))), expected)


def test_ranking_takes_memory_for_a_part_at_a_time():
    x = np.random.default_rng(0).normal(size=6 * _PART)
    # The ranks themselves are half as large as the numbers; all at once would take six times the numbers.
    assert most_held(lambda: _numpy_double_ranks(x)) < 2.8 * x.nbytes
