"""Explained variance divided among feature spaces: sums, definitions, and a simulated truth."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.linear_model import Ridge

import bsjax
from bsjax.metrics.regression.variance import shapley_shares, subsets

SPLITS = {"splits": 4}


def unit(x):
    return x / x.std(axis=0)


@pytest.fixture(scope="module")
def data():
    """Half of the variance is common to a and b, a quarter belongs to a alone, and a quarter is noise."""
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=(400, 3)), rng.normal(size=(400, 2))
    spaces = {
        "a": np.concatenate([common, own], axis=1),
        "b": np.concatenate([common @ rng.normal(size=(3, 3)), rng.normal(size=(400, 2))], axis=1),
        "c": rng.normal(size=(400, 4)),
    }
    parts = unit(common @ rng.normal(size=(3, 4))), unit(own @ rng.normal(size=(2, 4))), rng.normal(size=(400, 4))
    return spaces, sum(np.sqrt(share) * part for share, part in zip((0.5, 0.25, 0.25), parts, strict=True))


@pytest.mark.slow
def test_shares_are_those_of_the_simulated_responses(data):
    found = bsjax.variance_partition(*data, metric="ridge", alpha=0.1)
    np.testing.assert_allclose(found["explained"].sel(subset="a"), 0.75, atol=0.08)
    np.testing.assert_allclose(found["unique"].sel(space="a"), 0.25, atol=0.08)
    np.testing.assert_allclose(found["unique"].sel(space=["b", "c"]), 0.0, atol=0.03)
    np.testing.assert_allclose(found["shapley"].sel(space="b"), 0.25, atol=0.08)
    np.testing.assert_allclose(found["shapley"].sum("space"), found["explained"].sel(subset="a + b + c"), atol=1e-12)


@pytest.mark.slow
def test_each_subset_is_a_regression_on_its_features(data):
    spaces, responses = data
    found = bsjax.variance_partition(spaces, responses, "ridge", SPLITS, alpha=3.0)
    metric = bsjax.load_metric("ridge", crossvalidation_kwargs={**SPLITS, "stratification_coord": None})
    labelled = bsjax.NeuroidAssembly(
        responses,
        {"stimulus_id": ("presentation", np.arange(400)), "neuroid_id": ("neuroid", list("abcd"))},
        ["presentation", "neuroid"],
    )
    x, explained = np.concatenate([spaces["a"], spaces["c"]], axis=1), []
    for train, test in metric.folds_of(labelled):
        left = responses[test] - Ridge(3.0).fit(x[train], responses[train]).predict(x[test])
        explained.append(1 - left.var(axis=0) / responses[test].var(axis=0))
    np.testing.assert_allclose(found["explained"].sel(subset="a + c"), np.mean(explained, axis=0), atol=1e-9)


def test_shapley_shares_by_all_orders():
    rng, names = np.random.default_rng(1), ["a", "b", "c", "d"]
    explained = {subset: rng.normal(size=3) for subset in subsets(names)}
    expected = np.zeros((4, 3))
    for order in permutations(names):
        for place, name in enumerate(order):
            before, after = (tuple(sorted(order[:end])) for end in (place, place + 1))
            expected[names.index(name)] += (explained[after] - explained.get(before, 0.0)) / 24
    np.testing.assert_allclose(shapley_shares(explained, names), expected, atol=1e-12)


def test_what_cannot_be_divided(data):
    spaces, responses = data
    with pytest.raises(ValueError, match="two to 6"):
        bsjax.variance_partition({"a": spaces["a"]}, responses)
    with pytest.raises(ValueError, match="predicts no responses"):
        bsjax.variance_partition(spaces, responses, metric="cka")
    with pytest.raises(ValueError, match="same stimuli"):
        bsjax.variance_partition(spaces, responses[:50])
