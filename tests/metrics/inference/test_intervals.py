"""Intervals from draws: SciPy's numbers on the same draws, and what must hold of any."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bsjax.metrics.inference.intervals import acceleration, bca_interval, percentile_interval, studentised_interval


def skewed(draws=999, seed=0):
    """A sample, its mean, and the mean of draws with replacement."""
    rng = np.random.default_rng(seed)
    sample = rng.exponential(size=25)
    drawn = sample[rng.integers(0, 25, (draws, 25))]
    return sample, sample.mean(), drawn.mean(axis=1), drawn.std(axis=1, ddof=1) / 5


def of_scipy(sample, draws, method):
    """The interval that SciPy makes of these draws."""
    given_draws = stats.bootstrap((sample,), np.mean, n_resamples=20, method="percentile", rng=0)
    again = stats.bootstrap(
        (sample,), np.mean, n_resamples=0, method=method, bootstrap_result=_Result(draws, given_draws), rng=0
    )
    return [again.confidence_interval.low, again.confidence_interval.high]


class _Result:
    """SciPy goes on from a result that has draws: these."""

    def __init__(self, draws, like):
        self.bootstrap_distribution = draws
        self.standard_error = like.standard_error
        self.confidence_interval = like.confidence_interval


@pytest.mark.slow
@pytest.mark.parametrize("method", ["percentile", "BCa"])
def test_scipy_makes_the_same_of_the_same_draws(method):
    sample, value, draws, _ = skewed()
    without = (sample.sum() - sample) / 24  # the jackknife
    moved = acceleration(jnp.asarray(without.mean() - without))
    ends = {
        "percentile": lambda: percentile_interval(jnp.asarray(draws)),
        "BCa": lambda: bca_interval(jnp.asarray(value), jnp.asarray(draws), moved),
    }[method]()
    np.testing.assert_allclose(ends, of_scipy(sample, draws, method), rtol=1e-9)


def test_studentised_draws_of_a_mean_give_back_the_t_interval():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200_000, 10))
    draws, errors = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(10)
    low, high = studentised_interval(jnp.array(0.0), jnp.array(0.1), jnp.asarray(draws), jnp.asarray(errors))
    reach = stats.t(9).ppf(0.975) * 0.1
    np.testing.assert_allclose([low, high], [-reach, reach], atol=2e-3)


@pytest.mark.slow
def test_each_column_has_the_interval_that_it_has_alone():
    _, value, draws, errors = skewed()
    both = np.stack([draws, draws**2], axis=1)
    values, spread = jnp.array([value, value**2]), jnp.array([0.1, 0.2])
    together = [
        percentile_interval(jnp.asarray(both)),
        bca_interval(values, jnp.asarray(both), spread),
        studentised_interval(values, spread, jnp.asarray(both), jnp.asarray(np.stack([errors, errors], axis=1))),
    ]
    for i in range(2):
        column = jnp.asarray(both[:, i])
        alone = [
            percentile_interval(column),
            bca_interval(values[i], column, spread[i]),
            studentised_interval(values[i], spread[i], column, jnp.asarray(errors)),
        ]
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_allclose(whole[:, i], part, rtol=1e-12)


def test_what_is_undefined_is_left_out():
    _, value, draws, _ = skewed()
    with_nan, draws = jnp.asarray(np.r_[draws, np.nan, np.nan]), jnp.asarray(draws)
    percentile, bca = jax.jit(percentile_interval), jax.jit(bca_interval)
    np.testing.assert_allclose(percentile(with_nan), percentile(draws), rtol=1e-12)
    whole = bca(value, draws, 0.02)
    np.testing.assert_allclose(bca(value, with_nan, 0.02), whole, rtol=1e-12)
    assert np.isnan(bca(1e9, draws, 0.02)).all()  # beyond all draws


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.5, 0.9, 0.99]))
def test_a_percentile_interval_moves_with_any_monotone_change_of_scale(seed, level):
    draws = np.random.default_rng(seed).normal(size=201)
    ends = percentile_interval(jnp.asarray(draws), level=level)
    # At these levels the ends are draws themselves.
    moved = percentile_interval(jnp.asarray(np.exp(draws)), level=level)
    np.testing.assert_allclose(np.exp(ends), moved, rtol=5e-2)
    wider = percentile_interval(jnp.asarray(draws), level=(1 + level) / 2)
    assert wider[0] <= ends[0] <= ends[1] <= wider[1]


@pytest.mark.slow
def test_ends_have_gradients_and_keep_their_dtype():
    _, value, draws, _ = skewed(99)

    def width(draws, a):
        ends = bca_interval(jnp.asarray(value, draws.dtype), draws, a)
        return ends[1] - ends[0]

    for gradient in jax.grad(width, argnums=(0, 1))(jnp.asarray(draws), jnp.array(0.01)):
        assert np.isfinite(gradient).all() and (gradient != 0).any()
    ends = bca_interval(jnp.float32(value), jnp.asarray(draws, jnp.float32), jnp.float32(0.0))
    assert ends.dtype == jnp.float32
    np.testing.assert_allclose(
        jax.jit(bca_interval)(jnp.float32(value), jnp.asarray(draws, jnp.float32), jnp.float32(0)), ends
    )
