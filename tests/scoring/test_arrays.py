"""``score_arrays``: bare arrays in, a score out."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import ShuffleSplit

import bsjax
from bsjax import NeuroidAssembly, load_metric, score_arrays
from bsjax.labelled.registry import compare_responses, metric_registry


def data(n=60, p=8, q=3, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, p))
    return x, x @ rng.normal(size=(p, q)) + noise * rng.normal(size=(n, q))


def test_ridge_is_scikit_learns_on_unstratified_splits():
    x, y = data()
    raw = []
    for train, test in ShuffleSplit(10, train_size=0.9, random_state=1).split(x):
        predicted = Ridge(alpha=2.0).fit(x[train], y[train]).predict(x[test])
        raw.append([np.corrcoef(predicted[:, i], y[test, i])[0, 1] for i in range(3)])
    score = score_arrays(x, y, metric="ridge", alpha=2.0)
    np.testing.assert_allclose(score.raw, raw, atol=1e-9)
    assert score.value == pytest.approx(np.median(raw, axis=1).mean(), abs=1e-9)
    assert score.ceiling is None


@pytest.mark.parametrize("metric", ["neuron_to_neuron", "rdm"])
def test_it_is_the_labelled_metric(metric):
    x, y = data()
    kwargs = {"crossvalidation_kwargs": {"stratification_coord": None}} if metric != "rdm" else {}
    expected = load_metric(metric, **kwargs)(labelled(x, IDS), labelled(y, IDS)).value
    assert score_arrays(x, y, metric=metric).value == pytest.approx(expected, rel=1e-13)


def test_numpy_jax_torch_and_lists_give_the_same():
    torch = pytest.importorskip("torch")
    x, y = (values.astype(np.float32) for values in data())
    grown = torch.tensor(x, requires_grad=True)  # a tensor of a graph, as a network gives it
    expected = score_arrays(x, y, metric="ridge").value
    for given_x, given_y in [(jnp.asarray(x), jnp.asarray(y)), (grown, torch.tensor(y)), (x.tolist(), y.tolist())]:
        assert score_arrays(given_x, given_y, metric="ridge").value == pytest.approx(expected, abs=1e-12)


X, Y = data()


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X, Y[:-1], r"same stimuli in their rows: X has shape \(60, 8\), Y has shape \(59, 3\)"),
        (X[None], Y, r"X must have the shape \(stimuli, units\), it has \(1, 60, 8\)$"),
        (X.astype(str), Y, "X must hold real numbers, it holds <U"),
        ([[1.0, 2.0], [3.0]], Y, "X is not an array of numbers: "),
        (np.where(X > 2, np.nan, X), Y, "NaN"),
        (np.ma.masked_greater(X, 2), Y, r"^X has \d+ masked of 480 values: fill them"),
    ],
)
def test_bad_arrays_are_one_clear_error(x, y, message):
    with pytest.raises(ValueError, match=message):
        score_arrays(x, y, metric="ridge")


def test_bad_settings_are_one_clear_error():
    with pytest.raises(KeyError, match="unknown metric 'rigde'; nearest: ridge"):
        score_arrays(X, Y, metric="rigde")
    with pytest.raises(ValueError, match="metric 'ridge' takes no argument alhpa; it takes: .*alpha"):
        score_arrays(X, Y, metric="ridge", alhpa=2)
    with pytest.raises(ValueError, match=r"use bsjax.load_metric\('ridge_split'\)"):
        score_arrays(X, Y, metric="ridge_split")
    with pytest.raises(ValueError, match="got the class Ridge"):
        score_arrays(X, Y, bsjax.metrics.Ridge)
    with pytest.raises(ValueError, match="got 'float23'"):
        score_arrays(X, Y, "cka", dtype="float23")


@pytest.mark.parametrize(
    "call",
    [
        lambda: load_metric("cka")(X, Y),
        lambda: bsjax.rdm_of(X),
        lambda: bsjax.load_ceiling("rsa_ceiling")(X),
        lambda: bsjax.score_sources("cka", {"a": X}, Y),
        lambda: bsjax.generalisation(X, Y, "object_name"),
    ],
)
def test_arrays_in_the_place_of_assemblies_are_refused(call):
    with pytest.raises(ValueError, match="must be a labelled array .* got a ndarray"):
        call()


def test_a_registered_function_scores_by_its_name():
    def first_units(source, target):
        return bsjax.Score(float(np.corrcoef(source[:, 0], target[:, 0])[0, 1]))

    metric_registry["first-units"] = lambda: first_units
    by_name = score_arrays(X, Y, "first-units")
    del metric_registry["first-units"]
    assert float(by_name) == float(score_arrays(X, Y, first_units))


def test_whole_numbers_are_compared_as_floats():
    counts = np.random.default_rng(0).poisson(5, (20, 6))
    of_counts, of_floats = (bsjax.rdm_of(labelled(each, np.arange(20))) for each in (counts, counts.astype(float)))
    np.testing.assert_array_equal(of_counts, of_floats)
    in_time = [bsjax.cross_temporal(each[..., None], each[..., None], metric="cka") for each in (counts, counts * 1.0)]
    assert in_time[0].equals(in_time[1])


# What a metric cannot be made without.
NEEDED = {
    "regression": {"estimator": LinearRegression()},
    "multiple_kernel_ridge": {"candidates": 3},
    "banded_ridge": {"bands": (10, 20), "candidates": 3},
    **dict.fromkeys(("stacked_regression", "weighted_rdm", "selected_rdm", "interpolated_rdm"), {"bands": (10, 20)}),
}


@pytest.mark.slow
def test_every_metric_can_be_asked_for():
    """A metric either scores two arrays or says what it needs instead."""
    x, y = data(n=80, p=30, q=30)
    scored = []
    for metric in bsjax.list_metrics():
        try:
            settings = NEEDED.get(metric.removesuffix("_cv").removeprefix("reverse_"), {})
            assert np.isfinite(score_arrays(x, y, metric=metric, **settings).value), metric
            scored.append(metric)
        except ValueError as error:
            assert "two arrays are not enough" in str(error), metric
    assert set(scored) == set(compare_responses())


IDS = [f"s{i}" for i in range(60)]
ORDER = np.random.default_rng(1).permutation(60)


def labelled(values, ids):
    return NeuroidAssembly(values, coords={"stimulus_id": ("presentation", ids)}, dims=["presentation", "neuroid"])


KINDS = {
    "assemblies, neuroids first": lambda values, ids: labelled(values, ids).transpose("neuroid", "presentation"),
    "assemblies of one time bin": lambda values, ids: labelled(values, ids).expand_dims("time_bin", 1),
    "labelled arrays": lambda values, ids: xr.DataArray(values, {"picture": list(ids)}, ["picture", "unit"]),
    "tables": lambda values, ids: pd.DataFrame(values, index=list(ids)),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_labelled_rows_are_matched_by_their_labels(kind):
    expected = score_arrays(X, Y, metric="cka").value
    shuffled = kind(X[ORDER], np.array(IDS)[ORDER])
    assert score_arrays(shuffled, labelled(Y, IDS), metric="cka").value == pytest.approx(expected, abs=1e-12)
    # What has no labels goes by position.
    assert score_arrays(kind(X, IDS), Y, metric="cka").value == pytest.approx(expected, abs=1e-12)


def test_a_constant_pattern_is_named_where_it_leaves_an_rdm_undefined():
    x = X.copy()
    x[7] = 0.1
    score = score_arrays(labelled(x, IDS), labelled(Y, IDS), metric="rdm")
    assert repr(score) == "Score(nan, r: source has the same response in all units to 1 stimulus_id (s7))"


@pytest.mark.parametrize("metric", ["cka", "rdm"])
def test_a_similarity_has_an_interval_unless_none_is_asked_for(metric):
    x, y = data()
    alone, known = score_arrays(x, y, metric, error=None), score_arrays(x, y, metric)
    assert alone.error is None and known.value == pytest.approx(alone.value, rel=1e-13)
    assert known.interval().low < known.value < known.interval().high
    assert known.error == score_arrays(x, y, metric, error="influence").error
    assert score_arrays(x, y, "rdm", comparison="tau-a").error is None


def test_rdms_are_scored_beside_arrays_and_tables():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(9, 5)), rng.normal(size=(9, 7))
    table = pd.DataFrame(y, list("abcdefghi"))
    ids = {"stimulus_id": ("presentation", list(table.index))}
    target = bsjax.rdm_of(xr.DataArray(y, ids, ["presentation", "neuroid"]))
    expected = bsjax.score_arrays(x, y, "rdm")
    for source, rdm in ((x, target), (pd.DataFrame(x, table.index)[::-1], target)):
        found = bsjax.score_arrays(source, rdm, "rdm")
        assert (float(found), found.error) == pytest.approx((float(expected), expected.error), abs=1e-5)
    with pytest.raises(ValueError, match="beside an RDM of 9 stimuli"):
        bsjax.score_arrays(x[:8], target, "rdm")
    with pytest.raises(ValueError, match="where responses are expected"):
        bsjax.score_arrays(x, target, "cka")
