"""Intervals from draws: SciPy's numbers on the same draws, and what must hold of any."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bsjax.metrics.inference.intervals import acceleration, bca_interval, percentile_interval, studentised_interval


def skewed(draws=999):
    """A sample, its mean, and the mean of draws with replacement."""
    rng = np.random.default_rng(0)
    sample = rng.exponential(size=25)
    return sample, sample.mean(), sample[rng.integers(0, 25, (draws, 25))].mean(axis=1)


@pytest.mark.slow
def test_scipy_makes_the_same_of_the_same_draws_in_every_column():
    sample, value, draws = skewed()
    without = (sample.sum() - sample) / 24  # the jackknife
    moved = acceleration(jnp.asarray(without.mean() - without)) * jnp.ones(2)
    both, values = jnp.asarray(np.stack([draws, 2 * draws], axis=1)), jnp.array([value, 2 * value])
    known = stats.bootstrap((sample,), np.mean, n_resamples=20, method="percentile", rng=0)
    known = SimpleNamespace(**vars(known) | {"bootstrap_distribution": draws})  # SciPy goes on from these
    for method, ends in (("percentile", percentile_interval(both)), ("BCa", bca_interval(values, both, moved))):
        again = stats.bootstrap((sample,), np.mean, n_resamples=0, method=method, bootstrap_result=known, rng=0)
        for column in (0, 1):
            expected = np.array(again.confidence_interval) * (1 + column)
            np.testing.assert_allclose(ends[:, column], expected, rtol=1e-9)


def test_studentised_draws_of_a_mean_give_back_the_t_interval():
    rng = np.random.default_rng(1)
    values = rng.normal(size=(200_000, 10))
    draws, errors = values.mean(axis=1), values.std(axis=1, ddof=1) / np.sqrt(10)
    low, high = studentised_interval(jnp.array(0.0), jnp.array(0.1), jnp.asarray(draws), jnp.asarray(errors))
    reach = stats.t(9).ppf(0.975) * 0.1
    np.testing.assert_allclose([low, high], [-reach, reach], atol=2e-3)


def test_what_is_undefined_is_left_out():
    _, value, draws = skewed()
    with_nan, draws = jnp.asarray(np.r_[draws, np.nan, np.nan]), jnp.asarray(draws)
    percentile, bca = jax.jit(percentile_interval), jax.jit(bca_interval)
    np.testing.assert_allclose(percentile(with_nan), percentile(draws), rtol=1e-12)
    whole = bca(value, draws, 0.02)
    np.testing.assert_allclose(bca(value, with_nan, 0.02), whole, rtol=1e-12)
    assert np.isnan(bca(1e9, draws, 0.02)).all()  # beyond all draws


@pytest.mark.slow
def test_ends_have_gradients_and_keep_their_dtype():
    _, value, draws = skewed(99)

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
