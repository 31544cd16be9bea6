"""Rows of two assemblies are matched by stimulus, in whatever order they are given."""

import numpy as np
import pytest
import xarray as xr

from bsjax import load_metric
from bsjax.labelled.align import aligned
from tests.support.responses import assembly

RNG = np.random.default_rng(0)
# Not its own inverse, so that a mapping in the wrong direction shows.
ORDER = np.roll(RNG.permutation(40), 1)


def test_rows_are_put_in_the_order_of_the_target():
    x = assembly(RNG.normal(size=(40, 3)))
    assert (ORDER[ORDER] != np.arange(40)).any()
    xr.testing.assert_identical(aligned(x[ORDER], x), x)
    xr.testing.assert_identical(aligned(x, x[ORDER]), x[ORDER])


@pytest.mark.parametrize("metric", ["ridge", "cka", "rdm"])
def test_the_order_of_a_side_changes_no_score(metric):
    x = RNG.normal(size=(40, 5))
    source, target = assembly(x), assembly(x[:, :4] + 0.1 * RNG.normal(size=(40, 4)))
    settings = {"crossvalidation_kwargs": {"stratification_coord": None}} if metric == "ridge" else {}
    made = load_metric(metric, **settings)
    assert float(made(source[ORDER], target)) == pytest.approx(float(made(source, target)), abs=1e-12)
