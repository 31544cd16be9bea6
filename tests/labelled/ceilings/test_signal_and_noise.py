import numpy as np
import pytest
import xarray as xr

from bsjax import load_ceiling
from bsjax.labelled.ceilings.signal_and_noise import SignalAndNoiseRSACeiling, fit_signal_and_noise
from tests.support.single_trials import recording


def test_fits_covariances_by_neuroid():
    assembly = recording(r=4, n=600, u=5)
    found = fit_signal_and_noise(assembly)
    assert isinstance(found, xr.Dataset)
    for name in ("signal_covariance", "noise_covariance"):
        np.testing.assert_allclose(found[name], np.eye(5), atol=0.2)
        np.testing.assert_array_equal(found[name]["neuroid_id_right"], assembly["neuroid_id"])
    assert 0 <= found.attrs["shrinkage_of_noise"] <= 1
    np.testing.assert_allclose(found["ncsnr"], load_ceiling("noise_ceiling_snr")(assembly).raw["ncsnr"], atol=1e-12)


def test_ceiling_is_what_the_truth_scores():
    """The RDM of the averages compared with that of the responses without noise."""
    rng = np.random.default_rng(0)
    units, stimuli, scores, ceilings = 30, 60, [], []
    loadings = rng.normal(size=(units, 10))
    for seed in range(4):
        assembly = recording(seed, r=4, n=stimuli, u=units, snr=0.0)
        signal = np.random.default_rng(100 + seed).normal(size=(stimuli, 10)) @ loadings.T / np.sqrt(10)
        assembly = assembly + signal[[int(i[1:]) for i in assembly["stimulus_id"].values]]
        averages = assembly.groupby("stimulus_id").mean().transpose("stimulus_id", "neuroid").values
        upper = np.triu_indices(stimuli, 1)
        rdms = [np.corrcoef(x)[upper] for x in (signal, averages)]
        scores.append(np.corrcoef(rdms)[0, 1])
        ceilings.append(SignalAndNoiseRSACeiling("corr", groups=0)(assembly))
    assert np.mean([float(c) for c in ceilings]) == pytest.approx(np.mean(scores), abs=0.03)
    assert ceilings[0].error is None and ceilings[0].raw.dims == ("draw",)


def test_error_is_a_jackknife_over_stimuli():
    assembly = recording(r=3, n=30, u=12)
    score = load_ceiling("gsn_rsa_ceiling", draws=20, groups=5)(assembly)
    assert "jackknife of 5 groups" in score.error_kind and 0 < score.error < 0.2
    assert score.uncertainty.over == ("stimuli",) and score.n_units == 12
    assert float(score) == pytest.approx(float(score.raw.median()))
    again = load_ceiling("gsn_rsa_ceiling", draws=20, groups=5)(assembly)
    assert float(again) == float(score) and again.error == score.error


def test_more_trials_raise_it():
    assembly = recording(r=2, n=30, u=12)
    one, many = (float(SignalAndNoiseRSACeiling(groups=0, draws=10, trials=t)(assembly)) for t in (1, 50))
    assert one < many < 1
