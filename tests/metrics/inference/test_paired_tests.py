"""Kernels of tests: against SciPy, and rsatoolbox from the same counts and covariances."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bsjax.metrics.inference.paired_tests import bootstrap_test, difference_variances, sign_flip_test, sign_flips

ALTERNATIVES = ["two-sided", "greater", "less"]


@pytest.mark.slow
def test_shares_of_draws_are_those_of_rsatoolbox():
    rsatoolbox = pytest.importorskip("rsatoolbox.util.inference_util")
    draws = np.random.default_rng(0).normal([0.5, 0.3, -0.1, 0.2], 0.2, (200, 4))
    first, second = np.triu_indices(4, 1)
    p = np.asarray(bootstrap_test(jnp.asarray(draws[:, first] - draws[:, second])))
    # There half a draw is added to either side, and here a whole one to that of the alternative and to all.
    share = (p / 2 * 201 - 1) / 200
    np.testing.assert_allclose(rsatoolbox.bootstrap_pair_tests(draws)[first, second], 199 / 200 * 2 * share + 1 / 200)
    above = np.asarray(bootstrap_test(jnp.asarray(draws), alternative="greater"))
    np.testing.assert_allclose(rsatoolbox.zero_tests(draws, "bootstrap"), above * 201 / 200)


@pytest.mark.slow
def test_draws_at_zero_are_on_both_sides_and_undefined_ones_on_none():
    draws = jnp.asarray([[0.0, 1.0, jnp.nan], [0.0, jnp.nan, jnp.nan], [0.0, -1.0, jnp.nan]])
    np.testing.assert_allclose(bootstrap_test(draws), [1.0, 1.0, jnp.nan])
    np.testing.assert_allclose(bootstrap_test(draws, alternative="less"), [1.0, 2 / 3, jnp.nan])


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_all_flips_of_signs_are_scipys_permutations(alternative):
    differences = np.random.default_rng(1).normal(0.4, 1.0, (8, 2))
    signs, exact = sign_flips(8)
    p = sign_flip_test(jnp.asarray(differences), jnp.asarray(signs, float), exact=exact, alternative=alternative)
    found = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", alternative=alternative, axis=0, n_resamples=np.inf
    )
    # SciPy doubles the smaller side, which is the same of flips: they are symmetric.
    assert exact and len(signs) == 2**8
    np.testing.assert_allclose(p, found.pvalue, atol=1e-12)


def test_random_flips_are_near_all_of_them():
    differences = jnp.asarray(np.random.default_rng(2).normal(0.4, 1.0, (12, 3)))
    found = []
    for most, all_there in ((2000, False), (4096, True)):
        signs, exact = sign_flips(12, most)
        assert exact == all_there
        found.append(sign_flip_test(differences, jnp.asarray(signs, float), exact=exact))
    np.testing.assert_allclose(*found, atol=4 * np.sqrt(0.25 / 2000))


def test_a_difference_that_is_not_there_has_no_p_value():
    differences = jnp.asarray([[1.0, 0.0], [jnp.nan, 0.0]])
    signs = jnp.asarray(sign_flips(2)[0], float)
    np.testing.assert_allclose(sign_flip_test(differences, signs, exact=True), [jnp.nan, 1.0])


@pytest.mark.slow
def test_equal_scores_differ_by_nothing():
    draws = np.random.default_rng(4).normal(0.1, 1.0, (100, 1)) @ np.ones((1, 2))
    assert np.asarray(difference_variances(jnp.asarray(np.cov(draws, rowvar=False)))).tolist() == [[0, 0], [0, 0]]
