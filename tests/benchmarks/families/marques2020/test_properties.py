"""Properties of single neurons, from a model to a score."""

import json

import numpy as np
import pytest

from bsjax import load_benchmark, load_metric
from bsjax.benchmarks.families.marques2020.histograms import recorded
from bsjax.benchmarks.families.marques2020.properties import PropertiesBenchmark
from bsjax.labelled import Score
from bsjax.labelled.tuning.distributions import NeuronalPropertyCeiling
from bsjax.labelled.tuning.experiments import devalois1982a_properties
from tests.support import v1_neurons as neurons
from tests.support.observers import observed

ORIENTATION = "Marques2020_DeValois1982-pref_or"
SIZE = "Marques2020_Cavanaugh2002-grating_summation_field"


@pytest.fixture(scope="module")
def v1():
    return neurons.population(150, surround=0.5)


@pytest.mark.slow
def test_a_population_like_v1_scores_and_its_distributions_survive_json(v1):
    scores = [load_benchmark(identifier)(v1) for identifier in (ORIENTATION, SIZE)]
    for score in scores:
        raw, ceiling = float(score.unceiled), float(score.ceiling)
        assert float(score) == pytest.approx(raw / ceiling) and score.formula == "r/c"
        # Both are drawn by themselves, and their ratio in each draw: the delta method, but for chance and curvature.
        by_delta = np.hypot(score.unceiled.error, raw / ceiling * score.ceiling.error) / ceiling
        assert score.error == pytest.approx(by_delta, rel=0.1) and "drawn by itself" in score.error_kind
        assert score.raw.sizes == {"bootstrap": 1000} and 0.1 < raw <= 1
    assert float(scores[0]) > 0.9
    again = Score.from_dict(json.loads(json.dumps(scores[1].to_dict()))).provenance["distribution"]
    assert again["recorded"] == [0, 9, 30, 55, 42, 10, 2, 0] and again["recorded_undefined"] == 42
    assert sum(again["model"]) + again["model_undefined"] == scores[1].n_units and again["unit"] == "degrees"


@pytest.mark.slow
def test_properties_are_those_that_the_neurons_have():
    model = neurons.Neurons(np.array([10.0, 75.0, 170.0]), np.array([1.5, 3.0, 6.0]), surround=0.8)
    found = observed(load_benchmark(ORIENTATION), model)
    assert found["neuroid_id"].values.tolist() == ["n0", "n1", "n2"]
    np.testing.assert_allclose(found.values[:, 0], [10, 75, -10], atol=2)
    frequency = observed(load_benchmark("Marques2020_DeValois1982-peak_sf"), model)
    np.testing.assert_allclose(np.log2(frequency.values[:, 0] / model.frequency), 0, atol=0.1)
    size = observed(load_benchmark("Marques2020_Cavanaugh2002-surround_suppression_index"), model)
    suppressed = size.sel(neuroid_property="surround_suppression_index").values
    assert ((0.1 < suppressed) & (suppressed < 0.9)).all() and size.attrs["units_in_field"] == 3


def mine(**settings):
    defaults = {
        "assembly": lambda: recorded("DeValois1982a"),
        "neuronal_property": devalois1982a_properties,
        "similarity_metric": load_metric("ks_similarity", property_name="preferred_orientation", ns=50),
        "timebins": [(70, 170)],
        "stimulus_set": "Marques2020_orientation",
    }
    return PropertiesBenchmark("Mine2026-orientation", **{**defaults, **settings})


def test_ceilings_as_in_brainscore_and_of_ones_own():
    metric = load_metric("ks_similarity", property_name="preferred_orientation", ns=50)
    assert float(mine().ceiling) == float(mine(ceiling_func=NeuronalPropertyCeiling(metric)).ceiling)
    assert mine(ceiling_func=lambda: Score(0.5)).ceiling == 0.5


def test_no_unit_that_responds(v1):
    def nothing(responses, baseline):
        return devalois1982a_properties(responses * 0 + baseline, baseline)

    score = mine(neuronal_property=nothing)(v1)
    assert np.isnan(score.value) and np.isnan(score.unceiled.value)
    assert score.provenance["reason"] == (
        "none of the 0 units of model 'neurons' that respond has a preferred orientation"
    )
    assert "distribution" not in score.provenance and score.ceiling > 0.9


def test_no_unit_where_the_stimuli_are():
    score = mine()(neurons.population(3, place=(-1.0, 1.0)))
    assert np.isnan(score.value)
    assert "'neurons' has no unit with its receptive field within 0.15 degrees" in score.provenance["reason"]
    assert Score.from_dict(score.to_dict()).provenance == score.provenance
