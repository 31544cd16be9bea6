import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax.metrics import cka, compiled
from bsjax.metrics.resampling.bootstraps import cka_bootstraps, rdm_bootstraps
from bsjax.metrics.resampling.draws import bootstrap_counts
from bsjax.metrics.resampling.influence import (
    effective_number,
    grouped_influence,
    influence,
    influence_error,
    left_out_influence,
)
from bsjax.metrics.similarity.cka import cka_and_influence
from bsjax.metrics.similarity.rdms.rdm import rdm_similarity_and_influence

pytestmark = pytest.mark.slow


def correlation(a, b):
    def statistic(w):
        mean = [(w @ v / w.sum(axis=1))[:, None] for v in (a, b)]
        a0, b0 = a[None] - mean[0], b[None] - mean[1]
        return (w * a0 * b0).sum(axis=1) / jnp.sqrt((w * a0**2).sum(axis=1) * (w * b0**2).sum(axis=1))

    return statistic


def influences(statistic, weights, **settings):
    return jax.jit(lambda w: influence(statistic, w, **settings))(weights)


def related(n, p, q):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p))
    return jnp.asarray(x), jnp.asarray(x[:, :1] * rng.normal(size=q) + rng.normal(size=(n, q)))


def test_of_a_correlation_it_is_the_delta_method():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50))
    a += b
    za, zb = ((v - v.mean()) / v.std() for v in (a, b))
    r = (za * zb).mean()
    expected = (za * zb - r * (za**2 + zb**2) / 2) / 50
    got = influences(correlation(jnp.asarray(a), jnp.asarray(b)), jnp.ones((1, 50)))[0]
    np.testing.assert_allclose(got, expected, atol=1e-12)


def test_each_draw_has_the_error_of_its_own_elements():
    a, b = jnp.asarray(np.random.default_rng(1).normal(size=(2, 20)))
    counts = jnp.asarray(bootstrap_counts(20, 3, 0), float)
    got = influence_error(influences(correlation(a, b), counts), counts)
    for error, count in zip(got, counts, strict=True):
        rows = np.repeat(np.arange(20), np.asarray(count, int))
        alone = influences(correlation(a[rows], b[rows]), jnp.ones((1, 20)))
        np.testing.assert_allclose(error, jnp.sqrt(jnp.sum(alone**2)), rtol=1e-10)


BOTH = {
    "cka": (cka_and_influence, cka_bootstraps, {}),
    "cka, biased": (cka_and_influence, cka_bootstraps, {"unbiased": False}),
    **{
        f"rdm, {name}": (rdm_similarity_and_influence, rdm_bootstraps, {"method": name})
        for name in ("spearman", "corr")
    },
    "rdm of ties": (rdm_similarity_and_influence, rdm_bootstraps, {"method": "rho-a", "dissimilarity": "euclidean"}),
}


@pytest.mark.parametrize("name", BOTH)
def test_of_a_similarity_it_is_the_derivative_of_its_bootstraps(name):
    both, bootstraps, settings = BOTH[name]
    x, y = related(25, 3, 30)
    y = y.at[3].multiply(9.0)
    if name == "rdm of ties":
        x = x.round(0)
    value, got = compiled(both, **settings)(x, y)
    expected = influences(lambda w: bootstraps(x, y, w, **settings), jnp.ones((1, 25)))[0]
    np.testing.assert_allclose(got, expected, atol=1e-12)
    np.testing.assert_allclose(value, compiled(bootstraps, **settings)(x, y, jnp.ones((1, 25)))[0], atol=1e-12)


def test_what_has_no_similarity_has_no_influence():
    x, y = related(12, 4, 5)
    constant = jnp.zeros_like(y).at[:, 0].set(1.0)
    for both in (cka_and_influence, rdm_similarity_and_influence):
        value, got = compiled(both)(x, constant)
        assert jnp.isnan(value) and jnp.isnan(got).all()
    with pytest.raises(ValueError, match="no derivative with respect to weights"):
        rdm_similarity_and_influence(x, y, method="tau-a")


