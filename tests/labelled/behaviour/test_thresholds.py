import re

import numpy as np
import pytest
import xarray as xr
from scipy.stats import norm

from bsjax import BehavioralAssembly, PropertyAssembly
from bsjax.labelled.behaviour.thresholds import Threshold, ThresholdElevation

LEVELS = np.linspace(1.0, 10.0, 10)
HUMANS = [3.0, 5.0, 6.0]


def choices(midpoint=4.5, slope=0.8, trials=40, share=None, seed=0):
    """A model's probabilities for left and right; left is always correct."""
    rng = np.random.default_rng(seed)
    x = np.repeat(LEVELS, trials)
    share = 0.5 + 0.46 * norm.cdf(slope * (x - midpoint)) if share is None else np.repeat(share, trials)
    left = np.where(rng.random(len(x)) < share, 0.8, 0.3)
    coords = {"x": ("presentation", x), "image_label": ("presentation", ["left"] * len(x)), "choice": ["left", "right"]}
    return BehavioralAssembly(np.stack([left, 1 - left], axis=1), coords=coords, dims=["presentation", "choice"])


def humans(values=HUMANS, names="ABCDEFGH"):
    return PropertyAssembly(list(values), coords={"subject": ("subject", list(names[: len(values)]))}, dims=["subject"])


@pytest.fixture(scope="module")
def fitted():
    return Threshold("x", threshold_accuracy=0.75)(choices(), humans())


@pytest.mark.slow
def test_scores_the_fitted_threshold_against_each_subject(fitted):
    threshold = fitted.provenance["threshold"]
    assert threshold == pytest.approx(4.5 + norm.ppf(0.25 / 0.46) / 0.8, abs=0.5)
    expected = [max(1 - abs(t - threshold) / t, 0) for t in HUMANS]
    np.testing.assert_allclose(fitted.raw.values, expected)
    assert float(fitted) == pytest.approx(np.mean(expected)) and fitted.error == pytest.approx(np.std(expected))
    assert (fitted.n_units, fitted.n_undefined) == (3, 0)
    assert fitted.provenance["fit"].startswith("R² = 0.9") and "at 0.75 correct" in fitted.provenance["fit"]


def test_row_order_and_the_order_of_choices_do_not_matter(fitted):
    order = np.random.default_rng(0).permutation(400)
    shuffled = choices().isel(presentation=order, choice=[1, 0]).transpose("choice", "presentation")
    assert float(Threshold("x", threshold_accuracy=0.75)(shuffled, HUMANS)) == float(fitted)


def test_presentations_that_are_nan_are_left_out(fitted):
    more = choices(seed=1).isel(presentation=slice(0, 400, 40)).copy()
    more.values[::2] = np.nan
    more["x"].values[1::2] = np.nan
    both = xr.concat([more, choices()], "presentation")
    score = Threshold("x", threshold_accuracy=0.75)(both, HUMANS)
    assert float(score) == float(fitted) and score.provenance["presentations_left_out"] == 10


@pytest.mark.parametrize(
    ("share", "why"),
    [
        (np.ones(10), "the same share of correct choices at all levels"),
        (np.linspace(0.55, 0.75, 10), "0.9 correct is not reached up to 10"),
    ],
    ids=["same", "out of reach"],
)
def test_a_model_without_a_threshold_scores_0_and_says_why(share, why):
    score = Threshold("x", threshold_accuracy=0.9)(choices(share=share, trials=400), HUMANS)
    assert (float(score), score.error, score.n_undefined) == (0.0, 0.0, 3)
    assert np.isnan(score.raw.values).all() and "no threshold" in score.error_kind
    assert re.search("failed: " + why, score.provenance["fit"])


@pytest.mark.parametrize("source", [10, np.array(10.0), humans([10.0]).isel(subject=0)])
def test_takes_a_threshold_of_any_numeric_type(source):
    score = Threshold("placeholder")(source, humans([10.0, 20.0, 40.0, 20.0]))
    assert float(score) == 0.5625 and score.raw.values.tolist() == [1.0, 0.5, 0.25, 0.5]


def test_subjects_without_a_threshold_are_counted():
    score = Threshold("x")(10.0, [10.0, np.nan, 20.0, 0.0])
    assert float(score) == 0.75 and score.error == 0.25
    assert (score.n_units, score.n_undefined) == (4, 2)
    assert float(Threshold("x")(np.nan, HUMANS)) == 0.0


