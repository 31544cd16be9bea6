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


def subjects(seed=0, noise=1.0, ties=False):
    rng = np.random.default_rng(seed)
    rdms = rng.random(M) + noise * rng.random((S, M))
    return np.round(4 * rdms) if ties else rdms


def ceiling(rdms, where=None, method="spearman", pooling="raw"):
    kernel = compiled(rdm_noise_ceiling, method=method, pooling=pooling)
    return np.asarray(kernel(jnp.asarray(rdms), None if where is None else jnp.asarray(where)))


def by_definition(rdms, method):
    compare = compiled(compare_rdm_vectors, method=method)
    pools = np.stack([np.delete(rdms, i, axis=0).mean(axis=0) for i in range(len(rdms))]), np.tile(rdms.mean(0), (S, 1))
    return [compare(jnp.asarray(rdms), jnp.asarray(pool)) for pool in pools]


SINGLE = [name for name, comparison in COMPARISONS.items() if comparison.of_single_pairs]
each_method = pytest.mark.parametrize("method", SINGLE)


@pytest.mark.slow
@each_method
def test_equals_the_definition(method):
    """Pools of matched dissimilarities are compared with those of rsatoolbox, bounds in test_upper_bound.py."""
    rdms = subjects(ties=True)
    np.testing.assert_allclose(ceiling(rdms, None, method), by_definition(rdms, method), atol=1e-10)
    found = ceiling(rdms, None, method, "bound")[0]
    np.testing.assert_allclose(found, ceiling(rdms, None, method, "matched")[0], atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("pooling", POOLINGS)
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
@pytest.mark.parametrize(("method", "pooling"), [("spearman", "raw"), *(("corr", pooling) for pooling in POOLINGS)])
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
    tries = [
        rng.random((6, M)),
        rdms,
        rdms.mean(axis=0, keepdims=True),
        scipy.stats.rankdata(rdms, axis=1).mean(axis=0)[None],
    ]
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
