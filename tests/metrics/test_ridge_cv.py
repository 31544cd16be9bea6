"""Ridge regression with a chosen penalty, against scikit-learn's RidgeCV."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.linear_model import RidgeCV as SklearnRidgeCV
from sklearn.model_selection import ShuffleSplit

from bsjax.metrics import ALPHAS, RidgeCV, compiled, make_folds
from bsjax.metrics.crossvalidation import cross_validate_and_report, train_test_and_report

FEW = (0.01, 1.0, 30.0, 1000.0)
TALL, WIDE = (40, 10, 4), (30, 80, 7)
# As many features as stimuli, and one fewer, where the residuals all but vanish.
SHAPES = [TALL, WIDE, (30, 30, 4), (30, 29, 4), (40, 10, 1)]


def arrays(n, p, q, noise=1.0, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p)) + 2.0
    y = x @ rng.normal(size=(p, q)) / np.sqrt(p) + noise * rng.normal(size=(n, q)) * np.arange(1, q + 1) - 1.0
    return x.astype(dtype), y.astype(dtype)


def correlations(predicted, measured):
    return np.array([np.corrcoef(p, m)[0, 1] for p, m in zip(predicted.T, measured.T, strict=True)])


def by_sklearn(x_train, x_test, y_train, y_test, alphas, per_target):
    model = SklearnRidgeCV(alphas, alpha_per_target=per_target).fit(x_train, y_train)
    return correlations(model.predict(x_test).reshape(y_test.shape), y_test), model.alpha_


@pytest.mark.slow
@pytest.mark.parametrize("per_target", [False, True])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("alphas", [FEW, ALPHAS], ids=["few", "all"])
def test_a_fixed_split_equals_scikit_learn(shape, alphas, per_target):
    x, y = arrays(*shape)
    cut = 3 * len(x) // 4
    parts = (x[:cut], x[cut:], y[:cut], y[cut:])
    kernel = compiled(train_test_and_report, mapping=RidgeCV(alphas, per_target))
    r, report = kernel(*map(jnp.asarray, parts))
    expected, alpha = by_sklearn(*parts, alphas, per_target)
    np.testing.assert_allclose(report["alpha"], alpha)
    np.testing.assert_allclose(r, expected, atol=1e-9)


@pytest.mark.parametrize("per_target", [False, True])
@pytest.mark.parametrize("shape", [TALL, WIDE], ids=str)
def test_every_fold_equals_scikit_learn_on_it(shape, per_target):
    x, y = arrays(*shape, noise=2.0)
    splits = list(ShuffleSplit(3, train_size=0.7, test_size=0.2, random_state=0).split(x))
    kernel = compiled(cross_validate_and_report, mapping=RidgeCV(FEW, per_target))
    r, report = kernel(jnp.asarray(x), jnp.asarray(y), make_folds(len(x), splits))
    for fold, (train, test) in enumerate(splits):
        expected, alpha = by_sklearn(x[train], x[test], y[train], y[test], FEW, per_target)
        np.testing.assert_allclose(report["alpha"][fold], alpha)
        np.testing.assert_allclose(r[fold], expected, atol=1e-9)


@pytest.mark.parametrize(
    ("noise", "seed", "alpha"),
    [(0.05, 0, 77.5), (0.05, 1, 0.01), (0.05, 2, 1.0), (1.0, 0, 850.0), (20.0, 1, 1e7)],
)
def test_penalties_of_many_features_are_those_of_the_reference(noise, seed, alpha):
    # Values recomputed with the leave-one-out formula for Brain-Score's test of its dual solver.
    rng = np.random.RandomState(seed)
    x = rng.randn(60, 800)
    y = x @ rng.randn(800, 300) / np.sqrt(800) + noise * rng.randn(60, 300)
    kernel = compiled(train_test_and_report, mapping=RidgeCV())
    _, report = kernel(jnp.asarray(x), jnp.asarray(x[:5]), jnp.asarray(y), jnp.asarray(y[:5]))
    assert float(report["alpha"]) == alpha


@given(st.integers(0, 10_000))
def test_rotated_features_choose_the_same_penalty(seed):
    rng = np.random.default_rng(seed)
    x, y = arrays(*TALL, seed=seed)
    rotation = np.linalg.qr(rng.normal(size=(x.shape[1],) * 2))[0]
    kernel = compiled(train_test_and_report, mapping=RidgeCV(FEW))
    results = [kernel(*map(jnp.asarray, (f[:30], f[30:], y[:30], y[30:]))) for f in (x, x @ rotation)]
    assert results[0][1]["alpha"] == results[1][1]["alpha"]
    np.testing.assert_allclose(results[0][0], results[1][0], atol=1e-9)


def test_repeated_stimuli_and_constant_features_do_no_harm():
    x, y = arrays(*WIDE)
    x[:, 0], x[1], y[1] = 5.0, x[0], y[0]
    r, _ = compiled(train_test_and_report, mapping=RidgeCV(FEW, True))(
        *map(jnp.asarray, (x[:22], x[22:], y[:22], y[22:]))
    )
    expected, _ = by_sklearn(x[:22], x[22:], y[:22], y[22:], FEW, True)
    np.testing.assert_allclose(r, expected, atol=1e-9)


@pytest.mark.parametrize("per_target", [False, True])
@pytest.mark.parametrize("shape", [TALL, WIDE], ids=str)
def test_gradients_are_those_of_ridge_at_the_chosen_penalty(shape, per_target):
    x, y = arrays(*shape)
    y[:, 0] = x[:, 0]
    cut = 3 * len(x) // 4

    def loss(x_train):
        parts = (x_train, jnp.asarray(x[cut:]), jnp.asarray(y[:cut]), jnp.asarray(y[cut:]))
        return jnp.sum(train_test_and_report(*parts, mapping=RidgeCV(FEW, per_target))[0])

    gradient = jax.jit(jax.grad(loss))(jnp.asarray(x[:cut]))
    _, alpha = by_sklearn(x[:cut], x[cut:], y[:cut], y[cut:], FEW, per_target)

    def loss_of_sklearn(x_train):
        model = SklearnRidge(alpha).fit(x_train, y[:cut])
        return correlations(model.predict(x[cut:]), y[cut:]).sum()

    for i, j in ((0, 0), (3, 5)):
        step = np.zeros((cut, x.shape[1]))
        step[i, j] = 1e-5
        slope = (loss_of_sklearn(x[:cut] + step) - loss_of_sklearn(x[:cut] - step)) / 2e-5
        assert float(gradient[i, j]) == pytest.approx(slope, abs=1e-6)