def test_elevation_of_numbers_and_of_assemblies():
    metric = ThresholdElevation("placeholder", "a", "b")
    assert float(metric(3, [3.0, 2.0, 1.5, 5.0])) == pytest.approx(0.525)
    baseline, condition = humans([1.0, 2.0, 3.0]), humans([3.0, 4.0, 4.5])
    moved = condition.isel(subject=[2, 0, 1])
    score = metric(3, {"baseline_assembly": baseline, "condition_assembly": moved})
    np.testing.assert_allclose(score.raw.values, [1.0, 0.5, 0.0])


@pytest.mark.slow
def test_elevation_is_the_ratio_at_the_level_of_the_baseline():
    metric = ThresholdElevation("x", "alone", "crowded")
    sources = {"alone": choices(midpoint=3.5), "crowded": choices(midpoint=5.5, slope=0.6, seed=1)}
    score = metric(sources, [1.2, 1.6])
    alone, _ = Threshold("x").fit(sources["alone"], "source")
    crowded = Threshold("x", threshold_accuracy=float(alone.level)).compute_threshold(sources["crowded"])
    assert score.provenance["threshold"] == pytest.approx(crowded / float(alone.threshold))
    assert "alone: R²" in score.provenance["fit"] and "crowded: R²" in score.provenance["fit"]


def test_elevation_without_one_of_the_thresholds_is_0():
    sources = {"alone": choices(), "crowded": choices(share=np.full(10, 0.5))}
    score = ThresholdElevation("x", "alone", "crowded")(sources, [1.2])
    assert (float(score), score.error) == (0.0, 0.0) and "crowded: failed" in score.provenance["fit"]


def test_the_ceiling_leaves_out_each_subject_once():
    thresholds = [10.0, 20.0, 40.0, 20.0]
    score = Threshold("x").ceiling(humans(thresholds))
    similar = np.maximum(1 - np.abs(np.subtract.outer(thresholds, thresholds)) / thresholds, 0)
    expected = (similar.sum(axis=1) - 1) / 3
    np.testing.assert_allclose(score.raw.values, expected)
    assert float(score) == pytest.approx(np.mean(expected)) and score.error == pytest.approx(np.std(expected))
    assert score.raw["subject"].values.tolist() == list("ABCD")


@pytest.mark.parametrize(
    ("thresholds", "value", "error"),
    [
        ([3.0, 7.0, 4.0, 5.5, 9.0, 4.2], 0.5987109187109186, 0.17134448517536255),
        ([1.0, 2.0, 2.0, 3.0, 1.0, 2.0], 0.49444444444444446, 0.08695819912499186),
    ],
)
def test_the_drawn_ceiling_is_that_of_the_reference(thresholds, value, error):
    score = Threshold("x").ceiling(humans(thresholds), left_out="drawn")
    assert float(score) == pytest.approx(value, abs=1e-12) and score.error == pytest.approx(error, abs=1e-12)


@pytest.mark.parametrize("accuracy", [0.5, 0.97, "median", None])
def test_a_level_that_no_fit_reaches_is_refused(accuracy):
    with pytest.raises(ValueError, match="threshold_accuracy must be 'inflection' or between 0.5"):
        Threshold("x", threshold_accuracy=accuracy)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda a: a.drop_vars("x"), "no coordinate 'x' on dimension 'presentation'"),
        (lambda a: a.isel(choice=[1]), r"1 image_label \(left\) that are not among its choices"),
        (lambda a: a.assign_coords(x=("presentation", ["near"] * 400)), "'x' of source must hold numbers"),
        (lambda a: "high", "got str"),
    ],
)
def test_a_source_that_cannot_be_fitted(change, message):
    with pytest.raises(ValueError, match=message):
        Threshold("x")(change(choices()), HUMANS)


def test_conditions_and_subjects_must_be_there():
    metric = ThresholdElevation("x", "alone", "crowded")
    with pytest.raises(ValueError, match="source must be a dictionary with 'alone' and 'crowded'; got alone"):
        metric({"alone": choices()}, [1.0])
    for target, message in (([[1.0, 2.0]], "got list"), ([np.nan, -1.0], "no positive threshold among 2")):
        with pytest.raises(ValueError, match=message):
            Threshold("x")(2.0, target)
    with pytest.raises(ValueError, match="needs two subjects with a positive threshold, there is 1"):
        Threshold("x").ceiling([3.0, np.nan])
