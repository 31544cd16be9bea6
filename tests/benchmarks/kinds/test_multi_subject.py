"""Means over subjects and folds; dissimilarity matrices of several subjects; lazy data; what benchmarks say."""

import weakref

import numpy as np
import pytest

from bsjax import Score, load_metric
from bsjax.benchmarks import BenchmarkBase, LazyLoad, MultiSubjectNeuralBenchmark, NeuralBenchmark


class Fixed(BenchmarkBase):
    """Gives what it is told."""

    def __init__(self, raw, ceiling):
        super().__init__(f"fixed-{raw}", lambda: Score(ceiling), parent="V1")
        self.raw = raw

    def __call__(self, candidate):
        raw = Score(self.raw, n_units=2)
        return Score(self.raw / float(self.ceiling), unceiled=raw, ceiling=self.ceiling, formula="r/c", n_units=2)


def test_the_mean_over_subjects_and_its_error(model):
    children = {"a": lambda: Fixed(0.2, 0.5), "b": lambda: Fixed(0.4, 0.8), "c": lambda: Fixed(0.9, 0.9)}
    benchmark = MultiSubjectNeuralBenchmark("Mean", children, parent="IT")
    score = benchmark(model())
    assert float(score) == pytest.approx(np.mean([0.4, 0.5, 1.0]))
    assert float(score.unceiled) == pytest.approx(0.5)
    assert float(score.ceiling) == float(benchmark.ceiling) == pytest.approx(np.mean([0.5, 0.8, 0.9]))
    assert score.raw.sel(subject="b").item() == pytest.approx(0.5)
    draws = np.random.default_rng(0).integers(0, 3, (200, 3))
    assert score.error == pytest.approx(np.array([0.4, 0.5, 1.0])[draws].mean(axis=1).std(ddof=1))
    assert (score.error_kind, score.n_units) == (
        "standard error of the mean, 200 bootstraps over 3 subjects, ddof 1",
        6,
    )
    assert score.formula == "mean over subjects of r/c"
    assert Score.from_dict(score.to_dict()) == score


def test_a_subject_without_a_score_is_left_out_and_counted(model):
    children = {"a": lambda: Fixed(0.2, 0.5), "b": lambda: Fixed(float("nan"), 0.8), "c": lambda: Fixed(0.9, 0.9)}
    score = MultiSubjectNeuralBenchmark("Mean", children)(model())
    assert float(score) == pytest.approx(0.7) and float(score.unceiled) == pytest.approx(0.55)
    assert "over 2 of 3 subjects" in score.error_kind and (score.n_units, score.n_undefined) == (6, 2)
    assert np.isnan(score.raw.sel(subject="b")) and np.isnan(score.provenance["scores"]["b"])


def test_one_child_is_in_memory_at_a_time(model):
    alive, most = [], []

    def build():
        most.append(sum(reference() is not None for reference in alive))
        child = Fixed(0.2, 0.5)
        alive.append(weakref.ref(child))
        return child

    benchmark = MultiSubjectNeuralBenchmark("Mean", {str(number): build for number in range(4)})
    assert most == []
    benchmark(model())
    assert most == [0, 0, 0, 0]


def test_lazy_data_are_loaded_once_and_behave_as_themselves(trials, model):
    loaded = []
    lazy = LazyLoad(lambda: loaded.append(1) or trials)
    benchmark = NeuralBenchmark(
        "Small.IT-cka", assembly=lazy, similarity_metric=load_metric("cka"), ceiling_func=lambda: Score(1.0)
    )
    assert (loaded, repr(lazy)) == ([], "LazyLoad(not loaded yet)")
    assert float(benchmark(model())) > 0 and loaded == [1]
    assert isinstance(lazy, type(trials)) and lazy.dims == trials.dims and len(lazy) == len(trials)
    np.testing.assert_array_equal(np.asarray(lazy), trials.values)
    lazy.attrs["note"] = "kept"
    assert trials.attrs["note"] == "kept" and "stimulus_id" in lazy.coords
    assert loaded == [1]
