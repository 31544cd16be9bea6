"""``choose_layers``: what is chosen, how sure it is, what is kept, and what is said of what cannot be scored."""

import json
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bsjax import ModelCommitment, Score, StimulusSet, load_metric
from bsjax.activations.temporal import TemporalActivations
from bsjax.adapters import from_jax, from_stored, unit_preprocessing
from bsjax.benchmarks import NeuralBenchmark
from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.engine.programs.compilation import traces
from bsjax.models.time_alignment import align_time
from bsjax.scoring.layers.bootstrap import share_of_other_winners_by_jackknife
from bsjax.scoring.layers.choice import choose_layers
from tests.scoring.conftest import recorded
from tests.support.transfers import explicit_transfers

STIMULI = procedural_stimuli("sixty", 10, 16, visual_degrees=8, seed=5)
IDS = STIMULI["stimulus_id"].tolist()
N, NEUROIDS = len(IDS), 6
RIDGE = {"crossvalidation_kwargs": {"stratification_coord": None, "splits": 4, "train_size": 0.8}}
SIGNAL = np.random.default_rng(0).normal(size=(N, NEUROIDS))


def noisy(noise, seed, width=64):
    """Features from which the signal can be predicted but for the noise."""
    rng = np.random.default_rng(seed)
    return (SIGNAL @ rng.normal(size=(NEUROIDS, width)) + noise * rng.normal(size=(N, width))).astype(np.float32)


ACTIVATIONS = {"early": noisy(20, 1), "middle": noisy(1, 2, width=100), "late": noisy(6, 3)}


class Counted:
    """An activations model that counts its passes."""

    def __init__(self, activations=ACTIVATIONS):
        self.stored = from_stored(activations, "net", stimulus_ids=IDS)
        self.identifier = "net"
        self.asked = []

    def layers(self):
        return self.stored.layers()

    def __call__(self, stimuli, layers):
        self.asked.append(list(layers))
        return self.stored(stimuli, layers)


def benchmark(metric="ridge", region="IT", ceiling=0.8, ids=IDS, **arguments):
    shown = STIMULI.set_index("stimulus_id", drop=False).loc[ids].reset_index(drop=True)
    assembly = recorded(SIGNAL + np.random.default_rng(9).normal(size=SIGNAL.shape), shown, region)
    arguments = arguments or (RIDGE if metric == "ridge" else {})
    return NeuralBenchmark(
        f"Small.{region}-{metric}",
        assembly,
        load_metric(metric, **arguments),
        ceiling_func=lambda: Score(ceiling, error=0.02),
    )


@pytest.fixture(scope="module")
def choice():
    return choose_layers(from_stored(ACTIVATIONS, "net", stimulus_ids=IDS), benchmarks={"IT": benchmark()})


@pytest.mark.slow
def test_each_layer_scores_as_by_itself_and_the_best_is_chosen(choice):
    assert choice.region_layer_map == {"IT": "middle"}
    of_region = choice.regions["IT"]
    for layer, score in of_region.scores.items():
        stored = from_stored(ACTIVATIONS, "net", stimulus_ids=IDS)
        alone = benchmark()(ModelCommitment("net", stored, region_layer_map={"IT": layer}))
        np.testing.assert_allclose(score.unceiled.raw, alone.unceiled.raw, atol=1e-9, rtol=0)
        assert float(score) == pytest.approx(float(alone), abs=1e-9)
        assert score.error == pytest.approx(alone.error, abs=1e-9)
        assert score.provenance == alone.provenance
    ranked = sorted(map(float, of_region.scores.values()))
    assert choice.margin["IT"] == ranked[-1] - ranked[-2] and of_region.runner_up == "late"
    assert of_region.note == ""


@pytest.mark.slow
def test_the_profile_is_in_the_order_of_depth(choice):
    profile = choice.profile
    assert profile.dims == ("region", "layer")
    assert repr(benchmark()) == "NeuralBenchmark('Small.IT-ridge', version 1)"
    head, of_region = repr(choice).splitlines()
    assert "chosen from 3" in head and of_region.startswith("IT: middle, ") and "above late" in of_region
    assert profile["layer"].values.tolist() == ["early", "middle", "late"]
    assert profile["benchmark"].values.tolist() == ["Small.IT-ridge"]
    assert profile.sel(region="IT", layer="late") == float(choice.regions["IT"].scores["late"])
    assert profile["error"].sel(region="IT", layer="late") == choice.regions["IT"].scores["late"].error


def test_the_nested_score_is_of_choices_made_without_its_stimuli(choice):
    of_region = choice.regions["IT"]
    assert of_region.nested_layers == ("middle",) * 4
    assert choice.nested_score["IT"] == of_region.scores["middle"]  # the same layer won in every fold
    assert of_region.nested_score.formula == "r²/c"
    assert 0 <= choice.differs["IT"] < 0.1


