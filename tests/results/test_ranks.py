"""Ranks of models by their scores."""

import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from bsjax import Score
from bsjax.labelled.uncertainty import Uncertainty
from bsjax.results.ranks import paired_draws, rank_intervals, ranks

NAN = math.nan
NA = pd.NA
SCORES = st.lists(st.sampled_from([0.0, 0.1, 0.25, 0.2504, 0.9]) | st.floats(-1, 2) | st.just(NAN), max_size=12)


@pytest.mark.parametrize(
    ("scores", "states", "expected"),
    [
        ([], None, []),
        ([0.9, 0.5, 0.5, 0.1], None, [1, 2, 2, 4]),
        # Failures share the last place, behind the lowest score.
        ([NAN, -0.5, NAN, 0.2], None, [3, 2, 3, 1]),
        ([NAN, NAN], None, [1, 1]),
        ([0.2, NAN, NAN, 0.2], ["scored", "missing", "undefined", "scored"], [1, NA, 3, 1]),
        # Zero has no sign.
        ([0.0, -0.0, -0.1], None, [1, 1, 3]),
    ],
)
def test_ranks_by_hand(scores, states, expected):
    assert ranks(scores, states).tolist() == expected


@given(SCORES)
def test_a_rank_is_one_more_than_the_number_of_models_ahead(scores):
    n_scored = sum(not math.isnan(score) for score in scores)
    ahead = [n_scored if math.isnan(one) else sum(other > one for other in scores) for one in scores]
    assert ranks(scores).tolist() == [1 + number for number in ahead]


def test_ranks_without_errors_do_not_move():
    found = rank_intervals([0.5, 0.7, 0.5, NAN, 0.1], [0.0, NAN, 0.0, 0.2, NAN])
    assert found.values.tolist() == [[2, 2, 2], [1, 1, 1], [2, 2, 2], [5, 5, 5], [4, 4, 4]]
    assert rank_intervals([], []).values.tolist() == [] and rank_intervals([NAN], [NAN]).values.tolist() == [[1, 1, 1]]


def test_ranks_move_as_far_as_errors_allow():
    scores, errors = [0.9, 0.5, 0.49, 0.1], [0.001, 0.05, 0.05, 0.001]
    found = rank_intervals(scores, errors)
    assert found.values.tolist() == [[1, 1, 1], [2, 2, 3], [3, 2, 3], [4, 4, 4]]
    pd.testing.assert_frame_equal(rank_intervals(scores, errors, seed=0), found)
    # A model with an error moves one without.
    assert rank_intervals([0.5, 0.51], [NAN, 0.5]).values.tolist() == [[2, 1, 2], [1, 1, 2]]


@pytest.mark.parametrize("apart", [0.5, 1.5, 1.96, 3.0])
def test_the_ends_are_at_the_share_of_draws(apart):
    # One model is ahead of the other in a share of the draws that is known: Φ(difference / error).
    ahead = norm.cdf(apart)
    for level in (0.5, 0.8, 0.95, 0.999):
        found = rank_intervals([apart, 0.0], [1.0, 0.0], level, n=20_000, seed=3)
        out = (1 - level) / 2
        if abs(1 - ahead - out) > 0.005:
            assert found.iloc[0].tolist() == [1, 1, 1 if 1 - ahead < out else 2]
            assert found.iloc[1].tolist() == [2, 2 if 1 - ahead < out else 1, 2]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2) | st.just(NAN)), min_size=1, max_size=6))
def test_an_interval_holds_possible_ranks_and_grows_with_its_level(pairs):
    scores, errors = zip(*pairs, strict=True)
    narrow, wide = (rank_intervals(list(scores), list(errors), level, n=200) for level in (0.5, 0.9))
    assert (narrow["low"] >= wide["low"]).all() and (narrow["high"] <= wide["high"]).all()
    assert (wide["low"] >= 1).all() and (wide["high"] <= len(scores)).all() and (narrow["low"] <= narrow["high"]).all()
    assert narrow["rank"].tolist() == ranks(list(scores)).tolist()


