"""Weights of models of RDMs against rsatoolbox and SciPy, and their identities."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold

from bsjax import metrics

pytestmark = pytest.mark.slow


N, K = 14, 4
LEFT, RIGHT = np.triu_indices(N, 1)


def rdms():
    """RDMs of models that overlap, and one that two neighbours predict with noise; as vectors."""
    rng = np.random.default_rng(0)
    models = np.abs(rng.normal(size=(K, len(LEFT))) + rng.normal(size=len(LEFT))) + 0.1
    return models, models[1] + 0.4 * models[2] + 0.1 * models[3] + 0.3 * rng.uniform(size=len(LEFT))


def similarity(weights, models, target, method):
    a, b = np.asarray(weights) @ models, target
    if method == "corr":
        a, b = a - a.mean(), b - b.mean()
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


@pytest.mark.parametrize("method", ["corr", "cosine"])
def test_weights_are_as_good_as_those_of_rsatoolbox(method):
    model = pytest.importorskip("rsatoolbox.model")
    rdm_objects = pytest.importorskip("rsatoolbox.rdm").RDMs
    fitter = pytest.importorskip("rsatoolbox.model.fitter")
    models, target = rdms()
    np.random.seed(0)  # rsatoolbox starts its searches at random
    given, wanted = rdm_objects(models), rdm_objects(target[None])
    peers = {
        "weighted": (model.ModelWeighted("w", given), [fitter.fit_optimize_positive, fitter.fit_regress_nn], 1e-8),
        "interpolated": (model.ModelInterpolate("i", given), [fitter.fit_interpolate], 1e-8),
        "selected": (model.ModelSelect("s", given), [fitter.fit_select], 0.0),
    }
    for fit, (theirs, fits, tolerance) in peers.items():
        ours = np.asarray(metrics.rdm_weights(jnp.asarray(models), jnp.asarray(target), fit=fit, method=method))
        assert (ours >= 0).all()
        for found in fits:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theta = found(theirs, wanted, method=method)
            peer = np.eye(K)[theta] if fit == "selected" else theta
            best = similarity(peer, models, target, method)
            assert best - 1e-12 <= similarity(ours, models, target, method) <= best + tolerance + 1e-5
        if fit == "selected":
            assert ours.tolist() == peer.tolist()
    found, _ = nnls(*((models.T, target) if method == "cosine" else (centred(models).T, centred(target))))
    ours = metrics.rdm_weights(jnp.asarray(models), jnp.asarray(target), method=method)
    np.testing.assert_allclose(ours, found, atol=1e-8)


def centred(x):
    return x - x.mean(axis=-1, keepdims=True)


def test_where_all_models_disagree_the_least_bad_one_is_taken_and_nan_stays():
    models, _ = rdms()
    against = -models.sum(axis=0)
    weights = np.asarray(metrics.rdm_weights(jnp.asarray(models), jnp.asarray(against)))
    best = np.argmax([similarity(one, models, against, "corr") for one in np.eye(K)])
    assert np.flatnonzero(weights).tolist() == [best]
    models[2, 0] = np.nan
    assert np.isnan(metrics.rdm_weights(jnp.asarray(models), jnp.asarray(against))).all()
    assert np.isfinite(
        metrics.rdm_weights(jnp.asarray(models), jnp.asarray(against), where=jnp.arange(len(LEFT)) > 0)
    ).all()


@pytest.mark.parametrize("method", ["corr", "cosine"])
def test_feature_weights_are_those_of_a_regression_on_all_pairs(method):
    rng = np.random.default_rng(0)
    x, kept = rng.normal(size=(N, 6)) * [1, 9, 1, 1, 0.1, 1] + 5.0, np.arange(N) != 3
    target = np.asarray(
        metrics.rdm(jnp.asarray(x * [1, 0.2, 0, 1, 9, 1] + rng.normal(size=(N, 6))), dissimilarity="sqeuclidean")
    )
    pairs = (kept[LEFT] & kept[RIGHT]).nonzero()[0]
    design, wanted = ((x[LEFT] - x[RIGHT]) ** 2)[pairs].T, target[LEFT, RIGHT][pairs]
    if method == "corr":
        design, wanted = centred(design), centred(wanted)
    for alpha in (0.0, 0.5):
        size = np.linalg.norm(design, axis=1)
        rows = np.vstack([design.T, np.sqrt(alpha) * np.diag(size)])
        expected, _ = nnls(rows, np.r_[wanted, np.zeros(6)])
        found = metrics.feature_weights(
            jnp.asarray(x), jnp.asarray(target), where=jnp.asarray(kept), alpha=alpha, method=method
        )
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * expected.max())


def two_sides(n=30):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n, 8))
    test = np.arange(0, n, 3)
    folds = metrics.make_folds(n, [(np.setdiff1d(np.arange(n), test), test)])
    return jnp.asarray(x), jnp.asarray(x[:, :5] + rng.normal(size=(n, 5))), folds, test


def test_one_space_and_equal_weights_are_classical_rsa():
    x, y, folds, test = two_sides()
    spaces = jnp.arange(8, dtype="int32")[None]
    for fit in ("weighted", "selected", "interpolated"):
        value, _ = metrics.cross_validated_rdm_model(x, y, folds, spaces, fit=fit, method="spearman")
        np.testing.assert_allclose(value[0], metrics.rdm_similarity(x[test], y[test]), atol=1e-12)
    # Copies of one feature have equal weights.
    value, weights, _ = metrics.cross_validated_feature_reweighting(jnp.tile(x[:, :1], (1, 3)), y, folds, alpha=0.1)
    assert np.ptp(weights) < 1e-8 * weights.max()
    classical = np.corrcoef(
        metrics.rdm_pairs(metrics.rdm(x[test][:, :1], dissimilarity="sqeuclidean")),
        metrics.rdm_pairs(metrics.rdm(y[test])),
    )[0, 1]
    np.testing.assert_allclose(value[0], classical, atol=1e-10)


def test_copies_of_a_stimulus_form_no_pairs():
    x, y, folds, test = two_sides()
    more = np.r_[np.arange(30), test[:2], [1, 2]]  # copies of two tested and two training stimuli
    tested = np.isin(more, test)
    twice = metrics.make_folds(len(more), [(np.flatnonzero(~tested), np.flatnonzero(tested))])
    numbers = jnp.asarray(more, "int32")
    weights = metrics.feature_weights(x, metrics.rdm(y), where=jnp.asarray(~np.isin(np.arange(30), test)))
    pairs = metrics.cross_validated_feature_reweighting(x[more], y[more], twice, numbers)
    assert np.isfinite(pairs[0]).all() and not np.allclose(pairs[1][0], weights)
    alone = metrics.cross_validated_feature_reweighting(x, y, folds, jnp.arange(30, dtype="int32"))
    np.testing.assert_allclose(alone[1][0], weights, atol=1e-12)
    # All pairs of copies are zero in both RDMs, and would raise the similarity.
    with_copies, *_ = metrics.cross_validated_feature_reweighting(x[more], y[more], twice)
    assert with_copies[0] > pairs[0][0]


def test_the_penalty_of_nested_folds_is_that_of_the_ridge_of_scikit_learn():
    rng, n, alphas = np.random.default_rng(0), 40, (1e-3, 0.1, 1.0, 10.0)
    x = rng.normal(size=(n, 8)) * [1, 5, 1, 1, 1, 0.2, 1, 1]
    y = x * [2, 0.1, 1, 0, 0, 0, 0, 1] + 2 * rng.normal(size=(n, 8))
    test = np.sort(rng.choice(n, 12, replace=False))
    outer = np.setdiff1d(np.arange(n), test)
    target = np.asarray(metrics.rdm(jnp.asarray(y)))

    def of_pairs(rows):
        left, right = rows[np.array(np.triu_indices(len(rows), 1))]
        return (x[left] - x[right]) ** 2, target[left, right]

    def similarity_of(train, tested, alpha):
        (design, wanted), (new, measured) = of_pairs(train), of_pairs(tested)
        size = np.linalg.norm(design - design.mean(0), axis=0)
        ridge = Ridge(alpha, positive=True, tol=1e-14, max_iter=100_000).fit(design / size, 100 * wanted)
        return np.corrcoef(new / size @ ridge.coef_, measured)[0, 1]

    inner = [(outer[a], outer[b]) for a, b in KFold(4).split(outer)]
    best = alphas[np.argmax(np.mean([[similarity_of(*fold, alpha) for alpha in alphas] for fold in inner], axis=0))]
    sides, folds = (jnp.asarray(x), jnp.asarray(y)), metrics.make_folds(n, [(outer, test)])
    value, weights, chosen = metrics.cross_validated_feature_reweighting(*sides, folds, alpha=alphas, cv=4)
    np.testing.assert_allclose([chosen[0], value[0]], [best, similarity_of(outer, test, best)], rtol=2e-5)
    fixed = metrics.cross_validated_feature_reweighting(*sides, folds, alpha=best)
    np.testing.assert_allclose(value, fixed[0], rtol=1e-5)
    np.testing.assert_allclose(weights, fixed[1], atol=1e-5 * np.max(fixed[1]))
