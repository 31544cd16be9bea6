"""Rows of two assemblies are matched by stimulus, in whatever order they are given."""

import numpy as np
import pytest
import xarray as xr

from bsjax import load_metric
from bsjax.labelled.align import aligned

IDS = [f"s{i}" for i in range(40)]
RNG = np.random.default_rng(0)
# Not its own inverse, so that a mapping in the wrong direction shows.
ORDER = np.roll(RNG.permutation(40), 1)


def responses(values):
    units = [f"n{i}" for i in range(values.shape[1])]
    coords = {"stimulus_id": ("presentation", IDS), "neuroid_id": ("neuroid", units)}
    return xr.DataArray(values, coords, ["presentation", "neuroid"])


def test_rows_are_put_in_the_order_of_the_target():
    x = responses(RNG.normal(size=(40, 3)))
    assert (ORDER[ORDER] != np.arange(40)).any()
    xr.testing.assert_identical(aligned(x[ORDER], x), x)
    xr.testing.assert_identical(aligned(x, x[ORDER]), x[ORDER])


@pytest.mark.parametrize("metric", ["ridge", "cka", "rdm"])
def test_the_order_of_a_side_changes_no_score(metric):
    x = RNG.normal(size=(40, 5))
    source, target = responses(x), responses(x[:, :4] + 0.1 * RNG.normal(size=(40, 4)))
    settings = {"crossvalidation_kwargs": {"stratification_coord": None}} if metric == "ridge" else {}
    made = load_metric(metric, **settings)
    assert float(made(source[ORDER], target)) == pytest.approx(float(made(source, target)), abs=1e-12)