def test_in_draws_models_are_ranked_together():
    rng = np.random.default_rng(0)
    scores, shared, own = np.array([0.5, 0.49, 0.3]), rng.normal(size=4000), rng.normal(size=(3, 4000))
    # The stimuli that are drawn move all models alike: by 0.1, and each besides by 0.001.
    draws = scores[:, None] + 0.1 * shared + 0.001 * own
    assert rank_intervals(scores, draws=draws).values.tolist() == [[1, 1, 1], [2, 2, 2], [3, 3, 3]]
    alone = rank_intervals(scores, draws.std(axis=1))
    assert alone[["low", "high"]].values.tolist() == [[1, 3], [1, 3], [1, 3]]
    # Independent draws are as those from within errors.
    independent = scores[:, None] + 0.05 * own
    pd.testing.assert_frame_equal(rank_intervals(scores, draws=independent), rank_intervals(scores, [0.05] * 3))


@pytest.mark.parametrize("apart", [0.5, 1.5, 3.0])
def test_a_rank_moves_as_often_as_the_difference_changes_its_sign(apart):
    rng = np.random.default_rng(1)
    together, difference = rng.normal(size=(2, 20_000))
    draws = np.stack([apart + together + difference, together])
    for level in (0.5, 0.8, 0.95):
        out = (1 - level) / 2
        if abs(norm.sf(apart) - out) > 0.01:
            found = rank_intervals([apart, 0.0], level=level, draws=draws).iloc[0].tolist()
            assert found == [1, 1, 1 if norm.sf(apart) < out else 2]


def test_draws_without_a_score_are_left_out():
    draws = [[0.5, NAN, 0.5, 0.5], [0.1, 0.9, 0.1, NAN], [NAN, NAN, NAN, NAN]]
    found = rank_intervals(pd.Series([0.5, 0.1, NAN], index=list("abc")), draws=draws)
    assert found.values.tolist() == [[1, 1, 1], [2, 2, 2], [3, 3, 3]] and found.index.tolist() == list("abc")
    assert rank_intervals([NAN], draws=[[NAN, NAN]]).values.tolist() == [[1, 1, 1]]
    for wrong, message in (
        ([[0.1, NAN], [NAN, 0.2]], "in none of 2 draws all models have a score"),
        ([0.1, 0.2], r"must be \(models, draws\) of 2 models, got the shape \(2,\)"),
        ([[0.1, 0.2]], r"of 2 models, got the shape \(1, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            rank_intervals([0.1, 0.2], draws=wrong)
    for errors, draws in ((None, None), ([0.1, 0.1], [[0.1], [0.2]])):
        with pytest.raises(ValueError, match="give errors or draws, one of them"):
            rank_intervals([0.1, 0.2], errors, draws=draws)


def drawn(seed, plan="1:ab", over=("stimuli",), value=0.5):
    values = np.random.default_rng(seed).normal(size=(3, 20) if len(over) > 1 else 20)
    draws = xr.DataArray(values, dims=["factor", "draw"] if len(over) > 1 else ["draw"])
    draws = draws.assign_coords(factor=["both", *over]) if len(over) > 1 else draws
    return Score(value, uncertainty=Uncertainty(over, 0.1, "draws", draws=draws, plan=plan))


def test_draws_of_one_plan_are_paired():
    one, other, failed = drawn(0), drawn(1), Score(NAN)
    found = paired_draws([one, failed, other])
    np.testing.assert_array_equal(found[[0, 2]], [one.uncertainty.draws, other.uncertainty.draws])
    assert np.isnan(found[1]).all() and rank_intervals([0.5, NAN, 0.4], draws=found).shape == (3, 3)
    both = drawn(0, over=("stimuli", "subjects"))
    np.testing.assert_array_equal(paired_draws([both, both])[1], both.uncertainty.draws.sel(factor="both"))
    without = Score(0.5, error=0.1)
    for scores in ([one, drawn(1, plan="1:cd")], [one, drawn(1, plan="")], [one, without], [failed], []):
        assert paired_draws(scores) is None
