"""What training does not decide is NaN: of neuroids that do not vary there, and by features that do not."""

import jax
import numpy as np
import pytest
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import LinearRegression
from sklearn.linear_model import Ridge as SklearnRidge

from bsjax import NeuroidAssembly, load_metric
from bsjax.engine.memory_limit import memory_limit
from bsjax.engine.precision import precision
from bsjax.labelled.regression.stimulus_coordinates import in_stimulus_coordinates
from bsjax.labelled.splits import CrossValidation
from bsjax.metrics import compiled, make_folds
from bsjax.metrics.regression.folds import no_folds
from bsjax.metrics.resampling.permutation import cross_validation_permutations
from bsjax.metrics.resampling.refits import cross_validation_bootstraps, drawn_folds, train_test_bootstraps

N, ALPHAS = 40, (0.1, 1.0, 10.0)
SPLITS = {"splits": 3, "test_size": 0.25, "stratification_coord": None}
MAPPINGS = {
    "pls": {"n_components": 3},
    "ridge": {},
    "ridgecv": {"alphas": ALPHAS},
    "ridgecv, runs": {"alphas": ALPHAS, "cv": 3},
    "neuron_to_neuron": {},
    "regression": {"estimator": SklearnRidge(1.0)},
}
USUAL = ("pls", "ridge", "neuron_to_neuron", "regression")
pytestmark = [
    pytest.mark.filterwarnings("ignore:the (small|larg)est penalty"),
    pytest.mark.filterwarnings("ignore:.*reproduces whatever was measured:UserWarning"),
]


def labelled(values, bins=None):
    dims, coords = ["presentation", "neuroid"], {"stimulus_id": ("presentation", np.arange(len(values)))}
    if bins is not None:
        times = np.arange(bins)
        coords |= {"time_bin_start": ("time_bin", times), "time_bin_end": ("time_bin", times + 1)}
    return NeuroidAssembly(values, coords, dims if bins is None else [*dims, "time_bin"])


def splits_of():
    return list(CrossValidation.from_kwargs(SPLITS).of(labelled(np.zeros((N, 1)))))


def data(width=5, seed=0):
    """Features, and neuroids: two that vary, others that vary only among the test stimuli of the first split."""
    rng = np.random.default_rng(seed)
    x, test = rng.normal(size=(N, width)) + 1.0, splits_of()[0][1]
    y = x[:, :2] @ rng.normal(size=(2, 5)) + rng.normal(size=(N, 5))
    for neuroid, (constant, step) in enumerate([(0.0, 1.0), (0.1, 1e-3), (1e6, 100.0)], 2):
        y[:, neuroid] = constant
        y[test[:2], neuroid] += step * rng.normal(size=2)
    return x, y


def undefined(y):
    """Where a neuroid does not vary among the training or the test stimuli of a split."""
    return np.array([[np.ptp(y[side], axis=0) == 0 for side in split] for split in splits_of()]).any(axis=1)


def metric_of(name, form="{}", **more):
    return load_metric(form.format(name.split(",")[0]), **MAPPINGS[name], **more)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "dtype"), [*((name, "float64") for name in MAPPINGS), ("pls", "float32")])
def test_neuroids_that_do_not_vary_in_training(name, dtype):
    x, y = data()
    metric = metric_of(name, dtype=dtype, crossvalidation_kwargs=SPLITS)
    score = metric(labelled(x), labelled(y))
    np.testing.assert_array_equal(np.isnan(score.raw), undefined(y))
    assert undefined(y)[0].tolist() == [False, False, True, True, True] and score.n_undefined == undefined(y).sum()
    alone = metric(labelled(x), labelled(y[:, :2]))  # as for the fit of the first split
    np.testing.assert_allclose(score.raw[0, :2], alone.raw[0], atol=1e-3 if dtype == "float32" else 1e-8)


@pytest.mark.parametrize("name", USUAL)
@pytest.mark.parametrize("kind", ["all", "all but those that do not vary in the test", "some"])
def test_features_that_do_not_vary_in_training(name, kind):
    (train, test), rng = splits_of()[0], np.random.default_rng(1)
    x, y = data()
    if kind == "all":
        x[train] = x[train[0]]
    elif kind == "some":
        x[train, 2:] = 0.1
    else:
        x[np.ix_(train, [2, 3, 4])], x[np.ix_(test, [0, 1])] = 0.1, [0.7, 0.3]
    score = metric_of(name, crossvalidation_kwargs=SPLITS)(labelled(x), labelled(y[:, :2] + rng.normal(size=(N, 2))))
    assert np.isnan(score.raw[0]).all() == (kind != "some") and np.isfinite(score.raw[1:]).all()


def on_fixed_split(name, x, y, train, test):
    parts = {"source_train": x[train], "source_test": x[test], "target_train": y[train], "target_test": y[test]}
    return metric_of(name, "{}_split")(**{part: labelled(values) for part, values in parts.items()})


@pytest.mark.slow
@pytest.mark.parametrize("name", USUAL)
def test_on_a_fixed_split(name):
    x, y = data()
    train, test = splits_of()[0]
    np.testing.assert_array_equal(np.isnan(on_fixed_split(name, x, y, train, test).raw), [0, 0, 1, 1, 1])
    x[train, 2:] = 0.1
    assert np.isfinite(on_fixed_split(name, x, y[:, :2], train, test).raw).all()
    x[train] = x[train[0]]
    assert np.isnan(on_fixed_split(name, x, y[:, :2], train, test).raw).all()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "form"), [("pls", "spanning time"), ("ridge", "streamed"), ("ridge", "coordinates")])