@pytest.mark.slow
def test_regions_with_the_same_stimuli_share_one_pass():
    model = Counted()
    choice = choose_layers(
        model,
        ["late", "early"],
        {"IT": benchmark(), "V4": benchmark("cka", "V4", error="jackknife")},
        nested=False,
        n_bootstrap=0,
    )
    assert model.asked == [["early", "late"]]
    assert list(choice.region_layer_map) == ["V4", "IT"]
    assert choice.nested_score == {"V4": None, "IT": None} and math.isnan(choice.differs["IT"])
    two = Counted()
    other = benchmark(region="V4", ids=IDS[::-1])
    assert choose_layers(two, benchmarks={"V4": other, "IT": benchmark()}).region_layer_map["IT"] == "middle"
    assert len(two.asked) == 2


@pytest.mark.slow
def test_a_similarity_has_a_nested_choice_too():
    choice = choose_layers(Counted(), benchmarks={"IT": benchmark("cka")}, seed=3)
    assert choice.region_layer_map == {"IT": "middle"}
    assert choice.regions["IT"].nested_layers == ("middle",) * 10
    assert 0 <= choice.differs["IT"] < 0.05
    assert 0.1 < choice.nested_score["IT"] < 1


def test_a_layer_that_predicts_the_opposite_does_not_win():
    """r²/c keeps the sign of r, so that a large negative correlation is not a high score."""

    def first_units(source, target):
        return Score(float(np.corrcoef(source.values[:, 0], target.values[:, 0])[0, 1]), formula="r")

    of_own = benchmark()
    of_own.metric = first_units
    activations = {"opposite": -SIGNAL.astype(np.float32), "weak": (SIGNAL + noisy(3, 1, NEUROIDS)).astype(np.float32)}
    choice = choose_layers(from_stored(activations, "net", stimulus_ids=IDS), benchmarks={"IT": of_own})
    scores = choice.regions["IT"].scores
    assert scores["opposite"] < -0.3 and 0 < scores["weak"] < 0.3
    assert choice.region_layer_map == {"IT": "weak"}
    assert choice.nested_score == {"IT": None} and math.isnan(choice.differs["IT"])  # such a metric has no folds


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["pls", "cka"])
def test_a_copy_of_a_layer_does_not_win_by_rounding(metric):
    late = ACTIVATIONS["late"]
    shuffled = late[:, np.random.default_rng(3).permutation(late.shape[1])]
    model = from_stored({"early": ACTIVATIONS["early"], "a": shuffled, "b": late}, "net", stimulus_ids=IDS)
    arguments = RIDGE if metric == "pls" else {"error": "jackknife"}  # whose value is that of the plain kernel
    choice = choose_layers(model, benchmarks={"IT": benchmark(metric, **arguments)}, nested=False)
    of_region = choice.regions["IT"]
    assert 0 < abs(float(of_region.scores["a"]) - float(of_region.scores["b"])) < 1e-10
    assert (of_region.layer, of_region.tied, of_region.runner_up, of_region.margin) == ("a", ("b",), "b", 0)
    assert ", the same as b" in repr(choice) and "above" not in repr(choice)
    assert of_region.note == "b scored the same; the first in depth was chosen"
    alone = choose_layers(model, ["early", "a"], {"IT": benchmark(metric, **arguments)}, nested=False)
    if metric == "pls":  # of similarities, three layers have other draws of noise than two
        assert of_region.differs == alone.regions["IT"].differs


def test_layers_without_a_score_are_never_chosen():
    silent = np.zeros((N, 70), np.float32)
    model = from_stored({"silent": silent, "late": ACTIVATIONS["late"]}, "net", stimulus_ids=IDS)
    choice = choose_layers(model, benchmarks={"IT": benchmark()})
    assert choice.region_layer_map == {"IT": "late"} and math.isnan(choice.margin["IT"])
    assert np.isnan(choice.profile.sel(layer="silent")).all()
    with pytest.raises(ValueError, match=r"every layer's score on Small.IT-ridge is undefined \(NaN\): silent"):
        choose_layers(model, ["silent"], {"IT": benchmark()})
    with pytest.raises(ValueError, match="undefined .*: silent, late. Its ceiling is 0$"):
        choose_layers(model, benchmarks={"IT": benchmark(ceiling=0.0)})


def test_a_layer_that_the_metric_refuses_is_left_out_with_a_warning():
    narrow = {"narrow": noisy(1, 5, 8), "late": ACTIVATIONS["late"]}
    model = from_stored(narrow, "net", stimulus_ids=IDS)
    with pytest.warns(UserWarning, match="needs at least 25 features") as caught:
        choice = choose_layers(model, benchmarks={"IT": benchmark("pls", **RIDGE)}, nested=False)
    assert choice.region_layer_map == {"IT": "late"} and caught[0].filename == __file__
    assert list(choice.regions["IT"].scores) == ["late"]
    with pytest.raises(ValueError, match="no layer of model 'net' has a score on Small.IT-pls: narrow: PLS"):
        choose_layers(model, ["narrow"], {"IT": benchmark("pls", **RIDGE)}, nested=False)


