"""The call flow of a neural benchmark, on a small data set."""

import numpy as np
import pytest
from PIL import Image

from bsjax import BehavioralAssembly, NeuroidAssembly, Score, load_ceiling, load_metric
from bsjax.benchmarks import Ceiling, NeuralBenchmark
from bsjax.benchmarks.experiment import squeeze_time
from tests.support.recorder import Recorder

RIDGE = {"crossvalidation_kwargs": {"stratification_coord": None}}


def benchmark(assembly, **changes):
    arguments = {
        "identifier": "Small.IT-ridge",
        "assembly": assembly,
        "similarity_metric": load_metric("ridge", **RIDGE),
        "ceiling_func": lambda: Score(0.8, error=0.02),
        "version": 3,
        "parent": "IT",
    }
    return NeuralBenchmark(**{**arguments, **changes})


@pytest.fixture
def recorder(stimuli, signal):
    return Recorder(stimuli, signal)


def test_the_model_records_from_the_datas_region_and_sees_stimuli_of_unknown_size_full_frame(trials, recorder, stimuli):
    benchmark(trials, number_of_trials=5)(recorder)
    assert recorder.recorded == [("IT", [(70.0, 170.0)])]
    [(shown, number_of_trials)] = recorder.looked
    assert number_of_trials == 5 and shown.stimulus_paths == stimuli.stimulus_paths


@pytest.mark.parametrize("given", ["argument", "column"])
def test_stimuli_of_known_size_are_placed_on_the_models_screen(trials, recorder, given):
    if given == "column":
        trials.attrs["stimulus_set"] = trials.stimulus_set.assign(degrees=4.0)
    benchmark(trials, visual_degrees=4 if given == "argument" else None)(recorder)
    shown = recorder.looked[0][0]
    assert set(shown["degrees"]) == {8.0}
    with Image.open(shown.get_stimulus("s01")) as image:
        assert image.size == (16, 16)  # 8 pixels over 4 degrees, in a field of 8 degrees


def test_the_score_is_normalised_by_the_ceiling_and_says_where_it_comes_from(trials, model):
    score = benchmark(trials)(model())
    assert score.value == pytest.approx(score.unceiled.value**2 / 0.8, rel=1e-12)
    assert score.formula == "r²/c"
    assert (score.ceiling.value, score.ceiling.error) == (0.8, 0.02)
    assert score.n_units == 6
    assert score.raw.dims == ("split", "neuroid")
    told = score.provenance
    assert told["model"] == "stored"
    assert (told["benchmark"], told["benchmark_version"]) == ("Small.IT-ridge", 3)
    assert (told["region"], told["n_stimuli"]) == ("IT", 40)
    assert told["data"].startswith("sha256:")
    assert told.layers == {"IT": ["all"]} and told.model_digest is None
    assert told.start.endswith("+00:00") and told.seconds >= 0


@pytest.mark.parametrize("lost", ["paths", "files"])
def test_stored_features_are_scored_without_a_stimulus_file(trials, model, stimuli, lost):
    whole = benchmark(trials, visual_degrees=4)(model())
    for path in stimuli.stimulus_paths.values():
        path.unlink()
    if lost == "paths":
        stimuli.stimulus_paths = {}
    score = benchmark(trials, visual_degrees=4)(model())
    assert float(score) == float(whole)
    assert score.provenance["stimuli"] != whole.provenance["stimuli"]


def test_nothing_is_read_before_it_is_needed_and_then_once(trials, model):
    loaded, ceilings = [], []

    def load():
        loaded.append(1)
        return trials

    def ceiling():
        ceilings.append(1)
        return load_ceiling("internal_consistency")(trials)

    lazy = benchmark(load, ceiling_func=ceiling)
    assert (loaded, ceilings) == ([], [])
    first, second = lazy(model()), lazy(model())
    assert (loaded, ceilings) == ([1], [1])
    assert first.value == second.value
    assert lazy.ceiling is first.ceiling


def test_the_normalisation_goes_by_name(trials, model):
    by_name = {name: benchmark(trials, normalisation=name)(model()) for name in ("explained_variance", "ceil_score")}
    assert by_name["explained_variance"].formula == "r²/c" and by_name["ceil_score"].formula == "r/c"
    r = float(by_name["ceil_score"].unceiled)
    assert float(by_name["ceil_score"]) == pytest.approx(r / 0.8)
    with pytest.raises(KeyError, match="unknown normalisation 'r2'; there are explained_variance"):
        benchmark(trials, normalisation="r2")


