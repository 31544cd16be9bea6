"""Scores by chance: all permutations at once are those one by one, and p values are those of theory."""

import numpy as np
import pytest
import xarray as xr

from bsjax import Permutations, Score, load_metric
from bsjax.labelled.aggregate import mean_score
from bsjax.labelled.align import order_of
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.calibration import LEVEL, calibrate, null_of
from bsjax.labelled.similarity.rdms.subject_responses import SubjectRDMSimilarity
from bsjax.labelled.similarity.subject_similarity import SimilarityToSubjects

PLAN = Permutations(draws=4, seed=2)


def slope(source, target):
    """A metric of one number a stimulus, with nothing but a call."""
    return Score(float(np.corrcoef(source.values[:, 0], target.values[:, 0])[0, 1]))


RIDGE = {"crossvalidation_kwargs": {"splits": 3, "stratification_coord": None}}
METRICS = {
    "rdm": lambda: load_metric("rdm"),
    "ridge": lambda: load_metric("ridge", **RIDGE),
    "rdm of subjects": SubjectRDMSimilarity,
    "cka of subjects": lambda: SimilarityToSubjects(load_metric("cka")),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", METRICS)
def test_all_permutations_at_once_are_those_one_by_one(name, pair):
    metric, x = METRICS[name](), pair[0]
    y = pair[1].isel(presentation=np.random.default_rng(3).permutation(60))
    y = y.assign_coords(subject=("neuroid", list("pqpp")))
    permuted = PLAN.sample([x], [y])
    [permutation] = permuted.permutations
    at_once = metric.permuted_values(permuted, x, y)["values"]
    if metric.mapping is not None:  # splits are of what predicts, so what is predicted trades places
        orders = np.argsort(permutation.in_order(order_of(x, y)), axis=1)
        expected = [float(metric(x, y.copy(data=y.values[order]))) for order in orders]
    else:
        expected = [float(metric(permutation.of(x, draw), y)) for draw in range(PLAN.draws)]
        assert permuted.one_by_one(metric, [x, y])["values"].values.tolist() == expected
    np.testing.assert_allclose(at_once, expected, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_single_trials_are_exchanged_with_their_stimuli(pair):
    x, y = pair
    metric = load_metric("ridge", RIDGE["crossvalidation_kwargs"] | {"unique_split_values": True})
    trials = xr.concat([y, y + 1.0], "presentation")
    permuted = PLAN.sample([x], [trials])
    expected = [float(metric(permuted.permutations[0].of(x, draw), trials)) for draw in range(PLAN.draws)]
    np.testing.assert_allclose(metric.permuted_values(permuted, x, trials)["values"], expected, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_training_and_test_stimuli_trade_places_among_themselves(pair):
    metric = load_metric("ridge_split")
    x, y = pair
    sides = [side.isel(presentation=part) for side in (x, y) for part in (slice(40), slice(40, None))]
    permuted = PLAN.sample(sides[:2], sides[2:])
    at_once = metric.permuted_values(permuted, *sides)["values"]
    train, test = permuted.permutations
    expected = [float(metric(train.of(sides[0], k), test.of(sides[1], k), *sides[2:])) for k in range(PLAN.draws)]
    np.testing.assert_allclose(at_once, expected, rtol=0, atol=1e-10)


@pytest.mark.slow
def test_what_a_score_says_is_what_its_permutations_are(pair):
    with Permutations.within(Permutations(draws=39)):
        score = scored(slope, *pair)
    null = null_of(score)
    values = np.sort(null.values)
    assert score.provenance["null_draws"] == 39
    assert score.provenance["null_mean"] == pytest.approx(values.mean())
    assert score.provenance["p_value"] == (1 + (values >= float(score)).sum()) / 40
    tau = score.provenance["tau"]
    assert tau == values[37]  # which 1 of 39 exceeds, and of 40 at most 2
    assert score.provenance["calibrated"] == pytest.approx(max(0.0, (float(score) - tau) / (1 - tau)))
    again = Score.from_dict(score.to_dict())
    assert again.provenance == score.provenance
    assert null_of(again).key == null.key and (null_of(again).values == null.values).all()


def test_too_few_permutations_have_a_p_value_and_no_threshold():
    found = calibrate(0.9, xr.DataArray(np.zeros(18), dims=["draw"]), LEVEL)
    assert np.isnan([found["calibrated"], found["tau"]]).all() and found["p_value"] == 1 / 19
    assert calibrate(0.9, xr.DataArray(np.zeros(19), dims=["draw"]), LEVEL)["calibrated"] == 0.9
    with pytest.raises(ValueError, match="between 0 and 1"):
        calibrate(0.9, xr.DataArray(np.zeros(19), dims=["draw"]), 95)
    undefined = calibrate(np.nan, xr.DataArray(np.zeros(19), dims=["draw"]), LEVEL)
    assert np.isnan([undefined["p_value"], undefined["calibrated"]]).all()


def test_each_time_bin_has_its_own(pair):
    def by_bin(source, target):
        both = [float(slope(source, target)), float(slope(target, source.isel(neuroid=[1])))]
        return Score(xr.DataArray(both, {"time_bin": [0, 1]}, ["time_bin"]))

    with Permutations.within(PLAN):
        score = scored(by_bin, *pair)
    assert null_of(score).values.dims == ("draw", "time_bin")
    assert np.shape(score.provenance["p_value"]) == (2,)
    assert Score.from_dict(score.to_dict()).provenance == score.provenance


def test_a_mean_of_scores_has_the_mean_of_their_permutations(pair):
    x, y = pair
    with Permutations.within(Permutations(99)):
        parts = {name: scored(slope, x, y.isel(neuroid=[n])) for n, name in enumerate("pq")}
        without = slope(x, y)
    mean = mean_score(parts, "subject")
    nulls = [null_of(each).values for each in parts.values()]
    np.testing.assert_allclose(null_of(mean).values, (nulls[0] + nulls[1]) / 2)
    assert mean.provenance["p_value"] == (1 + (null_of(mean).values >= float(mean)).sum()) / 100
    assert null_of(mean).key == null_of(parts["p"]).key
    mixed = mean_score({**parts, "r": without}, "subject")
    assert null_of(mixed) is None and "p_value" not in mixed.provenance
