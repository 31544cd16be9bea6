"""What a score is by chance, asked for with one argument: of benchmarks of every kind, and in jobs."""

import json

import numpy as np
import pytest
import xarray as xr

import bsjax
from bsjax import ModelCommitment, NeuroidAssembly, Permutations, Score, load_metric
from bsjax.adapters import from_stored
from bsjax.benchmarks import BehavioralBenchmark, BenchmarkBase, NeuralBenchmark, TrainTestNeuralBenchmark
from bsjax.benchmarks.families.simulated.procedural import procedural_stimuli
from bsjax.benchmarks.kinds.multi_subject import MultiSubjectNeuralBenchmark
from bsjax.benchmarks.kinds.rsa import RSABenchmark
from bsjax.data import BehavioralAssembly, StimulusSet
from bsjax.labelled.resampling.calibration import null_of
from bsjax.models import PrecomputedFeatures
from tests.scoring.conftest import recorded

STIMULI = procedural_stimuli("thirty", 5, 8, visual_degrees=8, seed=5)
IDS = STIMULI["stimulus_id"].tolist()
DATA = np.random.default_rng(0).normal(size=(len(IDS), 4))
PLAN = Permutations(19, seed=3)


def stored(identifier, noise):
    values = DATA + noise * np.random.default_rng(1).normal(size=DATA.shape)
    activations = from_stored({"all": values.astype(np.float32)}, identifier, stimulus_ids=IDS)
    return ModelCommitment(identifier, activations, region_layer_map={"V1": "all"})


@pytest.fixture(scope="module")
def good():
    return stored("good", noise=0.1)


def recording(ids=IDS):
    """The data of the small benchmarks, of two subjects."""
    chosen = np.isin(IDS, ids)
    subjects = ("neuroid", ["one", "one", "two", "two"])
    return recorded(DATA[chosen], STIMULI[chosen].reset_index(drop=True), subject=subjects)


def small(metric="cka"):
    return NeuralBenchmark(f"Small.V1-{metric}", recording(), load_metric(metric), ceiling_func=lambda: Score(0.9))


@pytest.mark.slow
def test_a_benchmark_says_what_its_score_is_by_chance(good):
    score = bsjax.score(good, small(), null=PLAN)
    assert score == bsjax.score(good, small()) and score.provenance["p_value"] == 0.05
    assert 0.9 < score.provenance["calibrated"] < float(score.unceiled)
    assert null_of(score).plan == {"draws": 19, "seed": 3, "groups": None, "strata": None}
    assert Score.from_dict(json.loads(json.dumps(score.to_dict()))).provenance == score.provenance


@pytest.mark.slow
def test_a_mean_over_subjects_is_of_stimuli_that_trade_places_alike(good):
    benchmark = RSABenchmark("Small.V1-rsa", recording(), parent="V1")
    score = bsjax.score(good, benchmark, null=PLAN)
    assert null_of(score).values.sizes == {"draw": 19} and score.provenance["p_value"] == 0.05
    parts = {"train_assembly": recording(IDS[:20]), "test_assembly": recording(IDS[20:])}
    raw = xr.DataArray([0.8] * 4, {n: recording()[n] for n in ("neuroid_id", "subject")}, ["neuroid"])
    settings = {"similarity_metric": load_metric("ridge_split"), "ceiling_func": lambda: Score(0.8, raw=raw)}
    whole = bsjax.score(good, TrainTestNeuralBenchmark("Small.V1-split", **parts, **settings), null=PLAN)
    each = TrainTestNeuralBenchmark("Small.V1-split", **parts, **settings, alpha_coord="subject")
    by_subject = bsjax.score(good, each, null=PLAN)
    assert null_of(by_subject).key == null_of(whole).key
    assert by_subject.provenance["p_value"] == whole.provenance["p_value"] == 0.05
    assert by_subject.provenance["null_mean"] != whole.provenance["null_mean"]


@pytest.mark.slow
def test_a_mean_over_benchmarks_has_that_of_their_means(good):
    children = {name: lambda name=name: small(name) for name in ("cka", "rdm")}
    score = bsjax.score(good, MultiSubjectNeuralBenchmark("Small.V1-both", children), null=9)
    parts = [null_of(bsjax.score(good, small(name), null=9)).values for name in children]
    np.testing.assert_allclose(null_of(score).values, (parts[0] + parts[1]) / 2)


@pytest.mark.slow
def test_answers_trade_places_and_their_labels_stay():
    n = 20
    ids, truth = [f"s{i}" for i in range(n)], ["cat", "dog"] * (n // 2)
    said = np.where(np.random.default_rng(0).random(n) < 0.4, "cat", truth)
    trials = {"stimulus_id": ids * 2, "truth": truth * 2, "condition": ["clear"] * 2 * n, "subject": ["p", "q"] * n}
    people = BehavioralAssembly(
        np.tile(said, 2),
        coords={name: ("presentation", sorted(v) if name == "subject" else v) for name, v in trials.items()},
        dims=["presentation"],
        attrs={"stimulus_set": StimulusSet({"stimulus_id": ids})},
    )
    metric = load_metric("error_consistency")
    benchmark = BehavioralBenchmark("Mine-ec", people, "label", metric, ceiling_func=lambda: metric.ceiling(people))
    same = PrecomputedFeatures(people[:n].drop_vars("subject"), visual_degrees=8)
    score = bsjax.score(same, benchmark, null=Permutations(19, strata="truth"))
    assert score == 1 and score.provenance["p_value"] == 0.05
    assert 0 < score.provenance["null_mean"] < 0.5  # of strata, errors stay on the same objects


class Own(BenchmarkBase):
    """A comparison of its own, of responses with nothing."""

    def __init__(self, answer):
        super().__init__("Mine-own", ceiling_func=lambda: Score(1.0), normalisation="ceil_score")
        self.answer = answer

    def observe(self, candidate, stimuli):
        return self.answer

    def compare(self, observed):
        return Score(float(np.corrcoef(observed.values[:, 0], np.arange(observed.shape[0]))[0, 1]))


def test_a_comparison_of_ones_own_is_made_again(good):
    values = np.arange(12.0)[:, None]
    ids = {"stimulus_id": ("presentation", list("abcdefghijkl"))}
    responses = NeuroidAssembly(values, ids, ["presentation", "neuroid"])
    score = bsjax.score(good, Own(responses), null=PLAN)
    assert score.provenance["p_value"] == 0.05
    expected = [np.corrcoef(values[rows, 0], values[:, 0])[0, 1] for rows in PLAN.rows(list("abcdefghijkl"))]
    np.testing.assert_allclose(null_of(score).values, expected)
    with pytest.raises(ValueError, match="its dimensions are neuroid by neuroid_property"):
        bsjax.score(good, Own(xr.DataArray(values, dims=["neuroid", "neuroid_property"])), null=PLAN)


def test_a_call_of_ones_own_is_refused(good):
    class Called(Own):
        def __call__(self, candidate):
            return Score(0.5)

    with pytest.raises(ValueError, match="'Mine-own' cannot permute its stimuli"):
        bsjax.score(good, Called(None), null=PLAN)
    with pytest.warns(UserWarning, match="'Mine-own' has no bootstrap draws"):
        bsjax.score(good, Called(None), resampling="stimuli")