def test_in_every_form(name, form):
    x, y = data(100 if form in ("streamed", "coordinates") else 5)
    expected, settings = undefined(y), {"crossvalidation_kwargs": SPLITS}
    if form == "spanning time":
        both = (labelled(np.stack([side, side[:, ::-1] if side is x else side], axis=2), 2) for side in (x, y))
        raw, expected = metric_of(name, "spantime_{}", **settings)(*both).raw, np.stack([expected, expected], axis=1)
    elif form == "streamed":
        with memory_limit("100kB"):
            raw = metric_of(name, **settings)(labelled(x), labelled(y)).raw
    else:
        given = in_stimulus_coordinates(labelled(x), "inner products")
        raw = metric_of(name, **settings)(given, labelled(y)).raw
    np.testing.assert_array_equal(np.isnan(raw), expected)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "on_device"), [("pls", False), ("ridge", True)])
def test_features_of_a_stream_that_do_not_vary_in_training(name, on_device):
    x, y = data(100)
    train, test = splits_of()[0]
    x[train] = x[train[0]]
    source = labelled(x)
    if on_device:
        source = source.copy(data=jax.numpy.asarray(x, "float32"))
    given = in_stimulus_coordinates(source, "inner products", dtype="float32" if on_device else None)
    metric = metric_of(name, crossvalidation_kwargs=SPLITS, dtype="float32" if on_device else None)
    raw = metric(given, labelled(y[:, :2])).raw
    assert np.isnan(raw[0]).all() and np.isfinite(raw[1:]).all()


@pytest.mark.slow
def test_bins_in_which_no_feature_varies():
    x, y = np.random.default_rng(0).normal(size=(2, N, 4, 3))
    x[:, :, 0] = 0.3  # before the response
    score = load_metric("spantime_ridge", crossvalidation_kwargs=SPLITS)(labelled(x, 3), labelled(y, 3))
    np.testing.assert_array_equal(np.isnan(score.raw).all(axis=(0, 2)), [True, False, False])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "width"), [("ridge", 100), ("pls", 5), ("neuron_to_neuron", 100)])
def test_in_draws(name, width):
    x, y = data(width)
    splits, mapping = splits_of(), metric_of(name).mapping
    counts = np.stack([np.ones(N, int), np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [10, 20, 10]))])

    def refitted(folds):
        return compiled(cross_validation_bootstraps, mapping=mapping)(x, y, drawn_folds(counts, make_folds(N, folds)))

    with precision("float64"):
        raw = np.asarray(refitted(splits))
        np.testing.assert_array_equal(np.isnan(raw[0]), undefined(y))
        assert np.isnan(raw[1, 0, 2:]).all() and np.isfinite(raw[1, 0, :2]).all()
        train, test = splits[0]
        parts = [x[train], x[test], y[train], y[test]]
        held = drawn_folds(counts[:1, train], no_folds()), counts[:1, test]
        fixed = np.asarray(compiled(train_test_bootstraps, mapping=mapping)(*parts, *held))
        np.testing.assert_array_equal(np.isnan(fixed[0]), [0, 0, 1, 1, 1])
        x[train] = x[train[0]]
        assert np.isnan(refitted(splits)[:, 0]).all()
        orders = np.tile(np.arange(N, dtype=np.int32), (2, 1))
        orders[1, train] = np.roll(train, 1)  # so that responses of training stimuli stay among them
        null = compiled(cross_validation_permutations, mapping=mapping)(x, y, make_folds(N, splits[:1]), orders)
        assert np.isnan(null).all()


PEERS = {
    "ridge": ({}, SklearnRidge),
    "linear_predictivity": ({}, LinearRegression),
    "pls": ({"n_components": 5}, lambda: PLSRegression(5, scale=False, tol=1e-24, max_iter=100_000)),
}


@pytest.mark.parametrize("name", [*PEERS])
def test_counts_of_few_spikes_score_as_an_exact_reference(name):
    settings, make = PEERS[name]
    x = np.random.default_rng(0).normal(size=(N, 10))
    y = np.random.default_rng(1).poisson(0.06, (N, 21)).astype(float)
    cells = []
    for train, test in splits_of():
        predicted = make().fit(x[train], y[train]).predict(x[test])
        with np.errstate(invalid="ignore", divide="ignore"):
            cells.append([np.corrcoef(predicted[:, i], y[test, i])[0, 1] for i in range(21)])
    expected = np.where(undefined(y), np.nan, cells)
    assert 3 < undefined(y).sum() < undefined(y).size - 3
    score = load_metric(name, SPLITS, **settings)(labelled(x), labelled(y))
    np.testing.assert_array_equal(np.isnan(score.raw), np.isnan(expected))
    assert float(score) == pytest.approx(np.nanmedian(expected, axis=1).mean(), abs=1e-6)


def test_small_predictions_of_a_large_penalty_are_no_rounding():
    x, y = map(labelled, data())
    strong, stronger = (load_metric("ridge", SPLITS, alpha=alpha)(x, y[:, :2]).raw for alpha in (1e12, 1e20))
    np.testing.assert_allclose(strong, stronger, atol=1e-8)
