"""Properties of single neurons, from a model to a score."""

import json

import numpy as np
import pytest
from PIL import Image

from bsjax import NeuroidAssembly, PropertyAssembly, StimulusSet, load_benchmark, load_metric
from bsjax.benchmarks import builtin_benchmarks
from bsjax.benchmarks.families.marques2020.histograms import recorded
from bsjax.benchmarks.families.marques2020.properties import PropertiesBenchmark
from bsjax.labelled import Score
from bsjax.labelled.tuning.distributions import NeuronalPropertyCeiling
from bsjax.labelled.tuning.experiments import devalois1982a_properties, freemanziemba2013_properties
from tests.support import v1_neurons as neurons
from tests.support.observers import observed

PUBLISHED = [name for name in builtin_benchmarks() if name.startswith("Marques2020_")]
ORIENTATION = "Marques2020_DeValois1982-pref_or"


@pytest.fixture(scope="module")
def v1():
    return neurons.population(150, surround=0.5)


class Scores(dict[str, Score]):
    """The score of each benchmark that is asked for, once."""

    def __missing__(self, identifier):
        self[identifier] = load_benchmark(identifier)(neurons.population(150, surround=0.5))
        return self[identifier]


@pytest.fixture(scope="module")
def scores():
    return Scores()


@pytest.mark.slow
def test_a_population_like_v1_scores_on_all_seven(scores):
    assert len(PUBLISHED) == 7
    for identifier in PUBLISHED:
        score = scores[identifier]
        raw, ceiling = float(score.unceiled), float(score.ceiling)
        assert float(score) == pytest.approx(raw / ceiling) and score.formula == "r/c"
        # Both are drawn by themselves, and their ratio in each draw: the delta method, but for chance and curvature.
        by_delta = np.hypot(score.unceiled.error, raw / ceiling * score.ceiling.error) / ceiling
        assert score.error == pytest.approx(by_delta, rel=0.1) and "drawn by itself" in score.error_kind
        assert score.raw.sizes == {"bootstrap": 1000} and 0.1 < raw <= 1, identifier
    assert float(scores[ORIENTATION]) > 0.9 and float(scores["Marques2020_DeValois1982-peak_sf"]) > 0.8


@pytest.mark.slow
def test_what_a_score_says_of_its_origin(scores):
    made = scores[ORIENTATION].provenance
    assert (made["model"], made["benchmark"], made["benchmark_version"]) == ("neurons", ORIENTATION, 1)
    assert (made["region"], made["units_of_model"]) == ("V1", 150)
    assert 140 < made["units_in_field"] < 150  # a few hardly respond to three cycles a degree
    assert made["data"].startswith("sha256:") and made["metric"] == "ks_similarity"


@pytest.mark.slow
def test_the_distributions_survive_json(scores):
    size = scores["Marques2020_Cavanaugh2002-grating_summation_field"]
    again = Score.from_dict(json.loads(json.dumps(size.to_dict()))).provenance["distribution"]
    assert again["recorded"] == [0, 9, 30, 55, 42, 10, 2, 0] and again["recorded_undefined"] == 42
    assert sum(again["model"]) + again["model_undefined"] == size.n_units and again["unit"] == "degrees"


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


def texture_set(folder):
    """Two types, fifteen families, fifteen samples, all the same image: the neurons read the columns."""
    path = folder / "texture.png"
    Image.new("L", (160, 160), 128).save(path)
    rows = [
        {"stimulus_id": f"{kind}-{family}-{sample}", "type": kind, "family": family, "sample": sample,
         "position_y": 0.5, "position_x": 0.5, "degrees": 8}
        for kind in (1, 2) for family in range(15) for sample in range(15)
    ]  # fmt: skip
    paths = {row["stimulus_id"]: path for row in rows}
    return StimulusSet(rows, identifier="textures", stimulus_paths=paths)


class SeesTextures(neurons.Neurons):
    """Responds half as strongly to noise as to texture."""

    def look_at(self, stimuli, number_of_trials=1, require_variance=False):
        if "type" not in stimuli.columns:
            return super().look_at(stimuli)
        names = ("stimulus_id", "type", "family", "sample", "position_y", "position_x")
        values = np.repeat(0.3 * stimuli["type"].to_numpy(np.float32)[:, None], len(self.orientation), axis=1)
        coords = {name: ("presentation", stimuli[name].to_numpy()) for name in names}
        ids = {"neuroid_id": ("neuroid", [f"n{number}" for number in range(values.shape[1])])}
        return NeuroidAssembly(values, coords={**coords, **ids}, dims=["presentation", "neuroid"])


@pytest.mark.slow
def test_stimuli_that_come_with_the_data(tmp_path):
    index = PropertyAssembly(
        np.linspace(-0.5, 0.5, 20)[:, None],
        coords={
            "neuroid_id": ("neuroid", np.arange(20)),
            "region": ("neuroid", ["V1"] * 20),
            "neuroid_property": ["texture_modulation_index"],
        },
        dims=["neuroid", "neuroid_property"],
        attrs={"texture_modulation_index_bins": np.linspace(-1, 1, 11), "stimulus_set": texture_set(tmp_path)},
    )
    texture = mine(
        assembly=index,
        neuronal_property=freemanziemba2013_properties,
        similarity_metric=load_metric("ks_similarity", property_name="texture_modulation_index", ns=50),
        stimulus_set=None,
    )
    model = SeesTextures(np.linspace(0, 170, 12), np.full(12, 3.0))
    measured = observed(texture, model).sel(neuroid_property="texture_modulation_index")
    assert measured.sizes["neuroid"] == 12 and np.ptp(measured.values) < 1e-4 and 0.3 < measured[0] < 0.4
    assert 0 < float(texture(model)) < 1


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
