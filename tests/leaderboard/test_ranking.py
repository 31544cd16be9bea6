"""Bounds of ranks: what they mean, against draws of scores."""

import numpy as np
import pytest

from bsjax.leaderboard.ranking import rank_bounds
from bsjax.results.ranks import rank_intervals


def test_without_errors_ranks_are_certain_and_ties_stay_ties():
    found = rank_bounds(np.array([0.4, 0.5, 0.4]), np.full(3, np.nan), ["scored"] * 3)
    assert found.tolist() == [[2, 2, 3], [1, 1, 1], [2, 2, 3]]


def test_what_has_no_score_bounds_nobody():
    scores, states = np.array([0.5, np.nan, np.nan, 0.4]), ["scored", "failed", "missing", "scored"]
    assert rank_bounds(scores, np.full(4, 1.0), states).tolist() == [[1, 1, 2], [3, 3, 3], [0, 0, 0], [2, 1, 2]]


@pytest.mark.parametrize("n", [2, 5, 40])
def test_the_bounds_hold_the_ranks_of_true_scores_as_often_as_they_say(n):
    rng = np.random.default_rng(n)
    held = []
    for _ in range(200):
        true, errors = rng.uniform(size=n), rng.uniform(0.01, 0.1, size=n)
        bounds = rank_bounds(true + errors * rng.standard_normal(n), errors, ["scored"] * n)
        rank = np.argsort(np.argsort(-true)) + 1
        held.append(np.mean((bounds[:, 1] <= rank) & (rank <= bounds[:, 2])))
    assert np.mean(held) >= 0.95


def test_the_bounds_of_two_models_are_those_of_draws():
    for difference in (0.0, 0.1, 0.5):
        scores, errors = np.array([0.5 + difference, 0.5]), np.array([0.05, 0.05])
        drawn = rank_intervals(scores, errors)[["rank", "low", "high"]].to_numpy(int)
        assert rank_bounds(scores, errors, ["scored"] * 2).tolist() == drawn.tolist()
