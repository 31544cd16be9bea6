import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from bsjax.metrics import compiled
from bsjax.metrics.ceilings.noise_ceiling import POOLINGS, rdm_noise_ceiling
from bsjax.metrics.similarity.rdms.rdm_comparison import COMPARISONS, compare_all_rdm_vectors, compare_rdm_vectors

S, M = 4, 28
POOLED = {
    "corr": lambda v: scipy.stats.zscore(v, axis=1),
    "cosine": lambda v: v / np.sqrt((v**2).mean(axis=1, keepdims=True)),
    "spearman": lambda v: scipy.stats.rankdata(v, axis=1),
    "rho-a": lambda v: scipy.stats.rankdata(v, axis=1),
    "tau-a": lambda v: scipy.stats.rankdata(v, axis=1),
}


def subjects(seed=0, s=S, m=M, noise=1.0, ties=False):
    rng = np.random.default_rng(seed)
    rdms = rng.random(m) + noise * rng.random((s, m))
    return np.round(4 * rdms) if ties else rdms


def ceiling(rdms, where=None, method="spearman", pooling="raw"):
    kernel = compiled(rdm_noise_ceiling, method=method, pooling=pooling)
    return np.asarray(kernel(jnp.asarray(rdms), None if where is None else jnp.asarray(where)))


def by_definition(rdms, method, pooling):
    values = rdms if pooling == "raw" else POOLED[method](rdms)
    bounds = np.empty((2, len(rdms)))
    for i, own in enumerate(rdms):
        pools = np.delete(values, i, axis=0).mean(axis=0), values.mean(axis=0)
        for bound, pool in zip(bounds, pools, strict=True):
            bound[i] = compare_rdm_vectors(jnp.asarray(own), jnp.asarray(pool), method=method)
    return bounds


SINGLE = [name for name, comparison in COMPARISONS.items() if comparison.of_single_pairs]
each_method = pytest.mark.parametrize("method", SINGLE)
each_pooling = pytest.mark.parametrize("pooling", POOLINGS)


@pytest.mark.slow
@each_method
@each_pooling
def test_equals_the_definition(method, pooling):
    rdms = subjects(ties=True)
    # The upper values of a bound are those of test_upper_bound.py.
    bounds = slice(1 if pooling == "bound" else 2)
    found, expected = ceiling(rdms, None, method, pooling), by_definition(rdms, method, pooling)
    np.testing.assert_allclose(found[bounds], expected[bounds], atol=1e-10)


@pytest.mark.slow
@each_pooling
def test_pairs_that_no_subject_has_are_as_if_they_were_not_there(pooling):
    rdms = subjects()
    where = np.ones(rdms.shape, bool)
    where[:, ::5] = False
    got = ceiling(np.where(where, rdms, np.nan), where, "spearman", pooling)
    np.testing.assert_allclose(got, ceiling(np.delete(rdms, np.s_[::5], axis=1), None, "spearman", pooling), atol=1e-10)


def test_a_pair_is_pooled_over_the_subjects_who_have_it():
    rdms = subjects()
    where = np.ones(rdms.shape, bool)
    where[0, :4] = where[2, 2:9] = False
    rest = np.nanmean(np.where(where, rdms, np.nan)[1:], axis=0)
    expected = scipy.stats.spearmanr(rdms[0, 4:], rest[4:]).statistic
    got = ceiling(np.where(where, rdms, 7.0), where)
    np.testing.assert_allclose(got[0, 0], expected, atol=1e-12)
    # Pairs that one subject alone has are in no pool of the others.
    alone = np.ones(rdms.shape, bool)
    alone[1:, :3] = False
    expected = scipy.stats.spearmanr(rdms[0, 3:], rdms[1:, 3:].mean(axis=0)).statistic
    np.testing.assert_allclose(ceiling(rdms, alone)[0, 0], expected, atol=1e-12)


def test_ranks_of_few_pairs_weigh_as_those_of_many():
    """A subject without the larger half of the pairs must not pull the pool down where it has them."""
    rdms = np.sort(subjects(noise=0.01), axis=1)
    where = np.ones(rdms.shape, bool)
    where[0, ::2] = False
    np.testing.assert_allclose(ceiling(rdms, where, "spearman", "matched"), 1.0, atol=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "pooling"), [*((method, "raw") for method in SINGLE), *(("corr", pooling) for pooling in POOLINGS[1:])]
)
def test_an_undefined_subject_is_nan_and_in_no_pool(method, pooling):
    rdms = subjects()
    rdms[1, 3] = np.nan
    got = ceiling(rdms, None, method, pooling)
    others = ceiling(np.delete(rdms, 1, axis=0), None, method, pooling)
    assert np.isnan(got[:, 1]).all()
    np.testing.assert_allclose(np.delete(got, 1, axis=1), others, atol=1e-10)


@given(st.integers(0, 10_000), st.sampled_from(["corr", "cosine", "spearman", "rho-a"]))
def test_matched_pooling_bounds_what_any_rdm_attains(seed, method):
    rdms = subjects(seed)
    rng = np.random.default_rng(seed)
    upper = ceiling(rdms, None, method, "matched")[1].mean()
    tries = [rng.random((6, M)), rdms, rdms.mean(axis=0, keepdims=True), POOLED["spearman"](rdms).mean(axis=0)[None]]
    candidates = jnp.asarray(np.concatenate(tries))
    attained = compiled(compare_all_rdm_vectors, method=method)(candidates, jnp.asarray(rdms)).mean(axis=1)
    # Pools of ranks have ties of their own, each of which is worth a swap of two neighbours.
    assert attained.max() <= upper + (1e-9 if method in ("corr", "cosine") else 5e-3)


def test_raw_pooling_is_no_bound():
    """Every subject has its own monotone scale: the mean of the ranks beats the mean of the dissimilarities."""
    rdms = subjects(noise=0.3)
    rdms[0] = np.exp(30 * rdms[0])
    raw, matched, bound = (ceiling(rdms, None, "spearman", pooling)[1].mean() for pooling in POOLINGS)
    assert bound >= matched > raw + 0.01


def test_the_bound_of_many_subjects_by_the_order_of_dissimilarities():
    rdms = jnp.asarray(np.random.default_rng(0).normal(size=(65, 6)))
    lower, upper = compiled(rdm_noise_ceiling, method="tau-a", pooling="bound")(rdms).mean(axis=1)
    assert lower < upper < 1
