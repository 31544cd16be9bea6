"""Regressions on several feature spaces or kernels: equal to himalaya's, to a grid, and to their definitions."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from himalaya.backend import set_backend
from himalaya.kernel_ridge import solve_weighted_kernel_ridge_conjugate_gradient
from himalaya.ridge import solve_group_ridge_random_search
from scipy.optimize import nnls
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel
from sklearn.model_selection import KFold
from sklearn.preprocessing import KernelCenterer

from bsjax.metrics import BandedRidge, MultipleKernelRidge, RidgeCV, Stacked, compiled, delayed, make_folds
from bsjax.metrics.regression.crossvalidation import cross_validate_and_report
from bsjax.metrics.regression.mappings.stacked import convex_weights

pytestmark = pytest.mark.slow


N, TRAIN, CV, Q = 50, 40, 4, 3
FOLDS = make_folds(N, [(np.arange(TRAIN), np.arange(TRAIN, N))])
ALPHAS = (0.1, 1.0, 10.0, 100.0)
set_backend("numpy")


def data(width):
    """Two spaces, of which targets need different shares."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, width)) * np.repeat([1.0, 3.0], [4, width - 4])
    y = x[:, :4] @ rng.normal(size=(4, Q)) + 0.1 * x[:, 4:8] @ rng.normal(size=(4, Q)) + rng.normal(size=(N, Q))
    return x, y


def fitted(mapping, x, y):
    r, report = compiled(cross_validate_and_report, mapping=mapping)(jnp.asarray(x), jnp.asarray(y), FOLDS)
    return np.asarray(r[0]), {name: np.asarray(values[0]) for name, values in report.items()}


def correlations(predicted, y):
    return [np.corrcoef(*pair)[0, 1] for pair in zip(predicted.T, y[TRAIN:].T, strict=True)]


def validation_error(kernels, y, scales):
    """Mean squared error of a target over runs of training stimuli, with centred kernels, by its definition."""
    errors = []
    for fit, test in KFold(CV).split(y[:TRAIN]):
        centring = KernelCenterer().fit(sum(s * k[np.ix_(fit, fit)] for s, k in zip(scales, kernels, strict=True)))
        within, across = (
            centring.transform(sum(s * k[np.ix_(rows, fit)] for s, k in zip(scales, kernels, strict=True)))
            for rows in (fit, test)
        )
        dual = np.linalg.solve(within + np.eye(len(fit)), y[fit] - y[fit].mean())
        errors.append(np.mean((y[test] - y[fit].mean() - across @ dual) ** 2))
    return np.mean(errors)


@pytest.mark.parametrize("width", [12, 70])
def test_random_search_chooses_as_himalaya_does(width):
    x, y = data(width)
    shares = np.array([[0.5, 0.5], [0.9, 0.1], [0.99, 0.01], [0.1, 0.9]])
    spaces = np.split(x[:TRAIN], [4], axis=1)
    of_himalaya = solve_group_ridge_random_search(
        spaces, y[:TRAIN], n_iter=shares, alphas=np.array(ALPHAS), fit_intercept=True, cv=KFold(CV),
        return_weights=True, progress_bar=False, warn=False,
    )  # fmt: skip
    deltas, weights = of_himalaya[:2]
    mapping = BandedRidge((4, width - 4), ALPHAS, tuple(map(tuple, shares.tolist())), CV)
    r, report = fitted(mapping, x, y)
    np.testing.assert_allclose(report["shares"] / report["alpha"][None], np.exp(deltas), rtol=1e-9)
    np.testing.assert_allclose(r, correlations(x[TRAIN:] @ weights, y), atol=1e-6)


def test_gradient_search_is_as_good_as_a_grid():
    width = 70
    x, y = data(width)
    kernels = [space @ space.T for space in np.split(x, [4], axis=1)]
    mapping = BandedRidge((4, width - 4), ALPHAS, candidates=1, cv=CV, search="gradient", steps=100)
    report = fitted(mapping, x, y)[1]
    scales = report["shares"] / report["alpha"][None]
    found = [validation_error(kernels, y[:, i], scales[:, i]) for i in range(Q)]
    axis = np.linspace(-1.5, 1.5, 13)
    for i in range(Q):
        around = [scales[:, i] * np.exp([a, b]) for a in axis for b in axis]
        assert found[i] <= min(validation_error(kernels, y[:, i], each) for each in around) * (1 + 1e-5)
    before = fitted(dataclasses.replace(mapping, search="random"), x, y)[1]
    for i in range(Q):
        assert found[i] < validation_error(kernels, y[:, i], before["shares"][:, i] / before["alpha"][i])


