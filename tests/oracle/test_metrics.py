"""The released Brain-Score's answers (brainscore-vision 2.4.2) to seeded inputs, case by case."""

import jax
import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression

import bsjax
from tests.oracle.cases import CASES, PLS_IDS, ROUNDING_IN_REFERENCE, assemblies, numbers, score
from tests.oracle.inputs import build

IDS = list(CASES)
PARITY = 1e-6
# There the reference regresses in float32, where single correlations carry rounding of some 1e-5; bsjax in float64.
RAW_IN_FLOAT32 = {"ridge-float32"}
# In one case of each metric, JAX looks for NaN; an undefined neuroid or threshold would stop it.
SEARCHED = {case["metric"]: name for name, case in reversed(CASES.items())}.values()
# An iterative fit.
SCORE_TOLERANCE = {"threshold-0.75": 1e-3, "threshold-inflection": 1e-3}

pytestmark = pytest.mark.filterwarnings("ignore:linear_predictivity(_split)? has")


def raw_values(got, expected):
    """One after the other, in the order of the reference."""
    raw = got.raw
    if len(expected["raw_dims"]) == raw.ndim and set(expected["raw_dims"]) == set(raw.dims):
        raw = raw.transpose(*expected["raw_dims"])
    return raw.values.ravel()


def assert_equals_reference(got, expected, tolerance=PARITY, raw_tolerance=PARITY):
    np.testing.assert_allclose(np.ravel(got.value), numbers(expected["score"]), atol=tolerance, rtol=0)
    if expected.get("error") is not None:
        np.testing.assert_allclose(np.ravel(got.error), numbers(expected["error"]), atol=tolerance, rtol=0)
    if "raw" in expected:
        known = numbers(expected["raw"])
        np.testing.assert_allclose(raw_values(got, expected), known, atol=max(tolerance, raw_tolerance), rtol=0)
    if "alpha" in expected:
        assert float(got.raw["alpha"]) == expected["alpha"]
    if "lower_bound_loo" in expected:
        lower = got.raw.sel(bound="lower").mean()
        assert float(lower) == pytest.approx(expected["lower_bound_loo"], abs=tolerance)


def test_all_cases_are_there():
    assert len(IDS) == 89


@pytest.mark.parametrize("name", [i for i in IDS if i not in PLS_IDS and i not in ROUNDING_IN_REFERENCE])
def test_equals_reference(name):
    tolerance = SCORE_TOLERANCE.get(name, PARITY)
    raw_tolerance = 1e-4 if name in RAW_IN_FLOAT32 else PARITY
    assert_equals_reference(score(CASES[name]), CASES[name]["expected"], tolerance, raw_tolerance)


def in_float32(name):
    expected = CASES[name]["expected"]
    defined = np.isfinite(numbers(expected.get("raw", expected["score"]))).all()
    with jax.debug_nans(bool(defined and name in SEARCHED)):
        return score(CASES[name], dtype="float32")


@pytest.mark.slow
@pytest.mark.parametrize("name", [i for i in IDS if i not in PLS_IDS])
def test_float32_agrees_and_nothing_stops_at_a_search_for_nan(name):
    single, expected = in_float32(name), CASES[name]["expected"]
    np.testing.assert_allclose(np.ravel(single.value), numbers(expected["score"]), atol=1e-3)
    if "raw" in expected:
        np.testing.assert_array_equal(np.isnan(raw_values(single, expected)), np.isnan(numbers(expected["raw"])))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLS_IDS)
def test_pls_converges_in_float64_and_in_float32(name):
    single, double = in_float32(name), score(CASES[name])
    if "converged_score" in CASES[name]["expected"]:
        assert float(double) == pytest.approx(CASES[name]["expected"]["converged_score"], abs=PARITY)
    np.testing.assert_allclose(np.ravel(single.value), np.ravel(double.value), atol=1e-3)
    np.testing.assert_array_equal(np.isnan(single.raw.values), np.isnan(double.raw.values))


@pytest.mark.slow
@pytest.mark.parametrize("name", PLS_IDS)
def test_pls_with_the_stopping_rule_of_the_reference_equals_it(name):
    assert_equals_reference(score(CASES[name], solver="nipals"), CASES[name]["expected"])


@pytest.mark.slow
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


@pytest.mark.parametrize("name", sorted(ROUNDING_IN_REFERENCE))
def test_wide_least_squares_is_the_minimum_norm_solution(name):
    case = CASES[name]
    got, parts = score(case), assemblies(case)
    if "target" in parts:
        x, y = parts["source"].values, parts["target"].values
        splits = bsjax.load_metric("linear_predictivity").crossvalidation.of(parts["target"])
        raw = [correlations(minimum_norm(x[train], y[train], x[test]), y[test]) for train, test in splits]
    else:
        x_train, x_test, y_train, y_test = (part.values for part in parts.values())
        raw = correlations(minimum_norm(x_train, y_train, x_test), y_test)
    np.testing.assert_allclose(got.raw.values, raw, atol=PARITY)
    assert float(got) == pytest.approx(case["expected"]["score"], abs=1e-4)


def test_a_constant_neuroid_is_counted():
    assert score(CASES["ridge-constant-target"]).n_undefined == 1
