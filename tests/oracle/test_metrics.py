"""The released Brain-Score's answers (brainscore-vision 2.4.2) to seeded inputs, case by case."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression

import bsjax
from bsjax import NeuroidAssembly
from tests.oracle.inputs import build

CASES = {case["id"]: case for case in json.loads((Path(__file__).parent / "metrics.json").read_text())}
REGRESSIONS = ["pls", "ridge", "linear_predictivity", "neuron_to_neuron", "reverse_pls"]
COVERED = {
    *REGRESSIONS,
    *(f"{name}_split" for name in REGRESSIONS),
    *["rdm", "rdm_cv", "cka", "cka_cv", "cka_biased", "internal_consistency"],
}
IDS = [name for name, case in CASES.items() if case["metric"] in COVERED]
PLS_IDS = [name for name in IDS if "pls" in CASES[name]["metric"]]
# The reference's least squares keeps a singular value of these two centred training sets that is zero but for rounding
# (8e-17 of the largest), and with it a random direction; scikit-learn 1.9 cuts it off, as bsjax does.
ROUNDING_IN_REFERENCE = {"linear_predictivity-wide", "linear_predictivity_split-wide"}
PARITY = 1e-6


def assemblies(case):
    return {
        name: NeuroidAssembly(part["values"], coords=part["coords"], dims=part["dims"])
        for name, part in build(case).items()
    }


def score(case, **settings):
    metric = bsjax.load_metric(case["metric"], **case["kwargs"], **settings)
    inputs = assemblies(case)
    if "assembly" in inputs:
        return metric(inputs["assembly"])
    return metric(**inputs)


def raw_of(expected):
    return np.array([[np.nan if v is None else v for v in np.atleast_1d(row)] for row in expected["raw"]], float)


# There the reference regresses in float32, where single correlations carry rounding of some 1e-5; bsjax in float64.
RAW_IN_FLOAT32 = {"ridge-float32"}


def assert_equals_reference(got, expected, raw_tolerance=PARITY):
    assert float(got) == pytest.approx(expected["score"], abs=PARITY)
    if "error" in expected:
        assert got.error == pytest.approx(expected["error"], abs=PARITY)
    if "raw" in expected:
        raw = raw_of(expected).reshape(got.raw.shape)
        np.testing.assert_allclose(got.raw.values, raw, atol=raw_tolerance, rtol=0)


@pytest.mark.parametrize("name", [i for i in IDS if i not in PLS_IDS and i not in ROUNDING_IN_REFERENCE])
def test_equals_reference(name):
    tolerance = 1e-4 if name in RAW_IN_FLOAT32 else PARITY
    assert_equals_reference(score(CASES[name]), CASES[name]["expected"], tolerance)


@pytest.mark.parametrize("name", PLS_IDS)
def test_pls_with_the_stopping_rule_of_the_reference_equals_it(name):
    assert_equals_reference(score(CASES[name], solver="nipals"), CASES[name]["expected"])


@pytest.mark.parametrize("name", [i for i in PLS_IDS if "converged_score" in CASES[i]["expected"]])
def test_pls_equals_the_converged_solution(name):
    assert float(score(CASES[name])) == pytest.approx(CASES[name]["expected"]["converged_score"], abs=PARITY)


def test_reverse_pls_equals_the_converged_solution_of_scikit_learn():
    case = CASES["reverse_pls-small"]
    inputs = build(case)
    x, y = inputs["target"]["values"], inputs["source"]["values"]
    splits = bsjax.load_metric("reverse_pls").forward.crossvalidation.of(assemblies(case)["source"])
    medians = []
    for train, test in splits:
        model = PLSRegression(25, scale=False, tol=1e-24, max_iter=100_000).fit(x[train], y[train])
        predicted = model.predict(x[test])
        medians.append(np.median([np.corrcoef(predicted[:, i], y[test][:, i])[0, 1] for i in range(y.shape[1])]))
    assert float(score(case)) == pytest.approx(np.mean(medians), abs=PARITY)


def minimum_norm(x_train, y_train, x_test):
    x_mean, y_mean = x_train.mean(0), y_train.mean(0)
    weights = np.linalg.lstsq(x_train - x_mean, y_train - y_mean, rcond=1e-10)[0]
    return (x_test - x_mean) @ weights + y_mean


def correlations(predicted, measured):
    return np.array([np.corrcoef(p, m)[0, 1] for p, m in zip(predicted.T, measured.T, strict=True)])


def test_wide_least_squares_is_the_minimum_norm_solution_cross_validated():
    case = CASES["linear_predictivity-wide"]
    got = score(case)
    parts = assemblies(case)
    x, y = parts["source"].values, parts["target"].values
    splits = bsjax.load_metric("linear_predictivity").crossvalidation.of(parts["target"])
    raw = [correlations(minimum_norm(x[train], y[train], x[test]), y[test]) for train, test in splits]
    np.testing.assert_allclose(got.raw.values, raw, atol=PARITY)
    assert float(got) == pytest.approx(case["expected"]["score"], abs=1e-4)


def test_wide_least_squares_is_the_minimum_norm_solution_on_a_fixed_split():
    case = CASES["linear_predictivity_split-wide"]
    got = score(case)
    x_train, x_test, y_train, y_test = (p["values"] for p in build(case).values())
    raw = correlations(minimum_norm(x_train, y_train, x_test), y_test)
    np.testing.assert_allclose(got.raw.values, raw, atol=PARITY)
    assert float(got) == pytest.approx(case["expected"]["score"], abs=1e-4)


@pytest.mark.parametrize("name", IDS)
def test_float32_agrees_with_float64(name):
    case = CASES[name]
    single, double = score(case, dtype="float32"), score(case)
    assert float(single) == pytest.approx(float(double), abs=1e-3)
    if double.raw is not None:
        np.testing.assert_array_equal(np.isnan(single.raw.values), np.isnan(double.raw.values))


def test_a_constant_neuroid_is_counted_and_left_out():
    got = score(CASES["ridge-constant-target"])
    assert got.n_undefined == 1
    assert np.isnan(got.raw.values[:, 0]).all()
    assert np.isfinite(got.raw.values[:, 1:]).all()
