"""All pairs of many representations: equal to the score of each pair, with one computation of each representation."""

import json

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import bsjax
from bsjax.metrics import cka

RNG = np.random.default_rng(0)
SIDES = {name: RNG.normal(size=(40, units)) for name, units in (("a", 4), ("b", 9), ("c", 60))}
SIDES["d"] = SIDES["a"] @ RNG.normal(size=(4, 7)) + 0.5 * RNG.normal(size=(40, 7))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["cka", "cka_biased", "rdm", "procrustes", "semi_matching", "ridge"])
def test_each_entry_is_the_score_of_its_pair(metric):
    found = bsjax.similarity_matrix(SIDES, metric=metric)
    assert found.dims == ("source", "target") and found.name == metric
    for source, target in (("a", "d"), ("d", "a"), ("b", "c"), ("c", "c")):
        alone = float(bsjax.score_arrays(SIDES[source], SIDES[target], metric=metric))
        assert float(found.sel(source=source, target=target)) == pytest.approx(alone, abs=1e-9), (source, target)
    equal = np.array_equal(found.values, found.values.T)
    assert equal == (metric not in ("semi_matching", "ridge"))


@pytest.mark.slow
def test_settings_are_those_of_the_metric():
    one = bsjax.similarity_matrix(SIDES, metric="rdm", dissimilarity="euclidean", comparison="tau-a")
    alone = bsjax.score_arrays(SIDES["a"], SIDES["d"], metric="rdm", dissimilarity="euclidean", comparison="tau-a")
    assert float(one.sel(source="a", target="d")) == pytest.approx(float(alone), abs=1e-12)
    made = bsjax.load_metric(one.attrs["metric"], **json.loads(one.attrs["settings"]))
    assert made == bsjax.load_metric("rdm", dissimilarity="euclidean", comparison="tau-a")


def test_each_representation_is_computed_once(monkeypatch):
    made = bsjax.load_metric("cka")
    asked = []
    monkeypatch.setattr(type(made), "__call__", lambda *sides: asked.append(sides))
    bsjax.similarity_matrix(SIDES, metric=made)
    assert asked == []


def test_rows_are_matched_by_label():
    order = RNG.permutation(40)
    tables = {"a": pd.DataFrame(SIDES["a"]), "d": pd.DataFrame(SIDES["d"][order], index=order)}
    expected = float(bsjax.score_arrays(SIDES["a"], SIDES["d"], metric="cka"))
    assert float(bsjax.similarity_matrix(tables)[0, 1]) == pytest.approx(expected, abs=1e-12)


def test_what_is_undefined_is_nan_and_leaves_the_rest():
    found = bsjax.similarity_matrix(SIDES | {"constant": np.ones((40, 3))})
    assert np.isnan(found.sel(source="constant")).all() and np.isfinite(found.values[:4, :4]).all()


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="two representations"):
        bsjax.similarity_matrix({"a": SIDES["a"]})
    with pytest.raises(ValueError, match="same stimuli"):
        bsjax.similarity_matrix({"a": SIDES["a"], "b": SIDES["b"][:30]})
    with pytest.raises(ValueError, match="4 stimuli"):
        bsjax.similarity_matrix({name: side[:3] for name, side in SIDES.items()})
    with bsjax.memory_limit("100MB"), pytest.raises(ValueError, match="memory"):
        bsjax.similarity_matrix({name: np.ones((3000, 2)) for name in SIDES})


@pytest.mark.slow
def test_a_plugins_function_is_a_metric():
    def overlap(source, target):
        return bsjax.Score(float(cka(*map(jnp.asarray, (source.values, target.values)))))

    assert float(bsjax.similarity_matrix(SIDES, metric=overlap)[0, 0]) == pytest.approx(1.0)
