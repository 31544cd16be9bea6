"""The base of plugins' benchmarks, their way to bsjax and back, and normalisation."""

import numpy as np
import pytest

from bsjax import labelled
from bsjax.benchmarks import BenchmarkBase as OfBsjax
from bsjax.compat.benchmarks.base import (
    BenchmarkBase,
    BenchmarkForBsjax,
    BenchmarkForPlugins,
    CoreBenchmarkBase,
    bound_score,
    ceil_score,
    explained_variance,
)
from bsjax.compat.models.precomputed import PrecomputedFeatures
from bsjax.compat.score import Score
from bsjax.data import StimulusSet
from tests.compat.conftest import recording

STIMULI = StimulusSet({"stimulus_id": ["a", "b"]})


def model():
    features = recording(0, 2, 2, stimulus_id=("presentation", ["b", "a"]))
    return PrecomputedFeatures(features.copy(data=[[1.0, 3.0], [5.0, 7.0]]), visual_degrees=8)


class First(BenchmarkBase):
    """What the first neuroid does at the first stimulus, over ten."""

    def __call__(self, candidate):
        candidate.start_recording("IT", time_bins=[(70, 170)])
        seen = candidate.look_at(STIMULI)
        score = Score(seen.sel(stimulus_id="a").values[0, 0] / 10)
        score.attrs["raw"] = Score(seen.values[:, 0], dims=["presentation"])
        return ceil_score(score, self.ceiling)


def test_what_a_benchmark_has():
    asked = []
    benchmark = First("Mine-first", lambda: asked.append(1) or Score(0.8), 3, parent="IT", bibtex="@a{b}")
    assert (benchmark.version, benchmark.parent, benchmark.bibtex) == (3, "IT", "@a{b}")
    assert asked == [] and benchmark.ceiling == 0.8 and benchmark.ceiling is benchmark.ceiling and asked == [1]
    assert benchmark(model()) == pytest.approx(0.5 / 0.8)
    assert benchmark.preallocate_memory(model(), raise_if_oom=False) is None
    assert First("Mine-first", lambda: labelled.Score(0.8, error=0.1), 1).ceiling.attrs["error"] == 0.1
    ceiling = Score(0.7)
    core = CoreBenchmarkBase(identifier="Core", ceiling=ceiling, version=1, parent="neural")
    assert core.ceiling is ceiling and core.parent == "neural" and core.bibtex is None


def test_a_benchmark_of_a_plugin_in_bsjax_and_back():
    built = []

    def build():
        built.append(1)
        return First("Mine-first", lambda: Score(0.8), "2", parent="IT", bibtex="@a{b}")

    benchmark = BenchmarkForBsjax("Mine-first", build)
    assert isinstance(benchmark, OfBsjax) and built == []
    score = benchmark(model())
    assert isinstance(score, labelled.Score) and score.value == pytest.approx(0.625) and built == [1]
    assert float(score.ceiling) == 0.8 and float(score.unceiled) == 0.5 and score.unceiled.raw.values.tolist() == [5, 1]
    assert isinstance(benchmark.ceiling, labelled.Score) and float(benchmark.ceiling) == 0.8
    assert benchmark.version == score.provenance["benchmark_version"] == 2
    back = BenchmarkForPlugins(benchmark)
    score = back(model())
    assert type(score) is Score and score == pytest.approx(0.625) and score.raw == 0.5
    assert type(back.ceiling) is Score and back.ceiling == 0.8 and back.identifier == "Mine-first"


def test_scores_over_ceilings_of_each_subject():
    score, ceiling = (
        Score(values, coords={"subject": ["x", "y"]}, dims=["subject"]) for values in ([0.2, 0.6], [0.4, 0.8])
    )
    over = ceil_score(score, ceiling)
    np.testing.assert_allclose(over.values, [0.5, 0.75])
    assert over.raw is score and over.attrs["ceiling"] is ceiling and over["subject"].values.tolist() == ["x", "y"]
    np.testing.assert_allclose(ceil_score(score, Score(0.5)).values, [0.4, 1.2])


def test_errors_go_through_the_normalisation():
    score = Score(0.6)
    score.attrs["error"] = 0.03
    assert float(ceil_score(score, Score(0.75)).attrs["error"]) == pytest.approx(0.03 / 0.75)
    up, down = ((0.6 + step) ** 2 / 0.75 for step in (1e-6, -1e-6))
    slope = (up - down) / 2e-6
    assert float(explained_variance(score, Score(0.75)).attrs["error"]) == pytest.approx(0.03 * slope, rel=1e-6)


@pytest.mark.parametrize(("value", "bounded"), [(-0.2, 0), (1.7, 1)])
def test_scores_are_bounded_in_place(value, bounded):
    score = Score(value)
    score.attrs["raw"] = Score(value)
    assert bound_score(score) is None
    assert float(score) == bounded and float(score.raw) == value


class Bare(BenchmarkBase):
    def __init__(self, score, ceiling):
        super().__init__("Mine-bare", lambda: ceiling, 1, parent="IT")
        self.score = score

    def __call__(self, candidate):
        return self.score


def test_plain_numbers_are_scores_and_nothing_is_told():
    """As the tutorials print it: ``ceiling_func=lambda: 1``, and a body of ``pass``."""
    for number in (1, np.float64(0.5)):
        assert type(Bare(0.5, number).ceiling) is Score and Bare(0.5, number).ceiling == number
        benchmark = BenchmarkForBsjax("Mine-bare", lambda number=number: Bare(number, number))
        assert type(benchmark(model())) is labelled.Score and float(benchmark.ceiling) == number
    with pytest.raises(ValueError, match="the score of .*'Mine-bare' must be a Score, or a number, got None"):
        BenchmarkForBsjax("Mine-bare", lambda: Bare(None, 1))(model())
