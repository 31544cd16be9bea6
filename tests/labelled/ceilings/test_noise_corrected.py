import math

import numpy as np
import pytest
import xarray as xr

from bsjax import Score, load_ceiling, load_metric
from bsjax.labelled.normalise import noise_corrected_explained_variance, normalisation_named
from tests.support.responses import assembly as labelled
from tests.support.single_trials import recording


def prediction_of(assembly):
    """The averages with something added, in another order of stimuli and neuroids."""
    averages = assembly.groupby("stimulus_id").mean().transpose("stimulus_id", "neuroid")
    rng = np.random.default_rng(0)
    values = averages.values + rng.normal(size=averages.shape)
    made = labelled(values, averages["stimulus_id"].values)
    return made[rng.permutation(60)][:, rng.permutation(20)]


def correlations(prediction, assembly):
    averages = assembly.groupby("stimulus_id").mean().transpose("stimulus_id", "neuroid")
    x = prediction.sortby("stimulus_id")
    by_name = {name: x.values[:, i] for i, name in enumerate(x["neuroid_id"].values)}
    names = assembly["neuroid_id"].values
    r = [np.corrcoef(by_name[name], averages.values[:, i])[0, 1] for i, name in enumerate(names)]
    return Score(float(np.median(r)), raw=xr.DataArray(r, {"neuroid_id": ("neuroid", names)}, ["neuroid"]))


def test_normalisation_is_the_same_estimator():
    """From correlations and reliabilities alone, where all stimuli have as many trials."""
    assembly = recording()
    prediction = prediction_of(assembly)
    ceiling = load_ceiling("noise_ceiling_snr")(assembly)
    normalise = normalisation_named("noise_corrected_explained_variance")
    score = correlations(prediction, assembly)
    got = normalise(score, ceiling)
    expected = load_metric("noise_corrected_r2")(prediction, assembly)
    np.testing.assert_allclose(got.raw, expected.raw, atol=1e-10)
    assert float(got) == pytest.approx(float(expected)) and got.error == pytest.approx(expected.error)
    assert float(expected) == pytest.approx(float(expected.raw.median())) and expected.n_units == 20
    assert expected.raw["neuroid_id"].values.tolist() == assembly["neuroid_id"].values.tolist()
    assert got.unceiled is score and got.ceiling is ceiling
    shuffled = Score(float(ceiling), raw=ceiling.raw[::-1])
    np.testing.assert_allclose(normalise(score, shuffled).raw, got.raw, atol=1e-12)


def normalised(r, c=0.8, m=11):
    neuroids = {"neuroid_id": ("neuroid", np.arange(len(r)))}
    ceiling = xr.DataArray(np.full(len(r), c), neuroids | {"n_stimuli": ("neuroid", [m] * len(r))}, ["neuroid"])
    return noise_corrected_explained_variance(
        Score(0.0, raw=xr.DataArray(r, neuroids, ["neuroid"])), Score(c, raw=ceiling)
    )


def test_a_higher_correlation_never_scores_lower():
    """What noise adds to r² is taken off both signs, without a jump where there is no correlation."""
    r = np.linspace(-0.6, 0.6, 1201)
    found = normalised(r).raw.values
    steps = np.diff(found)
    assert (steps > 0).all() and steps.max() < 0.01
    np.testing.assert_allclose(found, -found[::-1], atol=1e-12)
    np.testing.assert_array_equal(np.sign(found).round(), np.sign(r.round(12)))
    strong = r**2 > 0.04  # twice what noise adds
    np.testing.assert_allclose(found[strong], (np.sign(r) * (r**2 - 0.02) / 0.8)[strong], atol=1e-12)


def test_normalisation_of_neuroids_without_signal():
    neuroids = {"neuroid_id": ("neuroid", ["a", "b"])}
    r = Score(0.5, raw=xr.DataArray([0.5, 0.5], neuroids, ["neuroid"]))
    c = Score(0.5, raw=xr.DataArray([0.0, 1.0], neuroids | {"n_stimuli": ("neuroid", [5, 5])}, ["neuroid"]))
    got = noise_corrected_explained_variance(r, c)
    assert math.isnan(got.raw[0]) and got.n_undefined == 1 and float(got) == 0.25
    with pytest.raises(ValueError, match=r"load_ceiling\('noise_ceiling_snr'\)"):
        noise_corrected_explained_variance(r, Score(0.5, raw=c.raw.drop_vars("n_stimuli")))