def test_the_committed_model_records_from_the_chosen_layers(choice):
    model = choice.commit()
    model.start_recording("IT", time_bins=[(70, 170)])
    recording = model.look_at(StimulusSet({"stimulus_id": IDS}))
    assert set(recording["layer"].values) == {"middle"}
    assert benchmark()(model).value == pytest.approx(float(choice.regions["IT"].scores["middle"]), abs=1e-9)
    before = ModelCommitment("net", Counted(), layers=["late"], region_layer_map={"V1": "early", "IT": "early"})
    after = choose_layers(before, benchmarks={"IT": benchmark()}).commit("chosen")
    assert (after.identifier, before.identifier) == ("chosen", "net")
    assert {str(region): list(names) for region, names in after.region_layer_map.items()} == {
        "V1": ["early"],
        "IT": ["late"],
    }


def test_the_saved_map_is_sorted_small_and_the_same_every_time(choice, tmp_path):
    choice.save(tmp_path / "one.json")
    choose_layers(Counted(), benchmarks={"IT": benchmark()}).save(tmp_path / "two.json")
    text = (tmp_path / "one.json").read_text()
    assert text == (tmp_path / "two.json").read_text()
    saved = json.loads(text)
    assert saved["IT"] == "middle" and list(saved) == sorted(saved)
    assert saved["_made_by"]["regions"]["IT"]["benchmark"] == "Small.IT-ridge"
    assert saved["_made_by"]["model"] == "net"
    read = ModelCommitment("net", Counted(), region_layer_map=tmp_path / "one.json")
    assert read.region_layer_map == {"IT": ["middle"]}


def test_what_cannot_be_done_is_one_clear_error():
    with pytest.raises(ValueError, match="no benchmarks to choose layers by"):
        choose_layers(Counted(), benchmarks={})
    with pytest.raises(ValueError, match="no layer 'lat'"):
        choose_layers(Counted(), ["lat"], {"IT": benchmark()})


def test_uncertainty_of_a_similarity_by_the_jackknife():
    """Two scores whose difference has a standard error of one: the other wins as often as a normal says."""
    left_in = np.zeros((2, 10))
    left_in[1] = np.linspace(-1, 1, 10)
    left_in[1] /= np.sqrt(9 * np.var(left_in[1]))
    share = share_of_other_winners_by_jackknife(np.array([1.0, 0.0]), left_in, 0, 20_000, seed=0)
    assert share == pytest.approx(0.1587, abs=0.01)


@pytest.mark.slow
def test_a_model_in_time_keeps_how_it_is_aligned():
    def fading(images):
        small = images[:, ::4, ::4, 0].reshape(len(images), -1)
        return {"early": jnp.stack([small, small / 2], axis=1), "late": jnp.stack([small**2, small**2], axis=1)}

    steps = {"early": [(20, 70), (70, 120)], "late": [(150, 200), (200, 250)]}
    in_time = TemporalActivations(
        from_jax(fading, "fading", unit_preprocessing(16)), dict.fromkeys(steps, 0), bins=steps
    )
    strict = ModelCommitment("fading", in_time, layers=["early", "late"])
    with pytest.raises(ValueError, match="the time bin 70 to 170 ms is not covered"):
        choose_layers(strict, benchmarks={"IT": benchmark()}, nested=False)
    nearest = ModelCommitment("fading", in_time, layers=["early", "late"], align=partial(align_time, outside="nearest"))
    choice = choose_layers(nearest, benchmarks={"IT": benchmark()}, nested=False)
    committed = choice.commit("chosen")
    assert committed.identifier == "chosen" and nearest.region_layer_map == {}
    assert float(benchmark()(committed)) == pytest.approx(
        float(choice.regions["IT"].scores[choice.regions["IT"].layer])
    )


class OnDevice(Counted):
    """The same on a device, as a network leaves them there."""

    def __call__(self, stimuli, layers):
        seen = super().__call__(stimuli, layers)
        return seen.copy(data=jax.device_put(np.asarray(seen.values)))


@pytest.mark.slow
def test_layers_on_a_device_stay_there_and_are_scored_together():
    on_host = choose_layers(Counted(), benchmarks={"IT": benchmark()}, n_bootstrap=0)
    with traces() as counted, explicit_transfers() as fetched:
        found = choose_layers(OnDevice(), benchmarks={"IT": benchmark()}, n_bootstrap=0)
    # The score, and those within the training stimuli of a fold, whose splits are of another size.
    assert counted["_of_each_source"] == 2
    # Of three layers whether they are finite, and in four folds or in those within one their correlations and the
    # dimensionality of their features; of square features a row and the diagonal, which tell dissimilarities.
    assert {shape for shape in fetched if shape} == {(3, 4, NEUROIDS), (3, 4), (60,)}
    for layer, score in on_host.regions["IT"].scores.items():
        assert float(found.regions["IT"].scores[layer]) == pytest.approx(float(score), abs=1e-9)
    assert float(found.nested_score["IT"]) == pytest.approx(float(on_host.nested_score["IT"]), abs=1e-9)
