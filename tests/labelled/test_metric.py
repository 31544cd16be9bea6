"""A metric whose author defines how it is called, and nothing else: what it gets for that."""

from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr
from sklearn.neighbors import KNeighborsRegressor

import bsjax
from bsjax import Metric, Resampling, Score, load_metric
from bsjax.labelled.metric import CallableMetric, CeilingOf, as_metric, redrawn, scored
from bsjax.labelled.nulls.permutations import in_permutations
from bsjax.labelled.resampling import drawn_of, in_draws
from bsjax.labelled.splits import CrossValidation

N = 40


@dataclass(frozen=True)
class Nearest(Metric):
    """Correlation of the responses to held-out stimuli with those to the stimulus with the nearest features."""

    neighbours: int = 1
    identifier = "nearest"

    def __call__(self, source, target):
        of_source = dict(zip(source["stimulus_id"].values, source.values, strict=True))
        x = np.stack([of_source[name] for name in target["stimulus_id"].values])
        splits = CrossValidation(splits=4, train_size=0.75, stratification_coord=None).of(target)
        values = []
        for train, test in splits:
            fit = KNeighborsRegressor(self.neighbours).fit(x[train], target.values[train])
            values.append(np.corrcoef(fit.predict(x[test]).ravel(), target.values[test].ravel())[0, 1])
        return Score(float(np.mean(values)))


def responses(seed, width, **coords):
    values = np.random.default_rng(seed).normal(size=(N, width))
    named = {"stimulus_id": ("presentation", [f"s{i}" for i in range(N)]), **coords}
    return xr.DataArray(values, named, ["presentation", "neuroid"])


def test_draws_of_noise_straddle_zero_and_say_what_they_are_made_from():
    with in_draws(Resampling("stimuli", draws=30)):
        score = scored(Nearest(neighbours=2), responses(0, 20), responses(1, 3))
    assert 0 in score.interval() and score.uncertainty.draws.sizes["draw"] == 30
    assert score.provenance.metric == "nearest" and score.provenance["neighbours"] == 2


def test_permutations_call_it_again():
    x = responses(0, 5)
    with in_permutations(19):
        score = scored(Nearest(), x, x)
    assert score.provenance["p_value"] == 0.05


def test_it_is_scored_where_metrics_are():
    x = responses(0, 5)
    near, far = x + 0.01 * responses(2, 5).values, responses(3, 5)
    found = bsjax.score_sources(Nearest(), {"near": near, "far": far}, x)
    assert found["near"] > 0.2 > found["far"]
    assert bsjax.score_arrays(near.values, x.values, metric=Nearest()) == found["near"]
    with pytest.raises(ValueError, match="neighbours"):
        bsjax.score_arrays(near.values, x.values, metric=Nearest(), neighbours=3)


def test_a_registered_one_is_taken_by_name():
    bsjax.metric_registry.register("nearest", Nearest)
    try:
        x = responses(0, 5)
        assert bsjax.score_arrays(x.values, x.values, metric="nearest", neighbours=1) > 0.2
    finally:
        del bsjax.metric_registry["nearest"]


def test_one_that_cannot_be_called_cannot_be_made():
    class Uncallable(Metric):
        identifier = "uncallable"

    with pytest.raises(TypeError, match="abstract"):
        Uncallable()


def test_whatever_is_called_is_a_metric():
    cka, i1 = load_metric("cka"), load_metric("i1")
    assert as_metric(cka) is cka and isinstance(as_metric(i1.ceiling), CeilingOf)
    plain = as_metric(lambda source, target: Score(1.0))
    assert isinstance(plain, CallableMetric) and plain.depends_on == "features" and not plain.symmetric


def test_draws_without_a_value_are_nan_and_a_metric_that_has_none_says_why():
    x = responses(0, 5)

    def refusing(source, target):
        if len(np.unique(target["drawn_from"])) < 26:
            raise ValueError("too few stimuli")
        return Score(0.5)

    drawn = drawn_of(Resampling("stimuli", draws=40), [x, x])
    values = redrawn(refusing, drawn, [x, x])["values"]
    assert 0 < int(values.isnull().sum()) < 40
    with pytest.raises(ValueError, match="none at all"):
        redrawn(lambda *_: (_ for _ in ()).throw(ValueError("none at all")), drawn, [x, x])


@pytest.mark.parametrize("name", ["ridge", "pls_split", "reverse_pls", "spantime_ridge", "cka", "rdm_cv", "accuracy"])
def test_equal_metrics_have_equal_hashes(name):
    one, other = load_metric(name), load_metric(name)
    assert one == other and hash(one) == hash(other) and {one: 1}[other] == 1
