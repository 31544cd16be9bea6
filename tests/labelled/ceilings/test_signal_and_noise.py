import numpy as np
import pytest
import xarray as xr

from bsjax import load_ceiling
from bsjax.labelled.ceilings.signal_and_noise import fit_signal_and_noise
from tests.support.single_trials import recording


@pytest.mark.slow
def test_fits_covariances_by_neuroid():
    assembly = recording(r=4, n=600, u=5)
    found = fit_signal_and_noise(assembly)
    assert isinstance(found, xr.Dataset)
    for name in ("signal_covariance", "noise_covariance"):
        np.testing.assert_allclose(found[name], np.eye(5), atol=0.2)
        np.testing.assert_array_equal(found[name]["neuroid_id_right"], assembly["neuroid_id"])
    assert 0 <= found.attrs["shrinkage_of_noise"] <= 1
    np.testing.assert_allclose(found["ncsnr"], load_ceiling("noise_ceiling_snr")(assembly).raw["ncsnr"], atol=1e-12)


@pytest.mark.slow
def test_error_is_a_jackknife_over_stimuli():
    assembly = recording(r=3, n=30, u=12)
    score = load_ceiling("gsn_rsa_ceiling", draws=20, groups=5)(assembly)
    assert "jackknife of 5 groups" in score.error_kind and 0 < score.error < 0.2
    assert score.uncertainty.over == ("stimuli",) and score.n_units == 12
    assert float(score) == pytest.approx(float(score.raw.median()))
    again = load_ceiling("gsn_rsa_ceiling", draws=20, groups=5)(assembly)
    assert float(again) == float(score) and again.error == score.error
