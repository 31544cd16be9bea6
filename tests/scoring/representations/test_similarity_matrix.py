"""All pairs of many representations: equal to the score of each pair, with one computation of each representation."""

import numpy as np
import pytest

import bsjax

RNG = np.random.default_rng(0)
SIDES = {name: RNG.normal(size=(40, units)) for name, units in (("a", 4), ("b", 9), ("c", 60))}
SIDES["d"] = SIDES["a"] @ RNG.normal(size=(4, 7)) + 0.5 * RNG.normal(size=(40, 7))


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["cka", "rdm", "semi_matching", "ridge"])
def test_each_entry_is_the_score_of_its_pair(metric):
    found = bsjax.similarity_matrix(SIDES, metric=metric)
    assert found.dims == ("source", "target") and found.name == metric
    for source, target in (("a", "d"), ("d", "a"), ("b", "c"), ("c", "c")):
        alone = float(bsjax.score_arrays(SIDES[source], SIDES[target], metric=metric))
        assert float(found.sel(source=source, target=target)) == pytest.approx(alone, abs=1e-9), (source, target)
    equal = np.array_equal(found.values, found.values.T)
    assert equal == (metric not in ("semi_matching", "ridge"))


def test_each_representation_is_computed_once(monkeypatch):
    made = bsjax.load_metric("cka")
    asked = []
    monkeypatch.setattr(type(made), "__call__", lambda *sides: asked.append(sides))
    bsjax.similarity_matrix(SIDES, metric=made)
    assert asked == []


def test_what_is_undefined_is_nan_and_leaves_the_rest():
    found = bsjax.similarity_matrix(SIDES | {"constant": np.ones((40, 3))})
    assert np.isnan(found.sel(source="constant")).all() and np.isfinite(found.values[:4, :4]).all()


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="two representations"):
        bsjax.similarity_matrix({"a": SIDES["a"]})
    for compare in (bsjax.similarity_matrix, bsjax.brain_to_brain):
        with pytest.raises(ValueError, match="must have names"):
            compare([*SIDES.values()])
    with pytest.raises(ValueError, match="same stimuli"):
        bsjax.similarity_matrix({"a": SIDES["a"], "b": SIDES["b"][:30]})
    with bsjax.memory_limit("100MB"), pytest.raises(ValueError, match="memory"):
        bsjax.similarity_matrix({name: np.ones((3000, 2)) for name in SIDES})
