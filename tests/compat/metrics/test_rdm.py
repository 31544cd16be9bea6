"""Dissimilarity matrices as assemblies."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import spearmanr

from bsjax.compat.metrics.rdm import RDM, RDMSimilarity
from tests.compat.conftest import recording

pytestmark = pytest.mark.filterwarnings("ignore:Duplicate dimension names")


def test_one_minus_the_correlation():
    assembly = recording(0, 8, 6, time_bin_start=70)
    for given in (assembly, assembly.T):
        rdm = RDM()(given)
        assert rdm.dims == ("presentation", "presentation")
        np.testing.assert_allclose(rdm.values, squareform(pdist(assembly.values, "correlation")), atol=1e-12)
        assert set(rdm.coords) == {"stimulus_id", "object_name", "time_bin_start"}
    other = assembly.rename({"neuroid": "unit"})
    np.testing.assert_array_equal(RDM(neuroid_dim="unit")(other).values, RDM()(assembly).values)


def test_the_similarity_is_that_of_upper_triangles():
    one, two = recording(0, 8, 6), recording(1, 8, 6)
    expected = spearmanr(pdist(one.values, "correlation"), pdist(two.values, "correlation")).statistic
    assert RDMSimilarity()(RDM()(one), RDM()(two)) == pytest.approx(expected, abs=1e-12)
    shuffled = two.isel(presentation=[3, 1, 7, 5, 0, 2, 6, 4])
    assert RDMSimilarity()(RDM()(one), RDM()(shuffled)) == pytest.approx(expected, abs=1e-12)
    assert RDMSimilarity()(RDM()(one), RDM()(one)) == pytest.approx(1)


def test_a_stimulus_without_variance_has_no_similarity():
    constant = recording(1, 8, 6)
    constant[{"presentation": 2}] = 3.0
    with pytest.warns(RuntimeWarning, match="invalid value"):
        rdm = RDM()(constant)
    assert np.isnan(rdm.values[2]).all() and np.isnan(RDMSimilarity()(RDM()(recording(0, 8, 6)), rdm))
