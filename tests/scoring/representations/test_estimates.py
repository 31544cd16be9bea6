"""Time and memory of comparisons, predicted from sizes."""

import numpy as np
import pytest
import xarray as xr

import bsjax
from bsjax.engine.memory_limit import DoesNotFit
from bsjax.scoring.representations.estimates import estimate_of
from tests.support.memory_held import most_held

pytestmark = pytest.mark.usefixtures("known_rates")


@pytest.mark.slow
def test_nothing_of_the_size_of_the_arrays_is_made():
    bsjax.estimate("cka", 500, 40_000, 50)
    assert most_held(lambda: bsjax.estimate("cka", 500, 40_001, 50)) < 500 * 40_000


def test_features_that_are_read_in_blocks_are_predicted_without_reading_any():
    with bsjax.memory_limit("100MB"):
        whole, twice = (bsjax.estimate("cka", 200, features, 50) for features in (200_000, 400_000))
    assert twice.memory == whole.memory < 100_000_000
    products = 200 * 200 * 200_000 / 1e9
    assert products < twice.seconds - whole.seconds < 1.5 * products


def test_the_time_is_that_of_the_operations_by_the_rates(known_rates):
    before = bsjax.estimate("cka", 300, 200, 100, error=None).seconds
    arithmetic = 2 * 300 * (200**2 + 100**2 + 200 * 100) / 1e9
    assert arithmetic / 2 < before < 2 * arithmetic
    known_rates(2e9)
    assert bsjax.estimate("cka", 300, 200, 100, error=None).seconds == pytest.approx(before / 2)


def test_the_memory_is_that_of_the_program_and_its_arguments():
    """Both sides in float64 as the program's arguments, as its copies of these, and at most twice within it."""
    found = bsjax.estimate("cka", 400, 20_000, 100, error=None)
    both = 8 * 400 * 20_100
    assert found.arrays == both / 2
    assert 2 * both <= found.memory <= 4 * both
    assert bsjax.estimate("cka", 400, 20_000, 100, error=None, dtype="float32").memory < 0.6 * found.memory


@pytest.mark.slow
@pytest.mark.parametrize(
    ("limit", "metric", "sizes", "fits"),
    [
        ("150MB", "neuron_to_neuron", (100, 60_000, 5), 'dtype="float32"'),
        ("70MB", "neuron_to_neuron", (100, 100_000, 50), "a reducer to 8,192 features"),
    ],
)
def test_what_does_not_fit_is_refused_with_what_would(limit, metric, sizes, fits):
    with bsjax.memory_limit(limit), pytest.raises(DoesNotFit, match=fits):
        bsjax.estimate(metric, *sizes)


@pytest.mark.slow
def test_a_fixed_split_that_does_not_fit_is_refused_with_how_many_neuroids_would():
    ids = {"stimulus_id": ("presentation", np.arange(100)), "neuroid_id": ("neuroid", np.arange(100_000))}
    side = xr.DataArray(np.broadcast_to(0.0, (100, 100_000)), ids, ["presentation", "neuroid"])
    with bsjax.memory_limit("70MB"), pytest.raises(DoesNotFit, match="This fits: .* neuroids at a time"):
        estimate_of(bsjax.load_metric("ridge_split"), [side, side], 20)


@pytest.mark.slow
def test_targets_that_are_fitted_in_blocks_are_predicted_with_the_memory_of_one():
    whole = bsjax.estimate("ridge", 100, 20, 100_000)
    with bsjax.memory_limit("70MB"):
        in_blocks = bsjax.estimate("ridge", 100, 20, 100_000)
    assert in_blocks.memory < 70_000_000 < whole.memory / 5
    assert 0.8 * whole.seconds < in_blocks.seconds < 2 * whole.seconds


def test_a_dry_run_leaves_no_trace_in_later_scores():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 9))
    bsjax.estimate("ridge", 60, 9, 9)
    assert float(bsjax.score_arrays(x, x, "ridge")) > 0.9
