import numpy as np
import pytest
from scipy import stats

from bsjax.inference.student import t_test
from bsjax.metrics.resampling.two_factor import crossed_dof


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_p_values_are_those_of_scipy(alternative):
    x = np.random.default_rng(1).normal(size=(12, 5))
    p = t_test(x.mean(axis=0), x.var(axis=0, ddof=1) / 12, 11, alternative)
    np.testing.assert_allclose(p, stats.ttest_1samp(x, 0, alternative=alternative).pvalue, atol=1e-12)
    normal = t_test(x.mean(axis=0), np.full(5, 1 / 12), None, alternative)
    z = x.mean(axis=0) * 12**0.5
    sides = {"two-sided": 2 * stats.norm.sf(np.abs(z)), "greater": stats.norm.sf(z), "less": stats.norm.cdf(z)}
    np.testing.assert_allclose(normal, sides[alternative], atol=1e-12)


def test_what_has_no_variance_is_nothing_or_undefined():
    np.testing.assert_allclose(t_test(np.array([0.0, 0.1, np.nan]), np.zeros(3), 9), [1, np.nan, np.nan])


def test_degrees_of_freedom_are_those_of_mean_squares():
    """A + B - E of the mean squares of a table of subjects by stimuli, by Satterthwaite's formula."""
    a, b = 7, 20
    table = np.random.default_rng(2).normal(size=(a, b)) + np.random.default_rng(3).normal(size=(a, 1))
    rows, columns, mean = table.mean(axis=1), table.mean(axis=0), table.mean()
    residual = table - rows[:, None] - columns + mean
    of_rows, of_columns = b * rows.var(ddof=1), a * columns.var(ddof=1)
    of_rest = np.sum(residual**2) / ((a - 1) * (b - 1))
    expected = (of_rows + of_columns - of_rest) ** 2 / (
        of_rows**2 / (a - 1) + of_columns**2 / (b - 1) + of_rest**2 / ((a - 1) * (b - 1))
    )
    # The variances that draws without number have.
    first, second = rows.var() / a, columns.var() / b
    both = first + second + np.mean(residual**2) / (a * b)
    found = crossed_dof(np.array(first), np.array(second), np.array(both), (a, b))
    np.testing.assert_allclose(found, max(expected, a - 1), rtol=1e-10)
