"""Ridge regression with a chosen penalty, against scikit-learn's RidgeCV and against errors written out."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import RidgeCV as SklearnRidgeCV
from sklearn.model_selection import ShuffleSplit

from bsjax.engine.primitives.decompositions import _eigh
from bsjax.engine.programs.fallbacks import without_fallbacks
from bsjax.engine.programs.platforms import traced_for
from bsjax.metrics import ALPHAS, RidgeCV, compiled, cross_validate, make_folds
from bsjax.metrics.linalg.partial_fractions import all_penalties
from bsjax.metrics.regression.crossvalidation import cross_validate_and_report, train_test_and_report
from tests.support.slopes import check_slope

FEW = (0.01, 1.0, 30.0, 1000.0)
TALL, WIDE = (40, 10, 4), (30, 80, 7)


def arrays(n, p, q, noise=1.0):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, p)) + 2.0
    y = x @ rng.normal(size=(p, q)) / np.sqrt(p) + noise * rng.normal(size=(n, q)) * np.arange(1, q + 1) - 1.0
    return x, y


def correlations(predicted, measured):
    return np.array([np.corrcoef(p, m)[0, 1] for p, m in zip(predicted.T, measured.T, strict=True)])


def by_sklearn(x_train, x_test, y_train, y_test, alphas, per_target):
    model = SklearnRidgeCV(alphas, alpha_per_target=per_target).fit(x_train, y_train)
    return correlations(model.predict(x_test).reshape(y_test.shape), y_test), model.alpha_


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "per_target"),
    # The last has one feature fewer than stimuli, where the residuals all but vanish.
    [(TALL, True), (WIDE, False), ((30, 29, 4), True)],
    ids=str,
)
def test_a_fixed_split_equals_scikit_learn(shape, per_target):
    x, y = arrays(*shape)
    cut = 3 * len(x) // 4
    parts = (x[:cut], x[cut:], y[:cut], y[cut:])
    kernel = compiled(train_test_and_report, mapping=RidgeCV(ALPHAS, per_target))
    r, report = kernel(*map(jnp.asarray, parts))
    expected, alpha = by_sklearn(*parts, ALPHAS, per_target)
    np.testing.assert_allclose(report["alpha"], alpha)
    np.testing.assert_allclose(r, expected, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "per_target"), [(TALL, False), (WIDE, True)], ids=str)
def test_every_fold_equals_scikit_learn_on_it(shape, per_target):
    x, y = arrays(*shape, noise=2.0)
    splits = list(ShuffleSplit(3, train_size=0.7, test_size=0.2, random_state=0).split(x))
    kernel = compiled(cross_validate_and_report, mapping=RidgeCV(FEW, per_target))
    r, report = kernel(jnp.asarray(x), jnp.asarray(y), make_folds(len(x), splits))
    for fold, (train, test) in enumerate(splits):
        expected, alpha = by_sklearn(x[train], x[test], y[train], y[test], FEW, per_target)
        np.testing.assert_allclose(report["alpha"][fold], alpha)
        np.testing.assert_allclose(r[fold], expected, atol=1e-9)


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(("features", "rank"), [(12, 5), (100, 12)])
def test_gradients_where_training_stimuli_do_not_span_the_features(features, rank):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(50, rank)) @ rng.normal(size=(rank, features))
    y = x[:, :3] + rng.normal(size=(50, 3))
    folds = make_folds(50, list(ShuffleSplit(2, train_size=0.8, test_size=0.2, random_state=0).split(x)))
    check_slope(
        lambda x: cross_validate(x, jnp.asarray(y), folds, mapping=RidgeCV((1.0,))).sum(), x, rtol=1e-4, atol=1e-5
    )


# Large enough for the ways that avoid a product for every penalty.
LARGE = {"more features": (160, 300, 220), "fewer features": (200, 120, 240)}


def unusual(kind, n, p, q):
    """Spectra and targets at which an approximation of the errors could go wrong."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n + 20, p)) / np.arange(1, p + 1) ** 0.3 + 1.0
    if kind == "stimuli twice":
        x[n // 2 : n] = x[: n // 2]
    if kind == "rank 5":
        x = x[:, :5] @ rng.normal(size=(5, p))
    if kind == "equal eigenvalues":
        x = np.linalg.qr(x)[0] if p <= n else np.linalg.qr(x.T)[0].T
    y = (x - x.mean(0)) @ rng.normal(size=(p, q))
    y = y / y.std() + {"no noise": 1e-6, "much noise": 30.0}.get(kind, 1.0) * rng.normal(size=(n + 20, q))
    y[:n, 0] = 3.0
    return x[:n], x[n:], y[:n], y[n:]


def leave_one_out_by_hand(x, y, alphas):
    """Sums of squared errors ``(penalties, targets)`` by the inverse of every penalty."""
    n = len(x)
    centring = np.eye(n) - 1.0 / n
    gram = centring @ x @ x.T @ centring
    errors = []
    for alpha in alphas:
        # The centred inverse: that of the Gram matrix away from the constant vector.
        inverse = centring @ np.linalg.solve(gram + alpha * np.eye(n), centring)
        errors.append(np.sum((inverse @ y / np.diag(inverse)[:, None]) ** 2, axis=0))
    return np.array(errors)


UNUSUAL = ["plain", "stimuli twice", "rank 5", "equal eigenvalues", "no noise", "much noise"]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "per_target"), [*((kind, True) for kind in UNUSUAL), ("rank 5", False)])
@pytest.mark.parametrize("size", LARGE)
def test_the_fast_choice_is_that_of_all_errors(size, kind, per_target):
    parts = unusual(kind, *LARGE[size])
    kernel = compiled(train_test_and_report, mapping=RidgeCV(ALPHAS, per_target))
    errors = leave_one_out_by_hand(parts[0], parts[2], ALPHAS)[:, 1:]
    # Float32 may only err where errors hardly differ.
    for dtype, worse in (("float64", 1e-9), ("float32", 1e-3)):
        _, report = kernel(*(jnp.asarray(part, dtype) for part in parts))
        alpha = np.asarray(report["alpha"], float)
        if per_target:
            chosen = np.searchsorted(ALPHAS, alpha[1:] * (1 - 1e-5))
            assert (errors[chosen, np.arange(errors.shape[1])] <= errors.min(0) * (1 + worse)).all()
        else:
            total = errors.sum(1)
            assert total[np.searchsorted(ALPHAS, alpha * (1 - 1e-5))] <= total.min() * (1 + worse)


