"""Dynamical similarity of assemblies in time bins."""

import numpy as np
import pytest
import xarray as xr

from bsjax import load_metric
from bsjax.metrics import compiled, dynamical_similarity


def movie(seed=0, n=12, units=5, bins=10, width=10.0):
    rng = np.random.default_rng(seed)
    values = np.cumsum(rng.normal(size=(n, units, bins)), axis=2)
    coords = {
        "stimulus_id": ("presentation", [f"s{i}" for i in range(n)]),
        "time_bin_start": ("time_bin", np.arange(bins) * width),
    }
    return xr.DataArray(values, coords, ["presentation", "neuroid", "time_bin"])


@pytest.mark.slow
def test_rows_and_bins_are_matched_by_their_labels():
    x, y = movie(), movie(1, units=4, bins=8)
    metric = load_metric("dsa", delays=2, rank=3)
    expected = float(compiled(dynamical_similarity, delays=2, rank=3)(x.values, y.values))
    rng = np.random.default_rng(2)
    mixed = y.isel(presentation=rng.permutation(12), time_bin=rng.permutation(8)).transpose("time_bin", ...)
    score = metric(x, mixed)
    assert float(score) == pytest.approx(expected, abs=1e-5) and score.provenance.settings == {"delays": 2, "rank": 3}
    assert float(metric(x, x)) == pytest.approx(1.0, abs=1e-9)
    constant = metric(xr.full_like(x, 0.1), y)
    assert np.isnan(constant.value) and constant.n_undefined == 1


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (movie(width=20.0), "time bins must be equally far apart on both sides: those of source are by 20"),
        (movie().isel(time_bin=[0, 1, 3, 4]), "source must have two or more equally spaced time bins"),
    ],
)
def test_what_cannot_be_compared(source, message):
    with pytest.raises(ValueError, match=message):
        load_metric("dsa", delays=2, rank=3)(source, movie(1))
