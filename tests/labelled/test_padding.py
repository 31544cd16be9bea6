"""Padded features and neuroids: the same numbers, from fewer programs."""

import numpy as np
import pytest
import xarray as xr

from bsjax import load_metric
from bsjax.engine import padding
from bsjax.engine.programs.compilation import traces
from tests.support.responses import assembly

N, TRAIN = 60, 45
SPLITS = {"crossvalidation_kwargs": {"stratification_coord": None, "splits": 3}}
RNG = np.random.default_rng(0)
LATENT = RNG.normal(size=(N, 20))
METRICS = {
    "pls": {**SPLITS, "n_components": 5},
    "ridge": SPLITS,
    "ridgecv": {**SPLITS, "alphas": (0.1, 1.0, 10.0, 1e4)},
    "neuron_to_neuron": SPLITS,
    "cka": {"error": "jackknife"},
    "reverse_pls": {**SPLITS, "n_components": 5},
    "ridgecv_split": {"alphas": (0.1, 1.0, 10.0, 1e4), "alpha_per_target": True},
}


def of_width(width, units="x"):
    values = LATENT @ RNG.normal(size=(20, width)) + RNG.normal(size=(N, width))
    values[:, 1] = 7.3  # always the same
    return assembly(values, units=units)


def assert_equal(got, expected):
    assert (float(got), got.error) == pytest.approx((float(expected), expected.error), abs=1e-9)
    assert (got.n_units, got.n_undefined) == (expected.n_units, expected.n_undefined)
    assert (got.formula, got.error_kind, got.provenance) == (expected.formula, expected.error_kind, expected.provenance)
    if expected.raw is not None:
        xr.testing.assert_allclose(got.raw, expected.raw, atol=1e-9, rtol=0)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the .* penalty")
@pytest.mark.parametrize(("name", "width"), [*((name, 17) for name in METRICS), ("ridge", 200), ("cka", 200)])
def test_a_score_does_not_see_the_padding(name, width, monkeypatch):
    metric, x, y = load_metric(name, **METRICS[name]), of_width(width), of_width(19, "y")
    assemblies = (x, y)
    if name.endswith("_split"):
        assemblies = (x[:TRAIN], x[TRAIN:], y[:TRAIN], y[TRAIN:])
    got = metric(*assemblies)
    monkeypatch.setattr(padding, "_WIDEST", 0)  # nothing is padded
    assert_equal(got, metric(*assemblies))


@pytest.mark.slow
def test_layers_and_subjects_of_similar_size_share_programs():
    """Four layers by four subjects of different sizes: two buckets by two."""
    metric = load_metric("cka_biased")
    layers = [of_width(width) for width in (65, 70, 73, 80)]
    subjects = [of_width(width, "y") for width in (33, 35, 41, 44)]
    with traces() as counted:
        for layer in layers:
            for subject in subjects:
                metric(layer, subject)
    assert counted == {"cka_biased": 4}
