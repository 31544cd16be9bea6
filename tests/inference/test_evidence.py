import numpy as np
import pytest
from scipy import stats

from bsjax.inference.evidence import PairedDraws, PairedUnits

FIRST, SECOND = np.triu_indices(4, 1)
ZERO = np.full(4, -1)


def values(n=14, seed=0):
    return np.random.default_rng(seed).normal([0.1, 0.2, 0.5, 0.4], 0.2, (n, 4))


def test_tests_of_units_are_those_of_scipy_and_rsatoolbox():
    rsatoolbox = pytest.importorskip("rsatoolbox.util.inference_util")
    x = values()
    units = PairedUnits(x)
    pairs, value = rsatoolbox.ranksum_pair_test(x.T[None]), rsatoolbox.ranksum_value_test(x.T[None], 0.3)
    np.testing.assert_allclose(units.p("wilcoxon", FIRST, SECOND, 0.0, "two-sided"), pairs[FIRST, SECOND], atol=1e-12)
    np.testing.assert_allclose(units.p("wilcoxon", np.arange(4), ZERO, 0.3, "two-sided"), value, atol=1e-12)
    paired = stats.ttest_rel(x[:, FIRST], x[:, SECOND])
    np.testing.assert_allclose(units.p("t", FIRST, SECOND, 0.0, "two-sided"), paired.pvalue, atol=1e-12)
    low, high = units.interval("t", FIRST, SECOND, 0.9)
    expected = paired.confidence_interval(0.9)
    np.testing.assert_allclose([low, high], [expected.low, expected.high], atol=1e-12)


def test_a_model_equals_itself():
    x = values()[:, [0, 0]]
    pair = np.array([0]), np.array([1])
    for test in PairedUnits.tests:
        assert PairedUnits(x).p(test, *pair, 0.0, "two-sided") == [1.0]
    for test in ("t", "bootstrap"):
        assert PairedDraws(x[0], x[None], None, 9).p(test, *pair, 0.0, "two-sided") == [1.0]


@pytest.mark.parametrize(("passes", "sizes"), [(1, (None, None)), (3, (None, None)), (3, (15, 30))], ids=str)
def test_t_tests_of_draws_are_those_of_rsatoolbox(passes, sizes):
    rsatoolbox = pytest.importorskip("rsatoolbox.util.inference_util")
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(passes, 80, 4)) @ rng.normal(size=(4, 4)) * np.array([1.4, 1, 0.8])[:passes, None, None]
    value = rng.normal(size=4)
    covariances = np.stack([np.cov(one, rowvar=False) for one in draws])
    known = PairedDraws(value, draws, None, 14, sizes)
    given = {"n_rdm": 15} if passes == 1 else dict(zip(("n_rdm", "n_pattern"), sizes, strict=True))
    of_models, of_pairs, _ = rsatoolbox.extract_variances(
        covariances if passes == 3 else covariances[0], False, **given
    )
    if sizes == (None, None):  # else degrees of freedom are Satterthwaite's, and there those of the fewer
        pairs, zero, _ = rsatoolbox.all_tests(
            value[None], np.zeros((2, 1)), "t-test", of_models, of_pairs, np.ones((4, 2)), 14
        )
        found = known.p("t", FIRST, SECOND, 0.0, "two-sided")
        np.testing.assert_allclose(found, pairs[FIRST, SECOND], atol=1e-10)
        np.testing.assert_allclose(known.p("t", np.arange(4), ZERO, 0.0, "greater"), zero, atol=1e-10)
    variances, _ = known._variances(FIRST, SECOND)
    np.testing.assert_allclose(variances, of_pairs, atol=1e-12)


def test_influences_give_the_paired_t_test():
    x = values()
    influence = (x - x.mean(axis=0)) / np.sqrt(len(x) * (len(x) - 1))
    known = PairedDraws(x.mean(axis=0), None, influence, len(x) - 1)
    assert known.tests == ("t",)
    expected = stats.ttest_rel(x[:, FIRST], x[:, SECOND]).pvalue
    np.testing.assert_allclose(known.p("t", FIRST, SECOND, 0.0, "two-sided"), expected, atol=1e-12)
