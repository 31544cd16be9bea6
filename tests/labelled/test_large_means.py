"""Scores in float32 of responses whose means are large beside their variation, against those in float64."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bsjax
from bsjax.engine.precision import without_large_means
from bsjax.labelled.resampling.permutations import Permutations

SPLITS = {"crossvalidation_kwargs": {"splits": 2, "train_size": 0.75, "stratification_coord": None}}
DTYPES = ("float32", "float64")
METRICS = {
    "cka": {},
    "rdm": {"dissimilarity": "sqeuclidean", "comparison": "cosine"},
    "procrustes": {},
    "one_to_one": {},
    "linear_predictivity": SPLITS,
    "pls": {"n_components": 2, **SPLITS},
    "neuron_to_neuron": SPLITS,
}


def problem(seed, size=1e8):
    """Means up to ``size`` times as large as deviations, another one in each unit; the first unit has none."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(24, 8))
    y = x[:, :5] + rng.normal(size=(24, 5))
    means = [size ** rng.uniform(0, 1, side.shape[1]) * (np.arange(side.shape[1]) > 0) for side in (x, y)]
    return x + means[0], y - means[1]


def in_both(x, y, name, **settings):
    """Its scores in float32 and in float64, which are to be the same."""
    single, double = (float(bsjax.score_arrays(x, y, name, dtype=dtype, **settings)) for dtype in DTYPES)
    assert single == pytest.approx(double, abs=1e-3)
    return double


@pytest.mark.parametrize("name", METRICS)
def test_both_precisions_agree_however_large_the_means(name):
    for seed in range(3):
        in_both(*problem(seed), name, **METRICS[name])


@pytest.mark.parametrize("comparison", ["spearman", "corr"])
def test_both_precisions_agree_however_large_the_mean_of_a_pattern(comparison):
    for seed in range(3):
        sides = (side.T for side in problem(seed))
        sides = [side[:5] * [[1.0], [1e-3], [1.0], [1e3], [1.0]] for side in sides]
        in_both(*sides, "rdm", comparison=comparison)


def test_a_kernel_of_near_stimuli_agrees_too():
    x, y = problem(0, size=1)
    for scale in (1e-6, 1e-3, 1.0):  # of distances; all kernels of pairs are near 1
        in_both(scale * x, y, "kernel_ridge", **SPLITS)


def test_training_and_test_data_lose_the_same_means(make):
    x, y = problem(0)
    x[18:] += 0.5  # on a fixed split, a shift between the parts is a part of the data
    sides = [make(side[rows], range(24)[rows]) for side in (x, y) for rows in (slice(0, 18), slice(18, 24))]
    single, double = (bsjax.load_metric("ridge_split", dtype=dtype)(*sides).raw for dtype in DTYPES)
    np.testing.assert_allclose(single, double, atol=1e-3)


def test_bins_that_are_fitted_together_lose_the_same_mean():
    rng = np.random.default_rng(0)
    values = 1e6 * np.arange(1, 4)[:, None] + np.arange(2) + rng.normal(size=(20, 3, 2))
    (found,) = without_large_means("float32", values)
    np.testing.assert_allclose(np.ptp(values - found, axis=(0, 2)), 0.0, atol=1e-6)


def test_permutations_and_many_pairs_agree_too():
    pairs = [problem(seed) for seed in range(3)]
    many = [bsjax.score_many(pairs, "cka", dtype=dtype)["score"].values for dtype in DTYPES]
    np.testing.assert_allclose(*many, atol=1e-3)
    with Permutations.within(19):
        made = [bsjax.score_arrays(*pairs[0], "ridge", dtype=dtype, **SPLITS).provenance for dtype in DTYPES]
    assert made[0]["null_mean"] == pytest.approx(made[1]["null_mean"], abs=1e-3)


@given(st.floats(-1e12, 1e12), st.integers(-6, 6), st.booleans())
def test_deviations_keep_their_digits(mean, digits, constant):
    deviations = np.linspace(-1, 1, 9)[:, None] * (0.0 if constant else 10.0**digits)
    values = mean + deviations
    (found,) = without_large_means("float32", values)
    if constant:
        assert found is values
        return
    exact, found = (side - side[0] for side in (values, found.astype(float)))
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6 * np.abs(exact).max())


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_have_no_digits_to_lose_either(dtype):
    x, y = problem(0)
    counts = np.round(100 * (y - y.mean(axis=0))).astype(dtype) + 10**9
    found = [float(bsjax.score_arrays(x, counts, "cka", dtype=each)) for each in DTYPES]
    assert found[0] == pytest.approx(found[1], abs=1e-3)


def test_what_need_not_be_changed_is_returned_as_it_is():
    values = 1e6 + np.random.default_rng(0).normal(size=(9, 3))
    for dtype, same in (("float64", values), ("float32", values.astype("float32")), ("float32", values - 1e6)):
        assert without_large_means(dtype, same)[0] is same


@pytest.mark.parametrize("scale", [1e-30, 1e30, "columns"])
@pytest.mark.parametrize("name", ["cka", "rdm", "one_to_one"])
def test_similarities_agree_at_scales_whose_powers_leave_the_range_of_float32(name, scale):
    x, y = problem(0, size=1)
    factor = 10.0 ** np.linspace(-30, 30, 8) if scale == "columns" else scale
    if name == "one_to_one" and scale == "columns":
        factor = 10.0 ** np.linspace(-15, 15, 8)  # which it ignores of each unit
    in_both(factor * x, y, name, **METRICS[name])


def test_canonical_correlations_agree_at_any_scale_of_a_unit():
    x, y = problem(0, size=1)
    double = in_both(10.0 ** np.linspace(-8, 8, 8) * x, y, "cca")
    assert double == pytest.approx(float(bsjax.score_arrays(x, y, "cca", dtype="float64")), abs=1e-9)