BY_DEFAULT = {"cka": "r/√c", "rdm_cv": "r/√c", "ridge": "r²/c", "plain": "r²/c"}


@pytest.mark.parametrize("name", BY_DEFAULT)
def test_the_normalisation_is_by_default_that_of_the_metric(trials, model, name):
    metric = load_metric("ridge", **RIDGE)
    if name == "plain":
        score = benchmark(trials, similarity_metric=lambda source, target: metric(source, target))(model())
    else:
        own = RIDGE if name in ("ridge", "rdm_cv") else {}
        score = benchmark(trials, similarity_metric=load_metric(name, **own))(model())
    r, by_root = float(score.unceiled), float(score.unceiled) / 0.8**0.5
    assert score.formula == BY_DEFAULT[name]
    assert float(score) == pytest.approx(by_root if score.formula == "r/√c" else r * abs(r) / 0.8)


def test_a_function_with_its_own_ceiling_is_divided_by_the_root(trials):
    ceiling = Ceiling(load_ceiling("internal_consistency", consistency_metric=lambda one, two: 0.5), trials)
    assert benchmark(trials, similarity_metric=lambda one, two: 0.5).normalisation == "explained_variance"
    own = benchmark(trials, similarity_metric=lambda one, two: 0.5, ceiling_func=ceiling)
    assert own.normalisation == "r_over_sqrt_ceiling"


def test_a_ceiling_of_single_neuroids_is_warned_of_where_populations_are_compared(trials, model):
    asked = {"similarity_metric": load_metric("cka")}
    with pytest.warns(RuntimeWarning, match="single neuroids.*consistency_metric=load_metric.'cka'"):
        benchmark(trials, ceiling_func=lambda: load_ceiling("internal_consistency")(trials), **asked)(model())
    of_populations = load_ceiling("internal_consistency", consistency_metric=load_metric("cka"))
    benchmark(trials, ceiling_func=lambda: of_populations(trials), **asked)(model())


def test_several_regions_are_an_error_that_names_them(trials, model):
    mixed = trials.assign_coords(region=("neuroid", ["V4", "IT"] * 3))
    with pytest.raises(ValueError, match="'Small.IT-ridge' compares one region, its data hold 2: IT, V4"):
        benchmark(mixed)(model())


def test_all_that_is_missing_is_named_at_once(model):
    bare = NeuroidAssembly(np.ones((2, 1)), dims=["presentation", "neuroid"])
    with pytest.raises(ValueError, match="has no coordinate 'stimulus_id' on dimension 'presentation'") as raised:
        benchmark(bare)(model())
    for words in ("'region' on dimension 'neuroid'", "'time_bin_start', 'time_bin_end'", "attrs['stimulus_set']"):
        assert words in str(raised.value)


def test_what_the_metric_splits_by_is_named_with_the_rest(trials, model):
    lacking = trials.isel(time_bin=0, drop=True)
    with pytest.raises(ValueError, match="no coordinate 'object_name' on dimension 'presentation'") as raised:
        benchmark(lacking, similarity_metric=load_metric("ridge"))(model())
    for words in (
        "assign_coords(time_bin_start=70, time_bin_end=170)",
        'crossvalidation_kwargs={"stratification_coord"',
    ):
        assert words in str(raised.value)
    named = lacking.assign_coords(time_bin_start=70, time_bin_end=170)
    assert benchmark(named)(model()).value == benchmark(trials)(model()).value


@pytest.mark.parametrize("name", ["cka", "rdm"])
def test_similarities_have_an_error_in_benchmarks(trials, model, name):
    score = benchmark(trials, similarity_metric=load_metric(name))(model())
    asked = benchmark(trials, similarity_metric=load_metric(name, error="jackknife"))(model())
    assert score.unceiled.error > 0 and score.interval().low < score < score.interval().high
    assert float(score) == pytest.approx(float(asked)) and score.unceiled.error != asked.unceiled.error


def test_several_time_bins_are_an_error_of_a_metric_for_one(trials, model):
    twice = trials.isel(time_bin=[0, 0])
    with pytest.raises(ValueError, match="source has 2 time bins where one is expected"):
        benchmark(twice)(model())
    assert squeeze_time(trials).dims == ("presentation", "neuroid")


def test_a_model_that_answers_with_behaviour_is_an_error(trials, recorder, monkeypatch):
    choices = BehavioralAssembly(np.ones(2), dims=["presentation"])
    monkeypatch.setattr(recorder, "look_at", lambda *arguments, **options: choices)
    with pytest.raises(ValueError, match="'recorder' was asked to record from IT and answered with a Behavioral"):
        benchmark(trials)(recorder)
