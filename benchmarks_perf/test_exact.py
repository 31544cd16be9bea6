"""Exact answers equal those of other implementations, converged."""

import itertools

import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression, Ridge, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks_perf import data, exact
from benchmarks_perf.exact import similarity
from benchmarks_perf.rows.table import ALPHAS


@pytest.mark.parametrize(
    ("fit", "peer"),
    [
        (exact.ridge, Ridge(alpha=1.0)),
        (exact.least_squares, LinearRegression()),
        (
            lambda x, y: exact.pls(x, y, 25),
            PLSRegression(n_components=25, scale=False, tol=1e-24, max_iter=100_000),
        ),
    ],
    ids=["ridge", "least_squares", "pls"],
)
@pytest.mark.parametrize("draw", [data.recordings, data.twice])
def test_weights_predict_what_converged_scikit_learn_does(fit, peer, draw):
    drawn = draw(200, 60, 12)
    x, y = (drawn[side].values - drawn[side].values.mean(0) for side in ("source", "target"))
    np.testing.assert_allclose(x @ fit(x, y), peer.fit(x, y).predict(x), atol=1e-8)


def correlations(a, b):
    return [np.corrcoef(a[:, i], b[:, i])[0, 1] for i in range(a.shape[1])]


@pytest.mark.slow
def test_the_penalty_of_the_smallest_error_is_that_of_scikit_learn():
    drawn = data.train_test(train=60, test=20, features=100, neuroids=5)
    x, x_test, y, y_test = (array.values for array in drawn.values())
    for_all = RidgeCV(ALPHAS).fit(x, y).predict(x_test)
    np.testing.assert_allclose(exact.ridgecv_split(drawn, ALPHAS)["raw"], correlations(for_all, y_test), atol=1e-8)
    by_folds = GridSearchCV(Ridge(), {"alpha": ALPHAS}, cv=KFold(5), scoring="neg_mean_squared_error")
    for_each = np.stack([by_folds.fit(x, y[:, i]).predict(x_test) for i in range(y.shape[1])], axis=1)
    answer = exact.alpha_per_target(drawn, ALPHAS, cv=5)
    np.testing.assert_allclose(answer["raw"], correlations(for_each, y_test), atol=1e-8)


def test_the_best_feature_of_a_neuroid_that_copies_one_is_that_feature():
    x = np.random.default_rng(0).standard_normal((30, 6))
    x -= x.mean(0)
    weights = exact.neuron_to_neuron(x, x[:, [4, 1, -1]])
    np.testing.assert_array_equal(weights, np.eye(6)[:, [4, 1, 5]])


def test_a_draw_of_every_stimulus_once_scores_as_all_do():
    drawn = data.recordings(stimuli=20, features=8, neuroids=5)
    grams = [drawn[side].values @ drawn[side].values.T for side in ("source", "target")]
    for gram in grams:
        np.fill_diagonal(gram, 0.0)
    xy, xx, yy = (similarity._hsic_of_different(grams[i], grams[j], np.ones(20)) for i, j in ((0, 1), (0, 0), (1, 1)))
    np.testing.assert_allclose(xy / np.sqrt(xx * yy), exact.cka(drawn)["score"])


def test_quadruples_of_a_draw_are_those_of_different_stimuli():
    random, n = np.random.default_rng(0), 6
    k, m = (gram + gram.T for gram in random.standard_normal((2, n, n)))
    for gram in (k, m):
        np.fill_diagonal(gram, 0.0)
    w = np.array([2.0, 1.0, 0.0, 3.0, 1.0, 1.0])
    counted = sum(
        w[i] * w[j] * w[q] * w[r] * (k[i, j] * m[i, j] + k[i, j] * m[q, r] - 2 * k[i, j] * m[i, q])
        for i, j, q, r in itertools.permutations(range(n), 4)
    )
    np.testing.assert_allclose(similarity._hsic_of_different(k, m, w), counted)
