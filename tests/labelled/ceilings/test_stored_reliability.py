"""Ceilings from a reliability that is stored with each neuroid."""

import numpy as np
import pytest
import xarray as xr

from bsjax import Score
from bsjax.labelled.ceilings.stored_reliability import MedianReliability, StoredNoiseCeiling


@pytest.fixture
def neuroids():
    nc, reliability = [36.0, np.nan, 120.0, -4.0, 64.0], [0.5, 0.9, np.nan, 0.6, 0.8]
    coords = {"neuroid_id": range(5), "nc_12rep": nc, "reliability_window": reliability, "nothing": [np.nan] * 5}
    return xr.DataArray(
        np.zeros((2, 5)), dims=["presentation", "neuroid"], coords={k: ("neuroid", list(v)) for k, v in coords.items()}
    )


@pytest.mark.parametrize(("average", "value"), [("median", 0.7), ("mean", (0.6 + 1 + 0 + 0.8) / 4)])
def test_noise_ceilings_in_per_cent_become_correlations(neuroids, average, value):
    score = StoredNoiseCeiling("nc_12rep", average)(neuroids)
    assert score.value == pytest.approx(value)
    np.testing.assert_allclose(score.raw, [0.6, np.nan, 1.0, 0.0, 0.8])
    assert (score.n_units, score.n_undefined) == (5, 1)
    assert score.raw["neuroid_id"].values.tolist() == list(range(5))


def test_the_median_reliability_has_the_error_of_the_reference(neuroids):
    known = np.array([0.5, 0.9, 0.6, 0.8])
    rng = np.random.RandomState(0)  # draw after draw, as Brain-Score does
    medians = [np.median(rng.choice(known, size=4, replace=True)) for _ in range(1000)]
    score = MedianReliability()(neuroids)
    assert (score.value, score.error) == (pytest.approx(0.7), pytest.approx(np.std(medians)))
    assert Score.from_dict(score.to_dict()) == score
