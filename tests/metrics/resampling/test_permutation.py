import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from bsjax.metrics import cka, compiled, cross_validate, make_folds, pearson, rdm_similarity
from bsjax.metrics.regression.pls import PLS
from bsjax.metrics.regression.ridge import Ridge
from bsjax.metrics.resampling import permutation
from bsjax.metrics.resampling.draws import permutations
from bsjax.metrics.resampling.permutation import (
    calibrated,
    cka_permutations,
    cross_validation_permutations,
    null_threshold,
    permutation_p_value,
    rdm_permutations,
    similarity_permutations,
)

pytestmark = pytest.mark.slow


N = 14


@pytest.fixture(scope="module")
def sides():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 20))
    y = x[:, :5] + rng.normal(size=(N, 5))
    y[1] = y[0]  # a tie
    return jnp.asarray(x), jnp.asarray(y)


@pytest.fixture(scope="module")
def orders():
    return permutations(N, 4, 0)


KERNELS = {
    **{f"rdm, {m}": (rdm_permutations, rdm_similarity, {"method": m}) for m in ("corr", "tau-a")},
    "cka, biased": (cka_permutations, cka, {"unbiased": False}),
}


@pytest.mark.parametrize("name", KERNELS)
def test_equals_single_calls(name, sides, orders):
    kernel, alone, settings = KERNELS[name]
    x, y = sides
    one, all_at_once = compiled(alone, **settings), compiled(kernel, **settings)
    expected = [one(x, y[order]) for order in orders]
    np.testing.assert_allclose(all_at_once(x, y, orders), expected, atol=1e-12)
    coarse = all_at_once(x.astype(jnp.float32), y.astype(jnp.float32), orders)
    assert coarse.dtype == jnp.float32
    np.testing.assert_allclose(coarse, expected, atol=1e-3)


@pytest.mark.parametrize("name", ["rdm, corr", "cka, biased"])
def test_gradients_are_those_of_single_calls_and_undefined_is_nan(name, sides, orders):
    kernel, alone, settings = KERNELS[name]
    x, y = sides
    got = jax.jit(jax.grad(lambda x: kernel(x, y, jnp.asarray(orders[:1]), **settings)[0]))(x)
    expected = jax.jit(jax.grad(lambda x: alone(x, y[orders[0]], **settings)))(x)
    np.testing.assert_allclose(got, expected, atol=1e-10)
    constant = jnp.ones_like(x)
    assert np.isnan(compiled(kernel, **settings)(constant, y, orders)).all()
    slope = jax.jit(jax.grad(lambda x: jnp.nansum(kernel(x, y, jnp.asarray(orders), **settings))))(constant)
    assert jnp.isfinite(slope).all()


@pytest.mark.parametrize("mapping", [Ridge(alpha=2.0), PLS(n_components=2)], ids=["ridge", "pls"])
def test_regressions_are_fitted_anew_also_in_blocks(mapping, sides, orders, monkeypatch):
    monkeypatch.setattr(permutation, "_AT_A_TIME", 15 * N)
    x, y = sides
    folds = make_folds(N, [(np.arange(0, 9), np.arange(9, N)), (np.arange(5, N), np.arange(0, 5))])
    one = compiled(cross_validate, mapping=mapping)
    expected = [one(x, y[order], folds) for order in orders]
    got = compiled(cross_validation_permutations, mapping=mapping)(x, y, folds, orders)
    np.testing.assert_allclose(got, expected, atol=1e-9)


def test_any_similarity(sides, orders):
    x, y = sides
    got = compiled(similarity_permutations, similarity=pearson)(x[:, :5], y, orders)
    np.testing.assert_allclose(got, [pearson(x[:, :5], y[order]) for order in orders], atol=1e-14)


def test_p_values_are_those_of_scipy():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 20))
    for alternative in ("greater", "less", "two-sided"):
        known = {"permutation_type": "pairings", "n_resamples": 199, "alternative": alternative, "random_state": 0}
        test = scipy.stats.permutation_test((b,), lambda b, axis: np.sum(a * b, axis=axis), vectorized=True, **known)
        drawn = map(jnp.asarray, (test.statistic, test.null_distribution))
        got = permutation_p_value(*drawn, alternative=alternative)
        np.testing.assert_allclose(got, test.pvalue, atol=1e-14)
    null = jnp.array([[jnp.nan, 0.0], [0.5, 0.1], [0.1, jnp.nan]])
    np.testing.assert_allclose(permutation_p_value(jnp.array([0.5, jnp.nan]), null), [2 / 3, jnp.nan])
    with pytest.raises(ValueError, match="got 'higher'"):
        permutation_p_value(jnp.array(0.0), jnp.zeros(3), alternative="higher")  # type: ignore[arg-type]


def test_without_a_relation_a_calibrated_score_is_above_zero_as_often_as_said():
    rng = np.random.default_rng(0)
    # Of each experiment, the score and those of 39 permutations are exchangeable.
    scores = np.tanh(rng.normal(size=(40, 4000, 6)) * [0.1, 0.2, 0.3, 0.1, 0.1, 0.1])
    value, null = jnp.asarray(scores[0]), jnp.asarray(scores[1:])
    each = compiled(calibrated)(value, null)
    best = compiled(calibrated)(value.max(axis=-1), null.max(axis=-1))
    assert best.shape == (4000,)
    for above in (each[:, 0] > 0, best > 0):
        assert abs(above.mean() - 0.05) < 3 * (0.05 * 0.95 / 4000) ** 0.5
    np.testing.assert_array_equal(each > 0, permutation_p_value(value, null) <= 0.05 + 1e-12)


def test_the_calibrated_score_of_hand():
    null = jnp.asarray(np.arange(99) / 198)[:, None]
    threshold = 94 / 198  # the 95th
    np.testing.assert_allclose(null_threshold(null), [threshold], atol=1e-15)
    got = [calibrated(jnp.array([v]), null)[0] for v in (0.1, 0.6, 1.0, jnp.nan)]
    np.testing.assert_allclose(got, [0.0, (0.6 - threshold) / (1 - threshold), 1.0, jnp.nan], atol=1e-14)
    assert calibrated(jnp.array(1.0), jnp.ones(99)) == 0.0
    assert jnp.isnan(null_threshold(jnp.full(99, jnp.nan).at[:5].set(0.1)))
    slope = jax.grad(lambda v: calibrated(v, null[:, 0]))(jnp.array(0.6))
    np.testing.assert_allclose(slope, 1 / (1 - threshold))
    with pytest.raises(ValueError, match="at least 19 permutations"):
        null_threshold(jnp.zeros(18))