def test_several_kernels_are_those_of_himalaya():
    x, y = data(12)
    raw = [linear_kernel, rbf_kernel, polynomial_kernel]
    share = np.array([0.2, 0.7, 0.1])
    within, across = [], []
    for kernel in raw:
        centring = KernelCenterer().fit(kernel(x[:TRAIN]))
        within.append(centring.transform(kernel(x[:TRAIN])))
        across.append(centring.transform(kernel(x[TRAIN:], x[:TRAIN])))
    deltas = np.tile(np.log(share / 0.5)[:, None], (1, Q))
    of_y = y[:TRAIN] - y[:TRAIN].mean(axis=0)
    dual = solve_weighted_kernel_ridge_conjugate_gradient(np.stack(within), of_y, deltas, max_iter=1000, tol=1e-14)
    expected = np.einsum("bmn,nq,b->mq", np.stack(across), dual, share / 0.5)
    mapping = MultipleKernelRidge(alphas=(0.5,), candidates=(tuple(share.tolist()),))
    np.testing.assert_allclose(fitted(mapping, x, y)[0], correlations(expected, y), atol=1e-6)


def test_linear_kernels_of_bands_are_banded_ridge_in_both_searches():
    x, y = data(70)
    for search in ("random", "gradient"):
        bands, more = (4, 66), {"candidates": 3, "cv": CV, "search": search, "steps": 10}
        banded = fitted(BandedRidge(bands, ALPHAS, **more), x, y)
        kernels = fitted(MultipleKernelRidge(("linear", "linear"), bands, ALPHAS, **more), x, y)
        np.testing.assert_allclose(kernels[0], banded[0], atol=1e-6)
    with pytest.raises(ValueError, match="kernels need as many bands"):
        fitted(MultipleKernelRidge(("linear",), (4, 66)), x, y)


def test_convex_weights_are_those_of_an_exact_programme():
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(20, 30, 4)) @ rng.normal(size=(20, 4, 4)) + rng.normal(size=(20, 30, 1))
    products = np.einsum("qnb,qnc->qbc", residuals, residuals)
    found = np.asarray(convex_weights(jnp.asarray(products)))
    for product, weights in zip(products, found, strict=True):
        factor = np.linalg.cholesky(product)
        exact = nnls(factor.T, np.linalg.solve(factor, np.ones(4)))[0]
        np.testing.assert_allclose(weights, exact / exact.sum(), atol=1e-6)
    assert (found == 0.0).any()


def test_a_stack_is_at_least_as_good_as_its_best_space_in_the_training_folds():
    width = 70
    x, y = data(width)
    mapping = Stacked(RidgeCV(ALPHAS, alpha_per_target=True, cv=CV), (4, width - 4), CV)
    shares = fitted(mapping, x, y)[1]["shares"]
    np.testing.assert_allclose(shares.sum(axis=0), 1.0, atol=1e-12)
    prepared = mapping.prepare(jnp.asarray(x), jnp.asarray(y))
    train = jnp.asarray(np.arange(N) < TRAIN, float)
    products = np.asarray(mapping._products(prepared, train, N))
    losses = np.einsum("bq,qbc,cq->q", shares, products, shares)
    assert (losses <= np.diagonal(products, axis1=1, axis2=2).min(axis=1) * (1 + 1e-9)).all()
    # Residuals by separate cross-validations within the training stimuli.
    folds = make_folds(TRAIN, list(KFold(CV).split(x[:TRAIN])))
    for place, space in enumerate(np.split(x[:TRAIN], [4], axis=1)):
        held = np.zeros_like(y[:TRAIN])
        ridge = RidgeCV(ALPHAS, alpha_per_target=True, cv=CV)
        of_space = ridge.prepare(jnp.asarray(space), jnp.asarray(y[:TRAIN]))
        params = ridge.fit(of_space, jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask))
        for fold, (_, test) in enumerate(KFold(CV).split(space)):
            predicted = ridge.predict(jax.tree.map(lambda a, f=fold: a[f : f + 1], params), of_space.embedding[None])[0]
            held[test] = y[test] - (np.asarray(predicted) + np.asarray(params.intercept)[fold])[test]
        np.testing.assert_allclose(products[:, place, place], np.sum(held**2, axis=0), rtol=1e-6)


def test_delays_are_an_explicit_design():
    x, _ = data(12)
    runs, delays = np.repeat([7, 3], [20, 30]), (0, 1, 3, -2)
    design = np.zeros((N, len(delays), 12))
    for i in range(N):
        for place, delay in enumerate(delays):
            if 0 <= i - delay < N and runs[i - delay] == runs[i]:
                design[i, place] = x[i - delay]
    found = delayed(jnp.asarray(x), delays, runs=runs)
    np.testing.assert_array_equal(found, design.reshape(N, -1))
    with pytest.raises(ValueError, match="one piece"):
        delayed(jnp.asarray(x), (1,), runs=np.arange(N) % 2)
    with pytest.raises(ValueError, match="delays"):
        delayed(jnp.asarray(x), ())
