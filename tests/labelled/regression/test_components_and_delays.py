"""PLS at every number of components, and features with delays, on labelled assemblies."""

import numpy as np
import pytest
import xarray as xr

from bsjax import load_metric
from bsjax.labelled import with_delays

N = 40
SPLITS = {"splits": 3, "stratification_coord": None}


@pytest.fixture
def pair():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 12))
    sides = []
    for name, values in (("u", x), ("n", x[:, :4] + rng.normal(size=(N, 4)))):
        ids = [f"{name}{i}" for i in range(values.shape[1])]
        stimuli = ("presentation", [f"s{i}" for i in range(N)])
        coords = {"stimulus_id": stimuli, "run": ("presentation", np.arange(N) // 10), "neuroid_id": ("neuroid", ids)}
        sides.append(xr.DataArray(values, coords, ["presentation", "neuroid"]))
    return sides


@pytest.mark.slow
@pytest.mark.parametrize("way", ["", "reverse_"])
def test_components_are_scored_as_by_pls_of_each_number(pair, way):
    score = load_metric(f"{way}pls_by_components", SPLITS, n_components=3)(pair[0][::-1], pair[1])
    assert score.raw.dims == ("split", "component", "neuroid")
    for k in (1, 2, 3):
        own = load_metric(f"{way}pls", SPLITS, n_components=k)(pair[0][::-1], pair[1])
        np.testing.assert_allclose(score.raw.sel(component=k), own.raw, atol=1e-9)
        assert float(score.value.sel(component=k)) == pytest.approx(own.value, abs=1e-9)


@pytest.mark.slow
def test_delays_do_not_cross_runs_and_keep_labels(pair):
    later = with_delays(pair[0], (0, 2), run="run")
    assert later.sizes == {"presentation": N, "neuroid": 24}
    assert later["neuroid_id"].values[12] == "u0 at 2" and later["delay"].values[12] == 2
    np.testing.assert_array_equal(later.values[12:20, 12:], pair[0].values[10:18])
    assert not later.values[[10, 11], 12:].any()
    assert load_metric("ridge", SPLITS)(later, pair[1]).value > 0
