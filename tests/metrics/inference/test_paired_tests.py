"""Kernels of tests: against SciPy, and rsatoolbox from the same counts and covariances."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from bsjax.metrics.inference.paired_tests import bootstrap_test, difference_variances, sign_flip_test, sign_flips
from bsjax.metrics.resampling.two_factor import two_factor_variance

ALTERNATIVES = ["two-sided", "greater", "less"]


@pytest.fixture(scope="module")
def rsatoolbox():
    return pytest.importorskip("rsatoolbox.util.inference_util")


@pytest.mark.slow
def test_shares_of_draws_are_those_of_rsatoolbox(rsatoolbox):
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
    (few, exact), (every, all_there) = sign_flips(12, 2000), sign_flips(12, 4096)
    assert not exact and all_there
    p = sign_flip_test(differences, jnp.asarray(few, float), exact=False)
    expected = sign_flip_test(differences, jnp.asarray(every, float), exact=True)
    np.testing.assert_allclose(p, expected, atol=4 * np.sqrt(0.25 / 2000))


def test_a_difference_that_is_not_there_has_no_p_value():
    differences = jnp.asarray([[1.0, 0.0], [jnp.nan, 0.0]])
    signs = jnp.asarray(sign_flips(2)[0], float)
    np.testing.assert_allclose(sign_flip_test(differences, signs, exact=True), [jnp.nan, 1.0])


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("sizes", [(None, None), (12, 30)], ids=["many", "few"])
def test_variances_of_pairs_are_those_of_rsatoolbox(rsatoolbox, passes, sizes):
    rng = np.random.default_rng(3)
    shared = rng.normal(size=(7, 6))
    draws = rng.normal(size=(passes, 50, 7)) @ shared * np.array([1.5, 1.0, 0.7])[:passes, None, None]
    covariances = np.stack([np.cov(one, rowvar=False) for one in draws])
    given = covariances if passes == 3 else covariances[0]
    sizes = sizes if passes == 3 else (None, None)
    of_models, of_pairs, of_ceilings = rsatoolbox.extract_variances(given, True, *sizes)
    padded = np.pad(covariances, [(0, 0), (0, 1), (0, 1)])
    found = difference_variances(jnp.asarray(padded))
    if passes == 3:
        found = two_factor_variance(*found, n_first=sizes[0], n_second=sizes[1])
    found = np.asarray(found).reshape(7, 7)
    np.testing.assert_allclose(found[:4, -1], of_models, atol=1e-12)
    np.testing.assert_allclose(found[np.triu_indices(4, 1)], of_pairs, atol=1e-12)
    np.testing.assert_allclose(found[:4, 4:6], of_ceilings, atol=1e-12)


@pytest.mark.slow
def test_equal_scores_differ_by_nothing():
    draws = np.random.default_rng(4).normal(0.1, 1.0, (100, 1)) @ np.ones((1, 2))
    assert np.asarray(difference_variances(jnp.asarray(np.cov(draws, rowvar=False)))).tolist() == [[0, 0], [0, 0]]
