"""All mappings against scikit-learn fold by fold, and the invariances that each declares."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Ridge as SklearnRidge
from sklearn.model_selection import KFold, ShuffleSplit

from bsjax.metrics import PLS, Kernelised, NeuronToNeuron, Ridge, compiled, cross_validate, make_folds, train_test
from tests.support.regression_peers import BestFeature, MinimumNorm
from tests.support.slopes import check_slope

MAPPINGS = {
    "pls": PLS(4),
    "pls-nipals": PLS(4, "nipals"),
    "ridge": Ridge(37.0),
    "linear": Ridge(0.0),
    "neuron_to_neuron": NeuronToNeuron(),
}
# (stimuli, features, targets): tall, wide, as many features as stimuli; for PLS more targets than stimuli, one target.
TALL, WIDE = (40, 10, 4), (30, 80, 7)
SHAPES = [(name, shape) for name in MAPPINGS for shape in (TALL, WIDE)]
SHAPES += [("linear", (30, 30, 4)), ("pls", (25, 10, 40)), ("pls", (40, 10, 1)), ("pls-nipals", (25, 10, 40))]


def arrays(n, p, q):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(n, 6))
    x = latent @ rng.normal(size=(6, p)) + 0.3 * rng.normal(size=(n, p)) + 2.0
    y = latent @ rng.normal(size=(6, q)) + 0.5 * rng.normal(size=(n, q)) - 1.0
    return jnp.asarray(x), jnp.asarray(y)


def folds_of(n, kind=None):
    splitter = kind or ShuffleSplit(3, train_size=0.8, random_state=0)
    return make_folds(n, list(splitter.split(np.arange(n))))


def validate(x, y, folds, mapping):
    return np.asarray(compiled(cross_validate, mapping=mapping)(x, y, folds))


PEERS = {
    "pls": lambda: PLSRegression(4, scale=False, tol=1e-24, max_iter=100_000),
    "pls-nipals": lambda: PLSRegression(4, scale=False),
    "ridge": lambda: SklearnRidge(37.0),
    "linear": MinimumNorm,
    "neuron_to_neuron": BestFeature,
}


def peer(name, x, y, folds):
    x, y = np.asarray(x), np.asarray(y)
    result = []
    tested = folds[:2] if folds.test is None else folds[2:]
    for out, out_mask, test, test_mask in zip(*folds[:2], *tested, strict=True):
        train = np.setdiff1d(np.arange(len(x)), out[out_mask])
        rows = test[test_mask]
        predicted = PEERS[name]().fit(x[train], y[train]).predict(x[rows]).reshape(len(rows), -1)
        result.append([np.corrcoef(predicted[:, i], y[rows, i])[0, 1] for i in range(y.shape[1])])
    return np.array(result)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "shape"), SHAPES, ids=str)
def test_equals_a_fit_of_each_fold(name, shape):
    x, y = arrays(*shape)
    folds = folds_of(len(x))
    np.testing.assert_allclose(validate(x, y, folds, MAPPINGS[name]), peer(name, x, y, folds), atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in MAPPINGS if name != "pls-nipals"])
def test_folds_of_unequal_size_folds_tested_in_part_and_a_fixed_split(name):
    x, y = arrays(*WIDE)
    rows = np.arange(len(x))
    unequal = folds_of(len(x), KFold(4, shuffle=True, random_state=0))
    in_part = make_folds(len(x), [(rows[rows % 4 != i], rows[i::8]) for i in range(3)])
    assert not unequal.held_out_mask.all() and in_part.test is not None
    for folds in (unequal, in_part):
        np.testing.assert_allclose(validate(x, y, folds, MAPPINGS[name]), peer(name, x, y, folds), atol=1e-7)
    fixed = compiled(train_test, mapping=MAPPINGS[name])(x[:20], x[20:], y[:20], y[20:])
    one_fold = make_folds(len(x), [(rows[:20], rows[20:])])
    np.testing.assert_allclose(fixed, peer(name, x, y, one_fold)[0], atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "alpha"), [((60, 55, 4), 37.0), ((30, 80, 4), 37.0), ((60, 55, 4), 0.0)], ids=str)
@pytest.mark.parametrize("kind", [KFold(2), KFold(8)], ids=str)
def test_ridge_leaves_out_few_or_many(kind, shape, alpha):
    x, y = arrays(*shape)
    if not alpha:  # of rank 5
        x = x[:, :5] @ jnp.asarray(np.random.default_rng(1).normal(size=(5, x.shape[1])))
    folds = folds_of(len(x), kind)
    expected = peer("ridge" if alpha else "linear", x, y, folds)
    np.testing.assert_allclose(validate(x, y, folds, Ridge(alpha)), expected, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("mapping", [Ridge(1.0), Ridge(0.0), Kernelised(Ridge(1.0))], ids=["ridge", "linear", "rbf"])
def test_stimuli_that_resemble_no_other_get_no_score(mapping):
    """All of them are predicted to have the same response: what differs is rounding errors of targets or products."""
    rng = np.random.default_rng(0)
    y, folds = jnp.asarray(rng.normal(size=(40, 4))), folds_of(40)
    orthogonal = np.linalg.qr(rng.normal(size=(60, 40)))[0].T
    assert np.isnan(validate(jnp.asarray(40.0 * orthogonal), y, folds, mapping)).all()
    assert np.isfinite(validate(jnp.asarray(rng.normal(size=(40, 60))), y, folds, mapping)).all()


@pytest.mark.parametrize(("orthogonal", "accurate"), [(False, True), (True, False)])
def test_neuroids_that_respond_once_need_no_slower_way(orthogonal, accurate):
    rng, folds = np.random.default_rng(0), folds_of(40, KFold(5))
    x, y = rng.normal(size=(40, 60)), np.zeros((40, 2))
    y[3, 0], y[:, 1] = 1.0, rng.normal(size=40)
    x = np.linalg.qr(x.T)[0].T if orthogonal else x
    gram, weights = jnp.asarray(40.0 * x @ x.T), jnp.ones(40)
    found = Ridge(1.0).predict_weighted(gram, jnp.asarray(y), weights, *map(jnp.asarray, folds[:2]))
    assert found[1] == accurate


def test_rank_deficient_least_squares_keeps_weak_directions_in_float32():
    # The spectrum of a layer: noise far below a few strong directions, at the rounding errors of its Gram matrix.
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(300, 5))
    x = latent @ rng.normal(size=(5, 60)) + 0.01 * rng.normal(size=(300, 60))
    y = latent @ rng.normal(size=(5, 4)) + x[:, :4] * 30 + rng.normal(size=(300, 4))
    twice, folds = np.concatenate([x, x], axis=1), folds_of(300)
    expected = peer("linear", twice, y, folds)
    got = validate(jnp.asarray(twice, jnp.float32), jnp.asarray(y, jnp.float32), folds, Ridge(0.0))
    np.testing.assert_allclose(got, expected, atol=1e-4)
    train, test = np.arange(200), np.arange(200, 300)
    parts = [jnp.asarray(v[rows], jnp.float32) for v in (twice, y) for rows in (train, test)]
    got = compiled(train_test, mapping=Ridge(0.0))(*parts)
    np.testing.assert_allclose(got, peer("linear", twice, y, make_folds(300, [(train, test)]))[0], atol=1e-4)


@pytest.mark.slow
def test_memory_of_ten_splits_at_the_size_of_a_recording():
    n, p, q = 2560, 1000, 168
    x, y = jax.ShapeDtypeStruct((n, p), jnp.float64), jax.ShapeDtypeStruct((n, q), jnp.float64)
    folds = folds_of(n, ShuffleSplit(10, train_size=0.9, random_state=0))
    program = jax.jit(lambda x, y: cross_validate(x, y, folds, mapping=Ridge(1.0))).lower(x, y).compile()
    memory = program.memory_analysis()
    assert memory is not None
    # With the copy of the inputs that JAX mostly makes, three times the inputs and one matrix of the stimuli.
    assert memory.temp_size_in_bytes < 8 * (2 * n * (p + q) + n * n)


def test_no_weights_of_features_by_targets_where_stimuli_are_fewer():
    x, y = arrays(20, 300, 50)
    mapping = Ridge(1.0)
    prepared = mapping.prepare(x, y)
    assert prepared.cross is None
    params = mapping.fit(prepared, jnp.zeros((1, 0), jnp.int32), jnp.zeros((1, 0), bool))
    assert params.weights.shape == (1, 20, 50)


@pytest.mark.slow
def test_pls_with_fewer_components_in_the_data_than_asked():
    rng, rank = np.random.default_rng(0), 3
    latent = rng.normal(size=(50, rank))
    x = jnp.asarray(latent @ rng.normal(size=(rank, 20)))
    y = jnp.asarray(latent @ rng.normal(size=(rank, 30)) + rng.normal(size=(50, 30)))
    folds = folds_of(50)
    np.testing.assert_allclose(validate(x, y, folds, PLS(15)), validate(x, y, folds, PLS(rank)), atol=1e-7)


def test_pls_with_equal_singular_values():
    # Features and targets are the same orthogonal columns: every direction is a leading one, and the fit is exact.
    rng = np.random.default_rng(0)
    x = np.linalg.qr(rng.normal(size=(60, 8)))[0]
    folds = folds_of(60)
    r = validate(jnp.asarray(x), jnp.asarray(x), folds, PLS(8))
    np.testing.assert_allclose(r, 1.0, atol=1e-9)


@pytest.mark.slow
def test_pls_components_over_many_orders_of_magnitude_in_float32():
    # Each component is far below the rounding errors of the one before the last, squared.
    rng = np.random.default_rng(0)
    latent = rng.normal(size=(200, 6))
    x = latent * np.logspace(0, -4, 6) @ np.linalg.qr(rng.normal(size=(30, 30)))[0][:6]
    y = latent @ rng.normal(size=(6, 10)) + 0.1 * rng.normal(size=(200, 10))
    folds = folds_of(200)
    double = validate(jnp.asarray(x), jnp.asarray(y), folds, PLS(6))
    single = validate(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32), folds, PLS(6))
    np.testing.assert_allclose(single, double, atol=2e-3)


@pytest.mark.slow
def test_gradient_of_rank_deficient_least_squares_equals_finite_differences():
    # Twice as many features as dimensions: the minimum-norm solution turns with the data, and stays of that rank.
    x, y = arrays(30, 6, 3)
    mix, folds = jnp.asarray(np.random.default_rng(2).normal(size=(6, 12))), folds_of(30)
    check_slope(lambda x: jnp.mean(cross_validate(x @ mix, y, folds, mapping=Ridge(0.0))), x)
