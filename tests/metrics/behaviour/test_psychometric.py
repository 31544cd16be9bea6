import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import norm

from bsjax.metrics import compiled
from bsjax.metrics.behaviour.psychometric import (
    inverse_psychometric_cum_gauss,
    psychometric_cum_gauss,
    psychometric_threshold,
)

fit_of = compiled(psychometric_threshold)


def probability(x, alpha, beta, lapse):
    return 0.5 + (0.5 - lapse) * norm.cdf(alpha * (np.asarray(x) - beta))


def fit(x, share, dtype="float64"):
    """On padded levels, so that all tests share one program."""
    counts = np.full(len(x), 100.0)
    arrays = [np.pad(np.asarray(v, float), (0, 12 - len(x))) for v in (x, counts * share, counts)]
    return fit_of(*(jnp.asarray(v, dtype) for v in arrays), jnp.asarray(0.75, dtype))


def least_loss(x, share):
    """The optimum as SciPy finds it from many starts."""

    def loss(parameters):
        p = probability(x, *parameters)
        return -np.sum(share * np.log(p) + (1 - share) * np.log(1 - p))

    bounds, options = [(None, None), (None, None), (0.03, 0.5)], {"ftol": 1e-15, "gtol": 1e-10}
    starts = [(alpha, beta, max(1 - share.max(), 0.03)) for alpha in (0.1, 0.5, 2.0) for beta in (3.0, 5.0, 8.0)]
    return min((minimize(loss, s, bounds=bounds, options=options) for s in starts), key=lambda result: result.fun)


@pytest.mark.parametrize("seed", range(3))
def test_is_the_optimum_that_scipy_finds(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(0.0, 10.0, 12))
    share = np.clip(probability(x, rng.uniform(0.4, 0.8), 5.0, 0.05) + 0.03 * rng.normal(size=12), 0.4, 1.0)
    got, expected = fit(x, share), least_loss(x[x <= x[share > share.max() - share.std()].max()], share)
    np.testing.assert_allclose([got.alpha, got.beta, got.lapse], expected.x, rtol=1e-4, atol=1e-5)
    at = expected.x[1] + norm.ppf(0.25 / (0.5 - expected.x[2])) / expected.x[0]
    assert float(got.threshold) == pytest.approx(at, rel=1e-5)


@pytest.mark.slow
def test_float32_equals_float64_also_where_the_slope_is_not_determined():
    x = np.linspace(0.0, 11.0, 12)
    for share in (
        probability(x, 0.8, 5.0, 0.05),
        np.where(x < 5.5, 0.5, 1.0),
        np.where(x < 5.5, 0.5, np.where(x < 6.5, 0.7, 0.97)),
    ):
        single, double = (fit(x, share, dtype) for dtype in ("float32", "float64"))
        assert single.threshold.dtype == jnp.float32
        assert float(single.threshold) == pytest.approx(float(double.threshold), abs=1e-3)


def test_levels_beyond_which_performance_falls_are_left_out():
    x = np.arange(12.0)
    share = probability(x, 0.8, 4.0, 0.05)
    falls = np.where(x > 8, 0.55, share)
    got, without = fit(x, falls), fit(x[:9], share[:9])
    assert float(got.greatest) == 8.0 and float(got.kept) == pytest.approx(9 / 12)
    assert float(got.threshold) == pytest.approx(float(without.threshold), abs=1e-9)


def test_no_trials_at_all():
    zeros = jnp.zeros(12)
    got = fit_of(zeros * jnp.nan, zeros * jnp.nan, zeros)
    assert jnp.isnan(got.threshold) and jnp.isnan(got.correct)


def test_the_inverse_takes_the_function_back():
    y, parameters = jnp.linspace(0.55, 0.85, 7), (2.0, -3.0, 0.05)
    x = inverse_psychometric_cum_gauss(y, *(jnp.full_like(y, value) for value in parameters))
    np.testing.assert_allclose(psychometric_cum_gauss(x, *parameters), y, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("y", [0.5, 0.97, 1.2, np.nan])
def test_what_the_function_never_reaches_is_nan(y):
    gradient = jax.grad(inverse_psychometric_cum_gauss, argnums=(0, 1))
    arguments = [jnp.asarray(v) for v in (y, 1.0, 0.0, 0.04)]
    assert jnp.isnan(inverse_psychometric_cum_gauss(*arguments))
    assert all(jnp.isfinite(g) for g in gradient(*arguments))
