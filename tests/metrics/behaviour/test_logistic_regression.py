"""Multinomial logistic regression against scikit-learn."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.metrics.behaviour.logistic_regression import fit_logistic
from bsjax.metrics.behaviour.softmax_decoder import decode
from tests.support.slopes import check_slope


def wide(n=40, p=300, classes=4):
    """More features than stimuli, some of them constant, all on scales of their own."""
    rng = np.random.default_rng(0)
    labels = np.arange(n) % classes
    x = rng.normal(size=(n, p)) + rng.normal(size=(classes, p))[labels]
    x = x * np.logspace(-2, 2, p) + 10 * rng.normal(size=p)
    x[:, ::50] = 3.3
    return x, labels


def fitted_and_shown(x, labels, train, classes, c):
    params = fit_logistic(x, labels, train, classes, c)
    return decode(params, x)


def probabilities(x, labels, c=1e-3, train=None, dtype="float64"):
    train = np.ones(len(x), bool) if train is None else train
    with precision(dtype):
        run = compiled(fitted_and_shown, classes=int(labels.max()) + 1, c=c)
        found = np.asarray(run(jnp.asarray(x, dtype), jnp.asarray(labels, jnp.int32), jnp.asarray(train)))
    assert found.dtype == dtype
    return found


def sklearn_probabilities(x, labels, c=1e-3, train=slice(None), **settings):
    scaler = StandardScaler().fit(x[train])
    classifier = LogisticRegression(solver="newton-cg", C=c, **settings)
    return classifier.fit(scaler.transform(x[train]), labels[train]).predict_proba(scaler.transform(x))


@pytest.mark.slow
@pytest.mark.parametrize("data", [load_wine(return_X_y=True), wide()], ids=["wine", "wide"])
def test_probabilities_are_those_of_scikit_learn(data):
    x, labels = data
    found = probabilities(x, labels)
    np.testing.assert_allclose(found, sklearn_probabilities(x, labels), atol=1e-4)
    # And its minimum is the closer one, where that of scikit-learn is sought further.
    further = sklearn_probabilities(x, labels, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(found, further, atol=1e-7)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)


@pytest.mark.slow
def test_two_classes_have_the_probabilities_of_one_weight_vector_at_twice_c():
    x, labels = load_breast_cancer(return_X_y=True)
    further = sklearn_probabilities(x, labels, c=2e-3, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(probabilities(x, labels, c=1e-3), further, atol=1e-7)


@pytest.mark.slow
def test_folds_in_one_batch_are_fits_to_their_training_stimuli():
    x, labels = load_wine(return_X_y=True)
    folds = np.arange(len(x))[None] % 3 != np.arange(3)[:, None]
    with precision("float64"):
        batched = jax.jit(
            jax.vmap(lambda train: fitted_and_shown(jnp.asarray(x), jnp.asarray(labels, jnp.int32), train, 3, 0.01))
        )
        found = np.asarray(batched(jnp.asarray(folds)))
    for fold, of_fold in zip(folds, found, strict=True):
        alone = sklearn_probabilities(x, labels, c=0.01, train=fold, tol=1e-10, max_iter=1000)
        np.testing.assert_allclose(of_fold, alone, atol=1e-7)


def test_a_class_that_no_training_stimulus_has_gets_no_probability():
    x, labels = load_wine(return_X_y=True)
    train = labels != 1
    found = probabilities(x, labels, train=train)
    assert (found[:, 1] == 0).all()
    two = sklearn_probabilities(x, labels, c=2e-3, train=train, tol=1e-10, max_iter=1000)
    np.testing.assert_allclose(found[:, [0, 2]], two, atol=1e-7)


@pytest.mark.slow
def test_the_gradient_through_the_fit_equals_finite_differences():
    x, labels = wide(n=12, p=20, classes=3)
    x = (x - x.mean(0)) / np.where(x.std(0) > 0, x.std(0), 1)
    way = np.random.default_rng(1).normal(size=x.shape) * (x.std(0) > 0)  # what is constant stays so

    def of(moved):
        shown = fitted_and_shown(moved, jnp.asarray(labels, jnp.int32), jnp.arange(12) < 10, 3, 0.1)
        return jnp.sum(shown[:, 0] ** 2)

    with precision("float64"):
        check_slope(of, x, way=way, step=1e-4, rtol=1e-4)
