import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from bsjax.inference.multiplicity import corrected, holm

P = arrays(float, st.integers(1, 12), elements=st.floats(0.0, 1.0))


@given(P)
def test_holm_is_the_closure_of_bonferronis_test(p):
    """The corrected p value of a test is the largest that any set of tests with it has by Bonferroni."""
    expected = [
        max(
            min(1.0, k * np.sort(p)[len(p) - k :][0]) if one >= np.sort(p)[len(p) - k :][0] else min(1.0, k * one)
            for k in range(1, len(p) + 1)
        )
        for one in p
    ]
    np.testing.assert_allclose(holm(p), expected)


@given(P)
def test_the_false_discovery_rate_is_scipys(p):
    np.testing.assert_allclose(corrected(p, "fdr"), stats.false_discovery_control(p))
    assert corrected(p, "none").tolist() == p.tolist()


def test_what_is_undefined_is_no_test():
    for correction in ("holm", "fdr"):
        found = corrected(np.array([np.nan, 0.02, np.nan, 0.03]), correction)
        np.testing.assert_allclose(found, [np.nan, {"holm": 0.04, "fdr": 0.03}[correction], np.nan, found[3]])
        assert np.isnan(corrected(np.full(2, np.nan), correction)).all()
