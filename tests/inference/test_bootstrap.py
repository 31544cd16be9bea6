import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bsjax.inference.bootstrap import bootstrap_p, expanded_interval


def normal_draws(mean, n=2000):
    return (mean + stats.norm.ppf((np.arange(n) + 0.5) / n))[:, None]


@pytest.mark.parametrize("z", [0.0, 1.0, 2.5, 4.0, 6.0, -4.0])
def test_normal_draws_have_normal_p_values_however_far_out(z):
    p = bootstrap_p(normal_draws(z), None)[0]
    np.testing.assert_allclose(p, 2 * stats.norm.sf(abs(z)), rtol=0.1)
    np.testing.assert_allclose(bootstrap_p(normal_draws(z), None, "greater"), stats.norm.sf(z), rtol=0.1)


def test_few_units_have_students_tails_and_spread():
    mean = np.sqrt(10 / 9) * stats.t.ppf(0.975, 9)  # of a t value at which p is 0.05, in units of the draws' spread
    np.testing.assert_allclose(bootstrap_p(normal_draws(mean), 9), 0.05, rtol=0.02)


@given(st.integers(0, 2**31), st.floats(-2.0, 2.0), st.sampled_from([None, 7.0, 40.0]))
def test_the_interval_leaves_zero_out_where_the_test_rejects(seed, shift, dof):
    draws = np.random.default_rng(seed).gamma(3.0, 0.3, (500, 1)) + shift
    p, (low, high) = bootstrap_p(draws, dof)[0], expanded_interval(draws, dof, 0.95)[:, 0]
    if abs(p - 0.05) > 0.02:
        assert (p < 0.05) == (low > 0 or high < 0)


@given(st.integers(0, 2**31))
def test_both_sides_are_mirror_images(seed):
    draws = np.random.default_rng(seed).normal(0.5, 1.0, (300, 2))
    np.testing.assert_allclose(bootstrap_p(draws, 9.0, "less"), bootstrap_p(-draws, 9.0, "greater"), rtol=1e-6)
    np.testing.assert_allclose(bootstrap_p(3 * draws, 9.0), bootstrap_p(draws, 9.0), rtol=1e-6)


def test_draws_that_are_all_the_same():
    np.testing.assert_allclose(bootstrap_p(np.array([[0.0, 0.2]] * 100), 9.0), [1.0, np.nan])
