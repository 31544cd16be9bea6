"""Penalties chosen on folds within folds from one inverse per penalty: exact answers, and those of fitted folds."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from bsjax.engine.programs.fallbacks import without_fallbacks
from bsjax.metrics import RidgeCV, compiled, make_folds
from bsjax.metrics.regression import ridge_cv
from bsjax.metrics.regression.crossvalidation import cross_validate_and_report
from bsjax.metrics.regression.mapping import Mapping
from bsjax.metrics.regression.penalties.nested_folds import takes_nested_folds
from tests.support import exact_regressions as exact

pytestmark = pytest.mark.slow


ALPHAS, CV = (0.1, 3.0, 100.0, 3000.0), 4
KINDS = ["more features", "fewer features", "one feature fewer", "stimuli twice", "rank 5"]


def data(kind="more features", n=63, q=9):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, {"fewer features": 20, "one feature fewer": n - 1}.get(kind, 100))) + 2.0
    if kind == "stimuli twice":
        x[40:50] = x[:10]
    if kind == "rank 5":
        x = x[:, :5] @ rng.normal(size=(5, x.shape[1]))
    x[:, -1] = 0.3
    y = x[:, :5] @ rng.normal(size=(5, q)) + rng.normal(size=(n, q)) * np.arange(q) - 1.0
    return x, y


def folds_of(x, smallest=None):
    """Folds whose sizes differ by one, or also one with fewer stimuli."""
    splits = list(KFold(4, shuffle=True, random_state=0).split(x))
    if smallest is not None:
        splits += list(ShuffleSplit(1, test_size=smallest, random_state=0).split(x))
    return splits


def of_held_out(kind_of_mapping, x, y, folds, mapping):
    return kind_of_mapping.cross_predict(mapping, x, y, jnp.asarray(folds.held_out), jnp.asarray(folds.held_out_mask))


by_nested_folds, by_fitted_folds = partial(of_held_out, RidgeCV), partial(of_held_out, Mapping)


@pytest.fixture(autouse=True)
def at_any_size(monkeypatch):
    monkeypatch.setattr(ridge_cv, "takes_nested_folds", lambda *sizes: True)


@pytest.mark.parametrize(("kind", "per_target"), [(KINDS[0], False), *((kind, True) for kind in KINDS)])
def test_predictions_and_penalties_are_exact_and_those_of_fitted_folds(kind, per_target):
    x, y = data(kind)
    y[:, 0] = 0.1
    splits = folds_of(x)
    folds, mapping = make_folds(len(x), splits), RidgeCV(ALPHAS, per_target, CV)
    error, found = jax.jit(without_fallbacks(partial(by_nested_folds, folds=folds, mapping=mapping)))(x, y)
    assert error is not None and error.get() is None
    fitted, report = jax.jit(partial(by_fitted_folds, folds=folds, mapping=mapping))(x, y)
    varying = slice(1, None)
    penalties = (each["alpha"][:, varying] if per_target else each["alpha"] for each in (found[1], report))
    np.testing.assert_array_equal(*penalties)
    np.testing.assert_allclose(found[1]["effective_dimensionality"], report["effective_dimensionality"])
    predict = exact.ridgecv(ALPHAS, per_target, CV)
    for fold, (train, test) in enumerate(splits):
        ours, theirs = (np.asarray(each[fold])[: len(test), varying] for each in (found[0], fitted))
        np.testing.assert_allclose(ours - ours.mean(axis=0), theirs - theirs.mean(axis=0), atol=1e-8)
        expected = predict(x[train], y[train], x[test])[:, varying]
        r = [np.corrcoef(a, b)[0, 1] for a, b in zip(ours.T, expected.T, strict=True)]
        np.testing.assert_allclose(r, 1.0, atol=1e-9)


@pytest.mark.parametrize("kind", ["fewer features", "stimuli twice"])
def test_float32_widens_penalties_that_need_more_digits(kind):
    x, y = data(kind)
    folds, mapping = make_folds(len(x), folds_of(x)), RidgeCV((1e-3, *ALPHAS, 1e7), True, CV)
    score = compiled(cross_validate_and_report, mapping=mapping)
    exactly, alphas = score(x, y, folds)
    got, report = score(x.astype("float32"), y.astype("float32"), folds)
    same = np.isclose(report["alpha"], alphas["alpha"])  # where errors hardly differ, penalties may
    assert same.mean() > 0.9
    np.testing.assert_allclose(got[same], exactly[same], atol=1e-3)


def test_folds_of_unequal_sizes_and_penalties_that_explain_nothing_are_fitted():
    x, y = data()
    for scale, splits in ((1.0, folds_of(x, smallest=0.1)), (1e-7, folds_of(x)), (0.0, folds_of(x))):
        folds, mapping = make_folds(len(x), splits), RidgeCV(ALPHAS, True, CV)
        error, _ = jax.jit(without_fallbacks(partial(by_nested_folds, folds=folds, mapping=mapping)))(scale * x, y)
        assert error is not None and error.get() is not None
        got, expected = (
            jax.jit(partial(way, folds=folds, mapping=mapping))(scale * x, y)[0]
            for way in (by_nested_folds, by_fitted_folds)
        )
        np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_gradients_are_those_of_fitted_folds():
    x, y = map(jnp.asarray, data())
    folds, weights = make_folds(len(x), folds_of(x)), np.random.default_rng(1).normal(size=(1, 1, 9))

    def loss(way, x, y, alphas):
        return jnp.sum(jnp.sin(way(x, y, folds, RidgeCV(alphas, True, CV))[0]) * weights)

    got, expected = (
        jax.jit(jax.grad(partial(loss, way), (0, 1, 2)))(x, y, jnp.asarray(ALPHAS))
        for way in (by_nested_folds, by_fitted_folds)
    )
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_a_batch_is_each_of_its_elements():
    x, y = data()
    both = np.stack([x, x[::-1]])
    way = partial(by_nested_folds, folds=make_folds(len(x), folds_of(x)), mapping=RidgeCV(ALPHAS, True, CV))
    together, _ = jax.jit(jax.vmap(lambda x: way(x, jnp.asarray(y))))(both)
    np.testing.assert_allclose(together, [jax.jit(way)(one, y)[0] for one in both], rtol=1e-8, atol=1e-10)


def test_the_way_of_fewer_operations_is_taken():
    assert takes_nested_folds(5000, 20_000, 4000, 10, (5, 1000), 5)
    assert takes_nested_folds(1250, 5000, 1000, 10, (5, 250), 5)
    assert not takes_nested_folds(100, 500, 50, 10, (5, 20), 5)  # compiling takes longer
    assert not takes_nested_folds(20_000, 100, 4000, 10, (5, 4000), 5)  # features are few
    assert not takes_nested_folds(5000, 20_000, 4000, 1000, (5, 1000), 5)  # penalties are many


def test_no_fold_is_decomposed_and_memory_is_a_few_copies_of_the_data():
    n, p, q = 600, 1500, 900
    x, y = (jax.ShapeDtypeStruct((n, width), np.float64) for width in (p, q))
    folds, mapping = make_folds(n, list(KFold(5).split(np.zeros(n)))), RidgeCV(ALPHAS, True, CV)
    program = jax.jit(without_fallbacks(partial(by_nested_folds, folds=folds, mapping=mapping))).lower(x, y)
    assert "syevd" not in program.as_text() and "potrf" in program.as_text()
    assert program.compile().memory_analysis().temp_size_in_bytes <= 8 * (n * p + 6 * n * n + 8 * n * q)
