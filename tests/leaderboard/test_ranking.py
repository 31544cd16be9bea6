"""Bounds of ranks: what they mean, against draws of scores."""

import numpy as np
import pytest

from bsjax.leaderboard.ranking import rank_bounds, ranks_over_benchmarks
from bsjax.results import ranks


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
        drawn = ranks.rank_intervals(scores, errors)[["rank", "low", "high"]].to_numpy(int)
        assert rank_bounds(scores, errors, ["scored"] * 2).tolist() == drawn.tolist()


@pytest.mark.parametrize(("n", "models"), [(8, 6), (30, 20)])
def test_intervals_over_benchmarks_hold_the_ranks_of_all_benchmarks(n, models):
    rng, held = np.random.default_rng(n), []
    for _ in range(60):
        ability = rng.normal(0, 0.1, models)
        all_of_them = 0.5 + ability + rng.normal(0, 0.2, (400, 1)) + rng.normal(0, 0.1, (400, models))
        scores = all_of_them[:n]
        found = ranks_over_benchmarks(scores, np.full(scores.shape, 1 / n), scores.mean(axis=0), draws=500)
        rank = np.argsort(np.argsort(-all_of_them.mean(axis=0))) + 1
        held.append(np.mean((found[:, 0] <= rank) & (rank <= found[:, 1])))
    assert np.mean(held) > 0.9


def test_what_is_hard_for_all_moves_no_rank_and_equal_models_are_tied():
    hard = np.random.default_rng(0).uniform(size=(10, 1))
    scores = hard + np.array([[0.02, 0.0, 0.01, 0.01]])
    found = ranks_over_benchmarks(scores, np.full((10, 4), 0.1), np.array([0.9, 0.7, 0.8, 0.8]))
    assert found.tolist() == [[1, 1, 0], [4, 4, 0], [2, 2, 0], [2, 2, 1]]


def test_a_model_without_benchmarks_in_a_draw_is_last_in_it():
    scores, weights = np.array([[0.9, 0.5], [0.0, 0.5], [0.0, 0.5]]), np.array([[1.0, 1 / 3], [0, 1 / 3], [0, 1 / 3]])
    assert ranks_over_benchmarks(scores, weights, np.array([0.9, np.nan])).tolist() == [[1, 1, 0], [0, 0, 0]]
    assert ranks_over_benchmarks(scores, weights, np.array([0.9, 0.5])).tolist() == [[1, 2, 0], [1, 2, 1]]
