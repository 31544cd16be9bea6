"""The base class: what a benchmark of one's own has to write, and what it gets."""

from functools import cached_property

import numpy as np
import pytest

import bsjax
from bsjax import Score, load_model
from bsjax.benchmarks import BenchmarkBase, Undefined, constant_ceiling
from tests.support.recorder import Recorder


class Brightness(BenchmarkBase):
    """The correlation over images of their brightness with a model's mean response."""

    visual_degrees = 4

    def __init__(self, stimuli):
        ceiling = constant_ceiling(0.8, "made up")
        super().__init__("Doe2031.V1-brightness", ceiling, parent="V1", normalisation="ceil_score")
        self.stimuli, self.region = stimuli, "V1"

    @cached_property
    def made_from(self):
        return {"region": self.region, "n_stimuli": len(self.stimuli)}

    def observe(self, candidate, stimuli):
        candidate.start_recording(self.region, time_bins=[(70, 170)])
        return candidate.look_at(stimuli)

    def compare(self, observed):
        response = observed.mean("neuroid").values
        if not response.std():
            raise Undefined("it responds the same to all images", formula="r")
        return Score(float(np.corrcoef(np.arange(40), response)[0, 1]), formula="r")


def test_the_steps_lead_to_a_score_that_says_what_it_is_of(stimuli):
    score = bsjax.score("pixels", Brightness(stimuli))
    assert score.unceiled is not None and 0.99 < float(score.unceiled) <= 1  # its units are the pixels
    assert float(score) == pytest.approx(float(score.unceiled) / 0.8) and score.formula == "r/c"
    expected = {"model": "pixels", "benchmark": "Doe2031.V1-brightness", "region": "V1", "n_stimuli": 40}
    assert {name: score.provenance[name] for name in expected} == expected


def test_a_comparison_that_is_not_drawn_is_warned_of(stimuli):
    with pytest.warns(UserWarning, match="was not resampled over stimuli"):
        bsjax.score("pixels", Brightness(stimuli), resampling=bsjax.Resampling("stimuli", draws=5))


def test_a_model_without_a_score_has_the_reason(stimuli):
    score = Brightness(stimuli)(Recorder(stimuli, np.ones((40, 3))))
    assert np.isnan(float(score)) and float(score.ceiling) == 0.8
    assert score.provenance["reason"] == "it responds the same to all images"
    assert (score.provenance["model"], score.provenance["region"]) == ("recorder", "V1")


def test_a_call_of_ones_own_is_left_alone():
    class Constant(BenchmarkBase):
        def __call__(self, candidate):
            return self.stamped(Score(0.5), candidate, note="made up")

    score = Constant("Mine-constant", lambda: Score(1.0), parent="V1")(load_model("pixels"))
    assert float(score) == 0.5
    known = {"model": "pixels", "benchmark": "Mine-constant", "benchmark_version": 1, "parent": "V1"}
    assert score.provenance == {**known, "note": "made up"}


class Bare(BenchmarkBase):
    def __call__(self, candidate):
        return Score(0.5, provenance={"layers": {"V1": ["one"]}, "note": "made up"})


class Plain:
    """A benchmark without the base class."""

    identifier, version, parent, bibtex, ceiling = "Mine-bare", 3, "V1", "", Score(1.0)
    __call__ = Bare.__call__


@pytest.mark.parametrize("models", ["pixels", ["pixels", "gabor-v1"]])
@pytest.mark.parametrize("own", [Bare("Mine-bare", lambda: Score(1.0), version=3, parent="V1"), Plain()])
def test_a_call_of_ones_own_without_provenance_gets_one(own, models):
    made = bsjax.score(models, own, store=None)
    made = (made if models == "pixels" else made["pixels", "Mine-bare"]).provenance
    known = {"model": "pixels", "benchmark": "Mine-bare", "benchmark_version": 3, "parent": "V1", "note": "made up"}
    assert made == {**known, "layers": {"V1": ["one"]}} and made.start is not None and made.seconds is not None


def test_an_undefined_score_without_a_normalisation():
    class Never(BenchmarkBase):
        def observe(self, candidate, stimuli):
            raise Undefined("never", metric="none")

    score = Never("Mine-never", lambda: Score(1.0))(load_model("pixels"))
    assert np.isnan(float(score)) and score.ceiling is None
    assert (score.provenance["reason"], score.provenance["metric"]) == ("never", "none")


class Told(BenchmarkBase):
    """Compares to what it is told."""

    def __init__(self, compared, ceiling, normalisation="ceil_score"):
        super().__init__("Mine-told", lambda: ceiling, normalisation=normalisation)
        self.compared = compared

    def observe(self, candidate, stimuli):
        return None

    def compare(self, observed):
        return self.compared


@pytest.mark.parametrize(("given", "what"), [((None, 1), "score"), ((0.5, None), "ceiling"), (("x", 1), "score")])
def test_what_is_no_score_is_named(given, what):
    words = "must be .* got (None: the function that gives it returns nothing|the str 'x')"
    with pytest.raises(ValueError, match=f"benchmark 'Mine-told'.* {words}") as failed:
        bsjax.score("pixels", Told(*given))
    assert f"the {what} " in str(failed.value)


def test_a_call_that_returns_nothing_is_told():
    class Empty(BenchmarkBase):
        def __call__(self, candidate):
            pass

    with pytest.raises(ValueError, match="the score of benchmark 'Mine-empty' must be a Score, or a number, got None"):
        bsjax.score("pixels", Empty("Mine-empty", lambda: 1))

    class Bare(BenchmarkBase):
        def __call__(self, candidate):
            return 0.5

    assert type(bsjax.score("pixels", Bare("Mine-bare", lambda: 1))) is Score
