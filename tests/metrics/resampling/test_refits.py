"""Refitted draws against scikit-learn on the rows of each draw, with splits of stimuli and not of rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.linear_model import RidgeCV as SklearnRidgeCV

from bsjax.engine.programs.compilation import traces
from bsjax.metrics import PLS, NeuronToNeuron, Ridge, RidgeCV, compiled, make_folds
from bsjax.metrics.regression.folds import no_folds
from bsjax.metrics.resampling.refits import (
    cross_validation_bootstraps,
    drawn_folds,
    prediction_bootstraps,
    train_test_bootstraps,
)
from tests.support.regression_peers import BestFeature, MinimumNorm
from tests.support.slopes import check_slope

ALPHAS = (0.1, 1.0, 10.0)
TALL, WIDE = (30, 8, 3), (24, 40, 3)


MAPPINGS = {
    "ridge": (Ridge(1.0), lambda: SklearnRidge(1.0)),
    "ridge-strong": (Ridge(1e6), lambda: SklearnRidge(1e6, solver="svd")),
    "pls": (PLS(3), lambda: PLSRegression(3, scale=False, tol=1e-24, max_iter=100_000)),
    "neuron_to_neuron": (NeuronToNeuron(), BestFeature),
}


def arrays(n, p, q):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(n, 4))
    x = latent @ rng.normal(size=(4, p)) + 0.5 * rng.normal(size=(n, p)) + 2.0
    y = latent @ rng.normal(size=(4, q)) + rng.normal(size=(n, q)) - 1.0
    return jnp.asarray(x), jnp.asarray(y)


def splits_of(n, gap=False):
    """Folds of unequal size; with a gap, each is tested on half of what it leaves out."""
    rows = np.random.default_rng(5).permutation(n)
    tests = np.array_split(rows, [n // 3, n // 2])
    return [(np.setdiff1d(rows, test), test[:: 2 if gap else 1]) for test in tests]


def counts_of(n, draws, seed=1):
    """Bootstraps, and draws that are shorter."""
    rng = np.random.default_rng(seed)
    sizes = [n] * (draws - 2) + [n - n // 4, n - 3]
    return np.stack([np.bincount(rng.integers(0, n, size), minlength=n) for size in sizes])


def correlated(fit, x_train, y_train, x_test, y_test):
    if len(np.unique(y_train, axis=0)) < 2 or len(np.unique(y_test, axis=0)) < 3:
        return [np.nan] * y_test.shape[1]
    predicted = fit.fit(x_train, y_train).predict(x_test).reshape(y_test.shape)
    return [np.corrcoef(predicted[:, i], y_test[:, i])[0, 1] for i in range(y_test.shape[1])]


def peer(make, x, y, splits, counts):
    x, y = np.asarray(x), np.asarray(y)
    made = []
    for draw in counts:
        sides = [[np.repeat(side, draw[side]) for side in split] for split in splits]
        made.append([correlated(make(), x[train], y[train], x[test], y[test]) for train, test in sides])
    return np.array(made)


# With a gap for one of them.
CASES = [("ridge", TALL, True), ("ridge", WIDE, True), ("ridge-strong", WIDE, False), ("neuron_to_neuron", TALL, False)]
CASES += [("pls", TALL, False), ("pls", WIDE, False)]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape", "gap"), CASES, ids=str)
def test_equals_fits_of_the_drawn_rows(name, shape, gap):
    x, y = arrays(*shape)
    mapping, make = MAPPINGS[name]
    splits, counts = splits_of(len(x), gap), counts_of(len(x), 4)
    draws = drawn_folds(counts, make_folds(len(x), splits))
    got = compiled(cross_validation_bootstraps, mapping=mapping)(x, y, draws)
    np.testing.assert_allclose(got, peer(make, x, y, splits, counts), atol=1e-9)


def test_a_mapping_that_chooses_is_refitted_to_draws_without_copies():
    x, y = arrays(*TALL)
    splits = splits_of(len(x))
    counts = (np.arange(30)[None] % 5 != np.arange(3)[:, None]).astype(int)  # a jackknife of three groups
    draws = drawn_folds(counts, make_folds(len(x), splits))
    got = compiled(cross_validation_bootstraps, mapping=RidgeCV(ALPHAS))(x, y, draws)
    np.testing.assert_allclose(got, peer(lambda: SklearnRidgeCV(ALPHAS), x, y, splits, counts), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("mapping", [Ridge(1.0), PLS(2)], ids=str)
def test_folds_without_two_stimuli_to_train_on_and_three_to_test_are_nan_and_gradients_finite(mapping):
    x, y = arrays(12, 20, 2)
    rows = np.arange(12)
    folds = make_folds(12, [(rows[:8], rows[8:]), (rows[4:], rows[:4]), (rows[:6], rows[6:])])
    counts = np.array(
        [[1] * 12, [2, 1, 1, 1, 1, 1, 1, 1, 3, 0, 0, 0], [1] * 10 + [0, 0], [6, 6] + [0] * 10, [9] + [0] * 11]
    )
    draws = drawn_folds(counts, folds)
    got = compiled(cross_validation_bootstraps, mapping=mapping)(x, y, draws)
    undefined = [[False] * 3, [True, False, False], [True, False, False], [True] * 3, [True] * 3]
    np.testing.assert_array_equal(np.isnan(got), np.broadcast_to(np.array(undefined)[:, :, None], got.shape))

    def total(x, y):
        return jnp.nansum(cross_validation_bootstraps(x, y, draws, mapping=mapping))

    for gradient in jax.jit(jax.grad(total, (0, 1)))(x, y):
        assert jnp.isfinite(gradient).all() and (gradient != 0).any()


@pytest.mark.slow
def test_gradient_of_stimuli_that_count_so_often():
    x, y = arrays(12, 20, 2)
    draws = drawn_folds(counts_of(12, 3, seed=3), make_folds(12, splits_of(12)))
    check_slope(lambda x: jnp.nansum(cross_validation_bootstraps(x, y, draws, mapping=Ridge(1.0))), x, rtol=1e-6)


@pytest.mark.slow
def test_what_weights_do_not_tell_is_asked_of_copies():
    x, y = arrays(*WIDE)
    x = x.at[1::2].set(x[::2])  # pairs of equal stimuli: without a penalty no system has a solution
    splits, counts = splits_of(24), counts_of(24, 3)
    draws = drawn_folds(counts, make_folds(24, splits))
    got = compiled(cross_validation_bootstraps, mapping=Ridge(0.0))(x, y, draws)
    np.testing.assert_allclose(got, peer(MinimumNorm, x, y, splits, counts), atol=1e-9)


@pytest.mark.slow
def test_other_draws_of_as_many_stimuli_take_the_same_program():
    x, y = arrays(64, 80, 2)
    folds = make_folds(64, [(np.arange(60), np.arange(60, 64)), (np.arange(4, 64), np.arange(4))])
    program = compiled(cross_validation_bootstraps, mapping=Ridge(1.5))
    with traces() as counted:
        for seed in range(2):
            rng = np.random.default_rng(seed)
            counts = np.stack([np.bincount(rng.integers(0, 64, 64), minlength=64) for _ in range(30)])
            program(x, y, drawn_folds(counts, folds))
    assert counted["cross_validation_bootstraps"] <= 2


def test_a_fixed_split_is_fitted_and_tested_anew():
    x, y = arrays(*TALL)
    n = len(x) - 9
    train_counts, test_counts = counts_of(n, 4), counts_of(9, 4, seed=2)
    train_counts[1], test_counts[2] = n * (np.arange(n) == 0), np.array([0, 0, 0, 4, 0, 5, 0, 0, 0])
    draws = drawn_folds(train_counts, no_folds())
    kernel = compiled(train_test_bootstraps, mapping=Ridge(1.0))
    got = np.asarray(kernel(x[:n], x[n:], y[:n], y[n:], draws, jnp.asarray(test_counts)))
    assert np.isnan(got[1:3]).all()
    for d in (0, 3):
        rows = np.repeat(np.arange(n), train_counts[d]), n + np.repeat(np.arange(9), test_counts[d])
        sides = [np.asarray(side)[part] for part in rows for side in (x, y)]
        np.testing.assert_allclose(got[d], correlated(SklearnRidge(1.0), *sides), atol=1e-9)


@pytest.mark.slow
def test_predictions_on_the_drawn_stimuli():
    predicted, y = arrays(20, 3, 3)
    counts = counts_of(20, 5)
    counts[0], counts[:, 7] = np.eye(20, dtype=int)[4] * 20, 0
    kernel = compiled(prediction_bootstraps)
    got = kernel(predicted.at[7].set(jnp.nan), y.at[:, 2].set(0.1), jnp.asarray(counts))
    assert np.isnan(got[0]).all() and np.isnan(got[:, 2]).all()
    for r, draw in zip(np.asarray(got[1:]), counts[1:], strict=True):
        rows = np.repeat(np.arange(20), draw)
        expected = [np.corrcoef(np.asarray(predicted)[rows, i], np.asarray(y)[rows, i])[0, 1] for i in range(2)]
        np.testing.assert_allclose(r[:2], expected, atol=1e-12)
    gradient = jax.grad(lambda v: jnp.nansum(kernel(v, y, jnp.asarray(counts))))(predicted)
    assert jnp.isfinite(gradient).all() and (gradient != 0).any()
