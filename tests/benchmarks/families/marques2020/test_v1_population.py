"""Which units see the gratings, and how their responses become spikes per second."""

import numpy as np
import pytest
import xarray as xr

from bsjax.benchmarks.families.marques2020.properties import shows
from bsjax.benchmarks.families.marques2020.stimuli import ORIENTATION, RECEPTIVE_FIELD, grid
from bsjax.benchmarks.families.marques2020.v1_population import affine, centres, near, population
from tests.support import v1_neurons as neurons


def shown(model):
    return shows(model, "V1", [(70, 170)])


def test_receptive_fields_are_found_within_the_resolution_of_the_grid():
    rng = np.random.default_rng(0)
    true = rng.uniform(-1.6, 1.6, (600, 2))  # more than are computed at once
    true[17] = np.nan
    y, x = grid(RECEPTIVE_FIELD)[:, :2, None].transpose(1, 0, 2)
    with np.errstate(invalid="ignore"):
        responses = np.nan_to_num(np.exp(-((y - true[:, 0]) ** 2 + (x - true[:, 1]) ** 2) / (2 * 0.3**2)))
    blank = rng.uniform(0, 0.01, 600)
    found = centres(xr.DataArray((responses + blank).astype(np.float32), dims=["presentation", "neuroid"]), blank)
    assert np.isnan(found[17]).all() and found.shape == (600, 2)
    assert np.nanmax(np.abs(found - true)) < 0.125  # half a step
    expected = np.flatnonzero(np.linalg.norm(found - 0.5, axis=1) <= 0.15)
    assert len(expected) and near(found, (0.5, 0.5)).tolist() == expected.tolist()


def test_units_that_hardly_respond_do_not_count_for_the_medians():
    peaks, blank = np.array([1.0, 2.0, 100.0, 0.9]), np.zeros(4)
    slope, _ = affine(peaks, blank)  # 5/243.1 of the greatest is 2.06
    assert slope == pytest.approx((33.8 - 0.82) / 100)
    assert affine(np.array([1.0, 2.5, 100.0]), np.zeros(3))[0] == pytest.approx((33.8 - 0.82) / 51.25)


@pytest.mark.parametrize("simple", [False, True])
def test_rates_of_a_population(simple):
    model = neurons.population(40, simple=simple, gain=0.01)
    found = population(shown(model), (0.5, 0.5), "neurons")
    assert found.n_units == 40 and found.units.tolist() == list(range(40))
    recorded = shown(model)(ORIENTATION)
    rates = found.rates(recorded)
    best = rates.values.reshape(-1, 8, 40).mean(1).max(0)
    responds = best - found.baseline > 5 / 243.1 * (best - found.baseline).max()
    assert np.median(best[responds]) == pytest.approx(33.8, rel=1e-4)
    assert np.median(found.baseline) == pytest.approx(0.82, rel=1e-4)
    assert rates.values.min() >= 0 and rates["orientation"].dims == ("presentation",)


def test_units_elsewhere_are_left_out():
    here, there = neurons.population(5), neurons.population(3, place=(-1.0, 0.5))
    show = shown(here)

    def side_by_side(identifier):
        return xr.concat([show(identifier), shown(there)(identifier)], dim="neuroid")

    found = population(side_by_side, (0.5, 0.5), "both")
    assert (found.n_units, found.units.tolist()) == (8, [0, 1, 2, 3, 4])


def test_nobody_there_and_nobody_who_responds():
    with pytest.raises(ValueError, match="its receptive field within 0"):
        population(shown(neurons.population(3, place=(-1.0, 1.0))), (0.5, 0.5), "neurons")
    silent = shown(neurons.population(3, gain=0.0))
    with pytest.raises(ValueError, match="of 3 units, 0 respond to gratings anywhere in the central 5 degrees"):
        population(silent, (0.5, 0.5), "neurons")
    deaf = shown(neurons.population(3))

    def only_flashes(identifier):
        return deaf(identifier) * (0 if identifier == ORIENTATION else 1)

    with pytest.raises(ValueError, match="none of the 3 units of model 'neurons' with a receptive field"):
        population(only_flashes, (0.5, 0.5), "neurons")
