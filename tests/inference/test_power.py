"""How large an experiment must be: against what is known of correlations, and what must hold of any curve."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

import bsjax
from bsjax.inference.power import required_stimuli

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trials():
    """Two repetitions of 200 stimuli, with as much signal as noise, in neuroids that share nothing."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(200, 4))
    coords = {"stimulus_id": ("presentation", [*range(200)] * 2), "repetition": ("presentation", [0] * 200 + [1] * 200)}
    values = np.tile(signal, (2, 1)) + rng.normal(size=(400, 4))
    return xr.DataArray(values, coords, ["presentation", "neuroid"])


def test_the_size_is_that_which_the_spread_of_correlations_asks_for(trials):
    """Of one neuroid without noise: the difference of two dependent correlations (Olkin & Siotani 1976)."""
    settings = {"score": 0.7, "metric": "correlation", "repetitions": 10**6, "neuroids": 1, "simulations": 400}
    curve = required_stimuli(trials, 0.2, sizes=[100, 170], **settings)
    r, q, between = 0.7, 0.5, 0.35  # the models correlate by the signal alone
    covariance = between * (1 - r**2 - q**2) - r * q * (1 - r**2 - q**2 - between**2) / 2
    variance = (1 - r**2) ** 2 + (1 - q**2) ** 2 - 2 * covariance
    expected = variance * ((norm.ppf(0.975) + norm.ppf(0.8)) / 0.2) ** 2
    assert curve.required == pytest.approx(expected, rel=0.2)
    np.testing.assert_allclose(curve.table["score"], 0.7, atol=0.02)
    np.testing.assert_allclose(curve.table["other"], 0.5, atol=0.02)


def test_models_that_are_as_good_are_told_apart_as_often_as_the_test_allows(trials):
    curve = required_stimuli(trials, 0.0, score=0.5, metric="correlation", sizes=[60], simulations=2000, alpha=0.1)
    [row] = curve.table.to_dict("records")
    assert row["low"] < 0.05 < row["high"] and curve.required is None
    assert repr(curve).startswith("PowerCurve(more than 60 stimuli for a power of 0.8: 0.5 against 0.5 by correlation")


def test_more_repetitions_and_neuroids_find_a_difference_more_often(trials):
    fixed = {"score": 0.6, "metric": "correlation", "stimuli": 60, "simulations": 200}
    for over, sizes in (("repetitions", [1, 8]), ("neuroids", [1, 4])):
        curve = required_stimuli(trials, 0.15, over=over, sizes=sizes, **fixed)
        assert curve.table["power"].is_monotonic_increasing and curve.table["power"].iloc[0] < 0.7
    alike = required_stimuli(trials, 0.15, shared=0.95, sizes=[60], **fixed)
    apart = required_stimuli(trials, 0.15, sizes=[60], **fixed)
    assert alike.table["power"].item() > apart.table["power"].item()


def test_a_search_ends_at_a_size_that_is_enough(trials):
    curve = required_stimuli(trials, 0.4, score=0.9, metric="cka", simulations=30)
    at = dict(zip(curve.table["size"], curve.table["power"], strict=True))
    assert curve.required is not None and min(size for size, power in at.items() if power >= 0.8) >= curve.required
    assert "<table" in curve._repr_html_() and bsjax.required_stimuli is required_stimuli


def test_trials_without_repetitions_or_signal_are_refused(trials):
    with pytest.raises(ValueError, match="repeated|repetition"):
        required_stimuli(trials.isel(presentation=slice(200)), 0.1)
