"""Ranks of models by their scores."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from bsjax.results.ranks import rank_intervals, ranks

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


def test_the_ends_are_at_the_share_of_draws():
    # One model is ahead of the other in a share of the draws that is known: Φ(difference / error).
    for apart, level in ((0.5, 0.5), (0.5, 0.95), (1.5, 0.8), (1.5, 0.95), (3.0, 0.999)):
        ahead = norm.cdf(apart)
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
