"""Means of benchmarks, and recordings of subjects as blocks."""

import numpy as np
import pytest

from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.compat.benchmarks.base import BenchmarkBase, ceil_score
from bsjax.compat.benchmarks.multi_subject import (
    KFoldNeuralBenchmark,
    MultiSubjectNeuralBenchmark,
    block_diagonal_concat,
)
from bsjax.compat.metrics.bootstrap import bootstrap_error
from bsjax.compat.score import Score
from tests.compat.conftest import recording

RAWS, CEILINGS = {"anna": 0.2, "ben": 0.4, "carl": 0.5}, {"anna": 0.5, "ben": 0.8, "carl": 0.9}


class OfSubject(BenchmarkBase):
    """Scores what is known of a subject."""

    region, timebins = "IT", [(70, 170)]
    made: list[str] = []

    def __init__(self, subject):
        super().__init__(f"Mine-{subject}", lambda: Score(CEILINGS[subject]), 3, bibtex="@a{b}")
        self.made.append(subject)
        self.subject = subject

    def __call__(self, candidate):
        raw = Score([RAWS[self.subject] - 0.1, RAWS[self.subject] + 0.1], dims=["neuroid"])
        score = ceil_score(Score(float(raw.mean())), self.ceiling)
        score.attrs = {"raw": raw}
        return score


def test_the_mean_over_subjects():
    OfSubject.made.clear()
    benchmark = MultiSubjectNeuralBenchmark("Mine", list(RAWS), OfSubject, peak_aggregation=2)
    found = (benchmark.identifier, benchmark.version, benchmark.parent, benchmark.region, benchmark.bibtex)
    assert found == ("Mine", 3, "IT", "IT", "@a{b}") and benchmark.timebins == [(70, 170)]
    each = [RAWS[name] / CEILINGS[name] for name in RAWS]
    score = benchmark(None)
    assert OfSubject.made == ["anna", *RAWS]  # one after the other, the first for its region
    assert float(score) == pytest.approx(np.mean(each)) and score.raw == pytest.approx(np.mean([*RAWS.values()]))
    parts = score.attrs["raw_subjects"]
    assert parts.dims == ("subject",) and parts["subject"].values.tolist() == list(RAWS)
    np.testing.assert_allclose(parts.values, each)
    assert score.attrs["sem_subjects"] == pytest.approx(np.std(each, ddof=1) / np.sqrt(3)) and "sem" not in score.attrs
    assert score.attrs["error"] == bootstrap_error(parts, ["subject"], n_bootstrap=200)
    assert score.attrs["error_over"] == ["subject"] and score.attrs["n_bootstrap"] == 200
    assert {name: float(score.attrs[name]) for name in RAWS} == pytest.approx(dict(zip(RAWS, each, strict=True)))
    for ceiling in (score.attrs["ceiling"], benchmark.ceiling):
        values = list(CEILINGS.values())
        assert (
            float(ceiling) == pytest.approx(np.mean(values)) and ceiling.attrs["raw_subjects"].values.tolist() == values
        )
        assert ceiling.attrs["error"] == ceiling.attrs["sem"] == pytest.approx(np.std(values, ddof=1) / np.sqrt(3))


def test_the_mean_over_folds():
    names = list(RAWS)
    benchmark = KFoldNeuralBenchmark("Mine", 3, lambda number: OfSubject(names[number]))
    score = benchmark(None)
    each = [RAWS[name] / CEILINGS[name] for name in names]
    np.testing.assert_allclose(score.attrs["raw_folds"].values, each)
    assert score.attrs["raw_folds"]["fold"].values.tolist() == [0, 1, 2] and score.attrs["error_over"] == ["fold"]
    assert [float(fold) for fold in score.attrs["folds"]] == pytest.approx(each)
    assert float(benchmark.ceiling) == pytest.approx(np.mean([*CEILINGS.values()]))
    with pytest.raises(ValueError, match="benchmark 'Mine' averages the benchmarks of each fold"):
        KFoldNeuralBenchmark("Mine", 0, OfSubject)


def block(subject, rows, neuroids, **more):
    ids = ("presentation", [f"{subject}{i}" for i in range(rows)])
    of_neuroids = {name: ("neuroid", [subject] * neuroids) for name in ("subject_id", "animal")}
    made = recording(0, rows, neuroids, stimulus_id=ids, repetition=("presentation", range(rows)), **of_neuroids)
    return made.drop_vars(["neuroid_id", "region", "object_name"]).assign_coords(more)


def test_blocks_along_a_diagonal():
    one, two = block("x", 2, 3), block("y", 3, 1, roi=("neuroid", ["V1"]))
    joined = block_diagonal_concat([one, two.T])
    assert type(joined) is NeuroidAssembly and joined.dims == ("presentation", "neuroid") and joined.shape == (5, 4)
    np.testing.assert_array_equal(joined.values[:2, :3], one.values)
    np.testing.assert_array_equal(joined.values[2:, 3:], two.values)
    assert np.isnan(joined.values[:2, 3:]).all() and np.isnan(joined.values[2:, :3]).all()
    assert set(joined.coords) == {"stimulus_id", "repetition", "subject_id"}  # what both have, of those that are known
    assert joined["stimulus_id"].values.tolist() == ["x0", "x1", "y0", "y1", "y2"]
    named = block_diagonal_concat([one, two], ["stimulus_id"], ["animal"])
    assert set(named.coords) == {"stimulus_id", "animal"} and named["animal"].values.tolist() == ["x"] * 3 + ["y"]
