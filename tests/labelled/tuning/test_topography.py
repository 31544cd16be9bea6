"""Topography of labelled recordings: neuroids by position, pairs within a subject, and maps of orientation."""

import numpy as np
import pytest
import xarray as xr
from scipy.spatial.distance import pdist

from bsjax import Resampling, in_draws, load_metric
from bsjax.labelled.metric import scored

RNG = np.random.default_rng(0)
DIMS = ["presentation", "neuroid"]


def sheet(units=40, stimuli=30, **coords):
    places = RNG.uniform(0, 3, (units, 2))
    values = np.exp(-((RNG.uniform(0, 3, (stimuli, 1)) - places[:, 0]) ** 2)) + 0.1 * RNG.normal(size=(stimuli, units))
    known = {"x": ("neuroid", places[:, 0]), "y": ("neuroid", places[:, 1]), **coords}
    return xr.DataArray(values, {"stimulus_id": ("presentation", np.arange(stimuli)), **known}, DIMS)


def positions(assembly):
    return np.stack([assembly["x"].values, assembly["y"].values], axis=1)


def test_pairs_are_of_one_subject():
    one, other = sheet(), sheet()
    both = xr.concat([one, other], "neuroid").assign_coords(subject=("neuroid", np.repeat(["a", "b"], 40)))
    differences = np.concatenate([pdist(side.values.T, "correlation") for side in (one, other)])
    apart = np.concatenate([pdist(positions(side)) for side in (one, other)])
    score = load_metric("tuning_smoothness")(both)
    assert float(score) == pytest.approx(np.corrcoef(differences, apart)[0, 1], abs=1e-12)
    assert (score.n_units, score.n_undefined) == (80, 0)
    everything = load_metric("tuning_smoothness", group_coord=None)(both)
    expected = np.corrcoef(pdist(both.values.T, "correlation"), pdist(positions(both)))[0, 1]
    assert float(everything) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", ["tuning_smoothness", "wiring_economy"])
def test_neuroids_without_position_or_variation_form_no_pairs(name):
    whole = sheet()
    alone = load_metric(name)(whole.isel(neuroid=slice(2, None)))
    x, values = whole["x"].values.copy(), whole.values.copy()
    x[0], values[:, 1] = np.nan, 0.1
    score = load_metric(name)(whole.copy(data=values).assign_coords(x=("neuroid", x)))
    assert float(score) == pytest.approx(float(alone), abs=1e-12) and score.n_undefined == 2


@pytest.mark.slow
def test_the_error_over_stimuli_is_that_of_leaving_each_out():
    whole, metric = sheet(), load_metric("wiring_economy")
    whole = whole.isel(presentation=RNG.permutation(30))
    with in_draws(Resampling("stimuli", draws=20)):
        score = scored(metric, whole)
    without = [float(metric(whole.isel(presentation=np.delete(np.arange(30), k)))) for k in range(30)]
    assert score.error == pytest.approx(np.sqrt(29 / 30 * np.sum((without - np.mean(without)) ** 2)), rel=1e-9)
    counts = Resampling("stimuli", draws=20).counts("stimuli", whole["stimulus_id"].values)
    drawn = [float(metric(whole.isel(presentation=np.repeat(np.arange(30), held)))) for held in counts]
    np.testing.assert_allclose(score.uncertainty.draws, drawn, atol=1e-10)
    with in_draws(Resampling("neuroids", draws=20)):
        assert scored(metric, whole.assign_coords(neuroid_id=("neuroid", np.arange(40)))).error > 0


def test_pinwheels_of_a_map_with_a_hole():
    theta, places = np.arange(0.0, 180.0, 22.5), np.arange(48.0)
    x, y = (side.ravel() for side in np.meshgrid(places, places))
    waves = [np.cos(2 * np.pi * (side + 0.5) / 16) for side in (x, y)]  # a lattice: 4 pinwheels per 16 x 16
    twice = np.deg2rad(2 * theta)[:, None]
    tuned = 3 + waves[0] * np.cos(twice) + waves[1] * np.sin(twice)
    coords = {"orientation": ("presentation", theta), "x": ("neuroid", 0.1 * x), "y": ("neuroid", 0.1 * y)}
    whole = xr.DataArray(tuned, coords, DIMS)
    density = load_metric("pinwheel_density")
    assert float(density(whole)) == pytest.approx(36 / 47**2 * 16**2, rel=0.1)
    kept = RNG.permutation(np.flatnonzero((x > 10) | (y > 10)))
    assert float(density(whole.isel(neuroid=kept))) == pytest.approx(float(density(whole)), rel=0.2)
    with pytest.raises(ValueError, match="no regular grid"):
        density(whole.assign_coords(x=("neuroid", 0.1 * x + 0.04 * RNG.uniform(size=x.size))))
    with pytest.raises(ValueError, match="share 1 places"):
        density(whole.isel(neuroid=[0, 0, 1, 48, 49]))
    assert np.isnan(float(density(whole.isel(neuroid=[0, 1, 2]))))