@pytest.fixture
def on_tpu(monkeypatch):
    """Traces for a TPU, with eigenvectors by LAPACK, as those of a TPU are its compiler's own."""
    monkeypatch.delitem(_eigh.own, "tpu")
    return traced_for("tpu")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "accurate", "per_target"), [("plain", True, True), ("rank 5", False, False)])
def test_a_tpu_chooses_by_folds_of_a_split_without_their_eigenvectors(kind, accurate, per_target, on_tpu):
    parts = unusual(kind, 163, 300, 40)
    alphas = (1e-3, 1.0, 30.0, 1e3, 1e8)
    score = partial(train_test_and_report, mapping=RidgeCV(alphas, per_target, 5))
    exactly, chosen = jax.jit(score)(*map(jnp.asarray, parts))
    parts = [jnp.asarray(part, "float32") for part in parts]
    with on_tpu:
        lowered = jax.jit(without_fallbacks(score)).lower(*parts).as_text()
        error, (r, report) = jax.jit(without_fallbacks(score))(*parts)
        assert error is not None and (error.get() is None) == accurate
        if not accurate:
            r, report = jax.jit(score)(*parts)
    assert "syevd" not in lowered
    same = np.broadcast_to(np.isclose(report["alpha"], chosen["alpha"]), r.shape)
    varying = np.isfinite(exactly)
    assert same[varying].mean() > 0.95 and np.isfinite(r[varying]).all()
    np.testing.assert_allclose(r[same & varying], exactly[same & varying], atol=1e-3)


@pytest.mark.slow
def test_gradients_on_a_split_on_a_tpu_are_those_elsewhere(on_tpu):
    x, y = arrays(*WIDE)

    def loss(x_train, x_test, alphas):
        mapping = RidgeCV(alphas, True, 3)
        return jnp.sum(train_test_and_report(x_train, x_test, *targets, mapping=mapping)[0])

    targets = jnp.asarray(y[:22]), jnp.asarray(y[22:])
    given = *map(jnp.asarray, (x[:22], x[22:])), jnp.asarray(FEW)
    expected = jax.jit(jax.grad(loss, (0, 1, 2)))(*given)
    with on_tpu:
        found = jax.jit(jax.grad(loss, (0, 1, 2)))(*given)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-9)


@given(st.integers(0, 10_000), st.sampled_from([1e-14, 1e-9, 1e-6, 1e-4, 1e-2]))
def test_all_penalties_equal_the_double_sum_where_eigenvalues_almost_repeat(seed, apart):
    rng = np.random.default_rng(seed)
    values = 10.0 ** rng.integers(-2, 5, 12) * (1.0 + apart * rng.normal(size=12))
    values[:3] = 0.0
    columns, factor, alphas = rng.normal(size=(12, 4)), rng.normal(size=(12, 5)), 10.0 ** np.arange(-2, 8)
    gram = factor @ factor.T
    inverse = 1.0 / (values + alphas[:, None])
    terms = np.einsum("ki,kl,li,ak,al->aikl", columns, gram, columns, inverse, inverse)
    got = compiled(all_penalties)(*map(jnp.asarray, (columns, gram, values, alphas)))
    # Most are off by 1e-12; clusters of eigenvalues whose differences drown in a large penalty by up to 2e-7.
    assert (np.abs(got - terms.sum((2, 3))) <= 1e-6 * np.abs(terms).sum((2, 3))).all()


@pytest.mark.slow
@pytest.mark.parametrize("mapping", [RidgeCV(), RidgeCV(ALPHAS[::5], True, 5)], ids=str)
def test_memory_is_that_of_a_few_copies_of_the_data(mapping):
    shapes = [(500, 2048), (250, 2048), (500, 2500), (250, 2500)]
    parts = [jax.ShapeDtypeStruct(shape, np.float64) for shape in shapes]
    program = compiled(train_test_and_report, mapping=mapping).lower(*parts).compile()
    # With the copy of the inputs that JAX mostly makes, three times the inputs and one matrix of the stimuli.
    bound = 8 * (2 * sum(n * k for n, k in shapes) + 500 * 500)
    assert program.memory_analysis().temp_size_in_bytes <= bound