def test_arrays_of_values_groups_and_strata():
    rng = np.random.default_rng(2)
    x = jnp.asarray(rng.normal(size=(12, 3)))
    strata = jnp.asarray(np.repeat([0, 1, 2], 4))

    def means(w):
        return (w @ x)[:, :, None] / w.sum(axis=1)[:, None, None] * jnp.ones((1, 1, 2))

    got = influences(means, jnp.ones((2, 12)))
    assert got.shape == (2, 12, 3, 2)
    np.testing.assert_allclose(got[1, :, :, 1], (x - x.mean(axis=0, keepdims=True)) / 12, atol=1e-14)
    within = influences(lambda w: w @ x / w.sum(axis=1)[:, None], jnp.ones((1, 12)), strata=strata)
    grouped = influences(lambda w: w[:, strata] @ x / 12, jnp.ones((1, 3)))
    for found, kind in ((within, {"strata": strata}), (grouped, {"groups": strata})):
        counts = bootstrap_counts(12, 20_000, 0, **kind)
        expected = np.std(counts @ np.asarray(x) / 12, axis=0)
        np.testing.assert_allclose(jnp.sqrt(jnp.sum(found[0] ** 2, axis=0)), expected, rtol=0.03)


def test_what_is_undefined_has_no_influence_and_gradients_are_finite():
    x, y = related(8, 3, 2)
    counts = jnp.asarray([[1.0] * 8, [4.0, 4.0] + [0.0] * 6])

    def errors(x):
        return influence_error(influence(lambda w: cka_bootstraps(x, y, w), counts), counts)

    np.testing.assert_array_equal(np.isnan(jax.jit(errors)(x)), [False, True])
    slope = jax.jit(jax.grad(lambda x: jnp.nansum(errors(x))))(x)
    assert jnp.isfinite(slope).all() and (slope != 0).any()


def test_influences_of_groups_of_strata_have_the_variance_of_their_draws():
    rng = np.random.default_rng(4)
    groups = np.repeat(np.arange(20), rng.integers(1, 6, 20))
    x = rng.normal(size=20)[groups] + rng.normal(size=len(groups))
    kind = {"groups": groups, "strata": groups % 4}
    single = np.asarray(influences(lambda w: w @ x / w.sum(axis=1), jnp.ones((1, len(x))))[0])
    found, dof = grouped_influence(single, **kind)
    assert dof == 16 and len(found) == 20
    counts = bootstrap_counts(len(x), 20_000, 0, **kind)
    # Draws of n vary n / (n - 1) times less than samples, and strata have five groups.
    np.testing.assert_allclose(np.sum(found**2), 5 / 4 * np.var(counts @ x / counts.sum(axis=1)), rtol=0.1)
    np.testing.assert_allclose(np.bincount(np.arange(20) % 4, found), 0.0, atol=1e-12)  # centred within each


def test_single_groups_have_no_influence():
    found, dof = grouped_influence(np.array([1.0, -1.0]), groups=["a", "a"])
    assert dof == 0 and np.isnan(found).all()
    found, dof = grouped_influence(np.array([1.0, -1.0, 5.0]), strata=[0, 0, 1])
    assert dof == 1 and found[2] == 0 and np.isfinite(found).all()


def test_leaving_each_out_has_the_variance_of_the_jackknife():
    x, y = related(14, 4, 3)
    without = np.asarray(compiled(cka_bootstraps)(x, y, 1.0 - jnp.eye(14)))
    found, dof = grouped_influence(left_out_influence(without))
    alone = [float(compiled(cka)(jnp.delete(x, i, 0), jnp.delete(y, i, 0))) for i in range(14)]
    np.testing.assert_allclose(np.sum(found**2), 13 * np.var(alone), rtol=1e-9)
    # Of many elements it is the derivative.
    x, y = related(300, 4, 3)
    derivative = influence(lambda w: cka_bootstraps(x, y, w), jnp.ones((1, 300)))[0]
    found = left_out_influence(np.asarray(compiled(cka_bootstraps)(x, y, 1.0 - jnp.eye(300))))
    assert np.corrcoef(found, derivative)[0, 1] > 0.999 and dof == 13
    assert effective_number(found) > 25 > 3 > effective_number(np.r_[found, 100 * np.abs(found).max()])
