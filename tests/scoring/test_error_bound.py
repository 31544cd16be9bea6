"""``error_bound=True``: no score is further from the exact one than its bound, and who has none is told so."""

import json

import numpy as np
import pytest

import bsjax
from benchmarks_perf.calibration.bounds import CASES, KEPT, outcomes

BY_NAME = {str(case): case for case in CASES}
# 200 problems; the calibration program takes 10,000.
PROBLEMS = {"cka": 60, "rdm, correlation, spearman": 60, "ridge": 60, "linear_predictivity": 10, "elastic_net, 0.1": 10}


def data(n=24, p=8, q=4):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p))
    return x, x[:, :q] + rng.normal(size=(n, q))


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_score_is_further_off_than_its_bound(name):
    case = BY_NAME[name]
    found = [one for [one] in outcomes(case, case.shapes[1 if "r" in name else 0], range(PROBLEMS[name]), ("float32",))]
    bounded = [one for one in found if np.isfinite(one.bound)]
    assert len(bounded) > PROBLEMS[name] / 2
    assert all(one.error <= one.bound for one in bounded)
    assert np.median([one.bound for one in bounded]) < 1e-3


def test_the_kept_calibration_found_no_violation():
    kept = json.loads(KEPT.read_text())
    assert kept["problems"] >= 10_000
    assert {row["metric"] for row in kept["bounds"]} == set(BY_NAME)
    assert kept["violations"] == sum(row["violations"] for row in kept["bounds"]) == 0


def test_the_bound_is_kept_with_the_score():
    score = bsjax.score_arrays(*data(), "cka", dtype="float32", error_bound=True)
    kept = bsjax.Score.from_dict(score.to_dict())
    assert 0 < kept.attrs["error_bound"] < 1e-5
    assert kept.attrs["error_bound_probability"] == 1 - 1e-6
    assert "error_bound" not in bsjax.score_arrays(*data(), "cka", dtype="float32").provenance


@pytest.mark.parametrize(("metric", "settings"), [("cca", {}), ("rdm", {"comparison": "tau-a"})])
def test_a_metric_without_a_bound_names_those_with_one(metric, settings):
    with pytest.raises(ValueError, match="no bound of the error") as refused:
        bsjax.score_arrays(*data(), metric, error_bound=True, **settings)
    assert "ridge" in str(refused.value) and bsjax.load_metric("ridge").has_error_bound
    assert not bsjax.load_metric(metric, **settings).has_error_bound


@pytest.mark.slow
def test_a_bound_that_says_nothing_is_refused():
    """Without a penalty on squared weights, those of more features than stimuli are not unique."""
    with pytest.raises(ValueError, match="no useful bound of the error of 'lasso'"):
        bsjax.score_arrays(*data(p=30), "lasso", alpha=0.01, error_bound=True)


@pytest.mark.slow
def test_neuroids_that_the_lasso_leaves_without_weights_do_not_widen_the_bound():
    x, y = data(60)
    y[:, 1:3] = 0.1 * np.random.default_rng(5).normal(size=(60, 2))
    score = bsjax.score_arrays(x, y, "lasso", alpha=0.3, error_bound=True)
    assert score.n_undefined
    assert score.provenance["error_bound"] < 1e-6
