"""Regressions by scikit-learn's estimators, beside the compiled ones."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline

from bsjax import load_metric, score_arrays
from tests.support.responses import assembly

N, TRAIN = 90, 70
RNG = np.random.default_rng(0)
LATENT = RNG.normal(size=(N, 8))


def of_width(width):
    values = LATENT @ RNG.normal(size=(8, width)) + RNG.normal(size=(N, width))
    return assembly(values, object_name=("presentation", [f"o{n % 3}" for n in range(N)]))


X, Y = of_width(20), of_width(7)


@pytest.mark.slow
@pytest.mark.parametrize("neuroids", [7, 1])
def test_ridge_of_scikit_learn_scores_as_ridge(neuroids):
    shuffled = X[RNG.permutation(N)]
    score = load_metric("regression", estimator=Ridge(2.0))(shuffled, Y[:, :neuroids])
    wanted = load_metric("ridge", alpha=2.0)(X, Y[:, :neuroids])
    np.testing.assert_allclose(score.raw, wanted.raw, atol=1e-6)
    assert (score.value, score.error) == pytest.approx((wanted.value, wanted.error), abs=1e-6)
    assert (score.error_kind, score.n_units, score.formula) == (wanted.error_kind, wanted.n_units, wanted.formula)
    assert set(score.raw.coords) == set(wanted.raw.coords)
    assert score.provenance["computed"] == "on the host, by Ridge(alpha=2.0)"
    assert score.provenance["random_state"] == wanted.provenance["random_state"]
    parts = X[:TRAIN], X[TRAIN:], Y[:TRAIN, :neuroids], Y[TRAIN:, :neuroids]
    score, wanted = load_metric("regression_split", estimator=Ridge(2.0)), load_metric("ridge_split", alpha=2.0)
    np.testing.assert_allclose(score(*parts).raw, wanted(*parts).raw, atol=1e-6)


def test_a_pipeline_is_fitted_to_the_training_stimuli_of_each_split():
    pipeline = make_pipeline(PCA(5), LinearRegression())
    score = load_metric("regression", estimator=pipeline, crossvalidation_kwargs={"splits": 3})(X, Y)
    splits = load_metric("ridge", crossvalidation_kwargs={"splits": 3}).crossvalidation.of(Y)
    for raw, (train, test) in zip(score.raw.values, splits, strict=True):
        predicted = make_pipeline(PCA(5), LinearRegression()).fit(X.values[train], Y.values[train]).predict(X[test])
        expected = [np.corrcoef(predicted[:, i], Y.values[test, i])[0, 1] for i in range(Y.shape[1])]
        np.testing.assert_allclose(raw, expected, atol=1e-9)
    assert not hasattr(pipeline[-1], "coef_")  # copies were fitted


def test_an_object_of_ones_own():
    class Doubled:
        def fit(self, x, y):
            self.columns = y.shape[1]

        def predict(self, x):
            return 2 * x[:, : self.columns]

    assert score_arrays(X.values, X.values, metric="regression", estimator=Doubled()) == pytest.approx(1.0)
