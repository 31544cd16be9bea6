"""Bounds of ranks: what they mean, against draws of scores."""

import numpy as np

from bsjax.leaderboard.ranking import rank_bounds, ranks_over_benchmarks
from bsjax.results import ranks


def test_without_errors_ranks_are_certain_and_ties_stay_ties():
    found = rank_bounds(np.array([0.4, 0.5, 0.4]), np.full(3, np.nan), ["scored"] * 3)
    assert found.tolist() == [[2, 2, 3], [1, 1, 1], [2, 2, 3]]


def test_what_has_no_score_bounds_nobody():
    scores, states = np.array([0.5, np.nan, np.nan, 0.4]), ["scored", "failed", "missing", "scored"]
    assert rank_bounds(scores, np.full(4, 1.0), states).tolist() == [[1, 1, 2], [3, 3, 3], [0, 0, 0], [2, 1, 2]]


def test_the_bounds_of_two_models_are_those_of_draws():
    for difference in (0.0, 0.1, 0.5):
        scores, errors = np.array([0.5 + difference, 0.5]), np.array([0.05, 0.05])
        drawn = ranks.rank_intervals(scores, errors)[["rank", "low", "high"]].to_numpy(int)
        assert rank_bounds(scores, errors, ["scored"] * 2).tolist() == drawn.tolist()


def test_what_is_hard_for_all_moves_no_rank_and_equal_models_are_tied():
    hard = np.random.default_rng(0).uniform(size=(10, 1))
    scores = hard + np.array([[0.02, 0.0, 0.01, 0.01]])
    found = ranks_over_benchmarks(scores, np.full((10, 4), 0.1), np.array([0.9, 0.7, 0.8, 0.8]))
    assert found.tolist() == [[1, 1, 0], [4, 4, 0], [2, 2, 0], [2, 2, 1]]


def test_a_model_without_benchmarks_in_a_draw_is_last_in_it():
    scores, weights = np.array([[0.9, 0.5], [0.0, 0.5], [0.0, 0.5]]), np.array([[1.0, 1 / 3], [0, 1 / 3], [0, 1 / 3]])
    assert ranks_over_benchmarks(scores, weights, np.array([0.9, np.nan])).tolist() == [[1, 1, 0], [0, 0, 0]]
    assert ranks_over_benchmarks(scores, weights, np.array([0.9, 0.5])).tolist() == [[1, 2, 0], [1, 2, 1]]
