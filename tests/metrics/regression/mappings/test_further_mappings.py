"""Mappings beyond the reference: equal to scikit-learn's, or to their definition."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.decomposition import PCA
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import ElasticNet as ElasticNetOfSklearn
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KernelCenterer

from bsjax import metrics
from bsjax.metrics.regression.crossvalidation import cross_validate_and_report

pytestmark = pytest.mark.slow


N, TRAIN = 50, 38
FOLDS = metrics.make_folds(N, [(np.arange(TRAIN), np.arange(TRAIN, N))])
WIDTHS = [12, 70]


of_few = pytest.mark.parametrize("data", WIDTHS[:1], indirect=True)
of_many = pytest.mark.parametrize("data", WIDTHS[1:], indirect=True)


@pytest.fixture(params=WIDTHS, ids=["few features", "many features"])
def data(request):
    rng = np.random.default_rng(request.param)
    x = rng.normal(size=(N, request.param))
    return x, x[:, :4] @ rng.normal(size=(4, 5)) + 0.5 * rng.normal(size=(N, 5))


def score(mapping, x, y):
    return metrics.compiled(metrics.cross_validate, mapping=mapping)(jnp.asarray(x), jnp.asarray(y), FOLDS)[0]


def correlations(predicted, y):
    sides = [side - side.mean(axis=0) for side in (predicted, y[TRAIN:])]
    return np.sum(sides[0] * sides[1], axis=0) / np.prod([np.linalg.norm(side, axis=0) for side in sides], axis=0)


def centred(x, y):
    return x[:TRAIN] - x[:TRAIN].mean(axis=0), y[:TRAIN] - y[:TRAIN].mean(axis=0)


@pytest.mark.parametrize("ratio", [0.5, 1.0])
def test_elastic_net_is_that_of_scikit_learn(data, ratio):
    x, y = data
    peer = ElasticNetOfSklearn(alpha=0.1, l1_ratio=ratio, tol=1e-12, max_iter=100_000).fit(x[:TRAIN], y[:TRAIN])
    mapping = metrics.ElasticNet(0.1, ratio)
    prepared = mapping.prepare(jnp.asarray(x), jnp.asarray(y))
    held_out = jnp.arange(TRAIN, N)[None]
    weights = mapping.fit(prepared, held_out, jnp.ones_like(held_out, bool)).weights[0]
    np.testing.assert_allclose(weights, peer.coef_.T, atol=1e-7)
    assert (np.asarray(weights == 0.0) == (peer.coef_.T == 0.0)).all() and (weights == 0.0).any()


def test_weights_that_are_not_negative_are_those_of_scipy_at_any_scale_of_the_features():
    mapping = metrics.ElasticNet(0.0, 0.0, positive=True)
    predict = jax.jit(mapping.predict_split)
    for seed in range(50):
        rng = np.random.default_rng(seed)
        units = rng.normal(size=(N, 4)) @ rng.normal(size=(4, 10)) + rng.normal(size=(N, 10))
        y = units @ np.maximum(rng.normal(size=(10, 2)), 0) + rng.normal(size=(N, 2))
        x = units * 10.0 ** rng.uniform(-6, 6, size=10)
        found, report = predict(x[:TRAIN], y[:TRAIN], x[TRAIN:])
        of_units, of_y = units - units[:TRAIN].mean(axis=0), y[:TRAIN] - y[:TRAIN].mean(axis=0)
        weights = np.stack([nnls(of_units[:TRAIN], target)[0] for target in of_y.T], axis=1)
        np.testing.assert_allclose(found, of_units[TRAIN:] @ weights, atol=1e-6)
        assert report["steps"] < 5000


@of_few
def test_weights_that_have_not_converged_are_told(data):
    mapping = metrics.ElasticNet(0.01, 0.5, most_steps=3)
    _, report = cross_validate_and_report(*map(jnp.asarray, data), FOLDS, mapping=mapping)
    assert "3 steps" in mapping.traits.warnings({"steps": np.asarray(report["steps"])})[0]


def test_principal_component_regression_is_that_of_scikit_learn(data):
    x, y = data
    peer = make_pipeline(PCA(7, svd_solver="full"), LinearRegression()).fit(x[:TRAIN], y[:TRAIN])
    np.testing.assert_allclose(
        score(metrics.PrincipalComponents(7), x, y), correlations(peer.predict(x[TRAIN:]), y), atol=1e-10
    )


def test_reduced_rank_by_its_definition(data):
    x, y = data
    of_x, of_y = centred(x, y)
    weights = np.linalg.solve(of_x.T @ of_x + 3.0 * np.eye(x.shape[1]), of_x.T @ of_y)
    stacked = np.vstack([of_x @ weights, np.sqrt(3.0) * weights])
    leading = np.linalg.svd(stacked, full_matrices=False)[2][:2].T
    expected = correlations(x[TRAIN:] @ weights @ leading @ leading.T, y)
    np.testing.assert_allclose(score(metrics.ReducedRank(2, 3.0), x, y), expected, atol=1e-9)
    np.testing.assert_allclose(score(metrics.ReducedRank(5, 3.0), x, y), score(metrics.Ridge(3.0), x, y), atol=1e-9)


def test_rotation_by_its_definition(data):
    x, y = data
    of_x, of_y = centred(x, y)
    left, _, right = np.linalg.svd(of_x.T @ of_y, full_matrices=False)
    np.testing.assert_allclose(score(metrics.Rotation(), x, y), correlations(x[TRAIN:] @ left @ right, y), atol=1e-10)


@pytest.mark.parametrize("kernel", ["rbf", "polynomial"])
def test_kernel_ridge_is_that_of_scikit_learn(data, kernel):
    x, y = data
    of = rbf_kernel if kernel == "rbf" else polynomial_kernel
    centring = KernelCenterer().fit(of(x[:TRAIN]))
    within, across = (centring.transform(of(x[rows], x[:TRAIN])) for rows in (slice(TRAIN), slice(TRAIN, N)))
    peer = KernelRidge(alpha=0.5, kernel="precomputed").fit(within, centred(x, y)[1])
    expected = correlations(peer.predict(across), y)
    mapping = metrics.Kernelised(metrics.Ridge(0.5), kernel)
    np.testing.assert_allclose(score(mapping, x, y), expected, atol=1e-9)
    on_split = metrics.train_test(
        *(jnp.asarray(side[rows]) for side in (x, y) for rows in (slice(TRAIN), slice(TRAIN, N))), mapping=mapping
    )
    np.testing.assert_allclose(on_split, expected, atol=1e-7)


@of_many
@pytest.mark.parametrize(
    "mapping", [metrics.Ridge(2.0), metrics.PLS(3), metrics.RidgeCV((0.1, 10.0))], ids=lambda each: type(each).__name__
)
def test_a_linear_kernel_changes_nothing(data, mapping):
    np.testing.assert_allclose(score(metrics.Kernelised(mapping, "linear"), *data), score(mapping, *data), atol=1e-8)


@of_many
def test_one_band_is_ridge_with_a_penalty_for_each_target(data):
    alphas = (0.1, 1.0, 10.0, 100.0)
    one = metrics.BandedRidge((data[0].shape[1],), alphas, candidates=1)
    np.testing.assert_allclose(score(one, *data), score(metrics.RidgeCV(alphas, True, cv=5), *data), atol=1e-10)


@of_few
def test_bands_find_the_space_that_matters(data):
    x, y = data
    mapping = metrics.BandedRidge((4, x.shape[1] - 4), (0.1, 1.0, 10.0, 100.0), candidates=30)
    found, report = metrics.compiled(cross_validate_and_report, mapping=mapping)(*map(jnp.asarray, data), FOLDS)
    assert (np.asarray(report["shares"])[0, 0] > 0.5).all()
    assert found.mean() > score(metrics.RidgeCV((0.1, 1.0, 10.0, 100.0), True, cv=5), x, y).mean()
    with pytest.raises(ValueError, match="bands"):
        score(metrics.BandedRidge((1, 2)), x, y)
