"""Similarities of a model with each subject, and of subjects with each other."""

import numpy as np
import pytest

from bsjax import load_metric
from bsjax.labelled.similarity.subject_similarity import InterSubjectSimilarity, SimilarityToSubjects
from tests.support import benchmarks_by_hand as by_hand
from tests.support.responses import assembly


@pytest.fixture
def values():
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 3)) @ rng.normal(size=(3, 9)) + 0.5 * rng.normal(size=(12, 9))


@pytest.fixture
def subjects(values):
    return assembly(values, subject=("neuroid", ["b", "a", "c"] * 3))


def test_a_model_is_compared_with_each_subject(values, subjects):
    score = SimilarityToSubjects(load_metric("cka"))(assembly(values[:, ::2])[::-1], subjects)
    raw = [by_hand.unbiased_cka(values[:, ::2], values[:, first::3]) for first in (1, 0, 2)]
    np.testing.assert_allclose(score.raw, raw, atol=1e-12)
    assert score.raw["subject"].values.tolist() == ["a", "b", "c"]
    assert score.value == pytest.approx(np.mean(raw))
    assert score.error == pytest.approx(np.std(raw, ddof=1) / np.sqrt(3))
    assert (score.n_units, score.provenance["metric"]) == (9, "cka")


def test_subjects_are_compared_in_pairs(values, subjects):
    score = InterSubjectSimilarity(load_metric("cka"))(subjects)
    assert score.value == pytest.approx(by_hand.between([values[:, first::3] for first in range(3)]))
    assert score.raw["pair"].values.tolist() == ["a and b", "a and c", "b and c"]
    assert score.error == pytest.approx(np.std(score.raw, ddof=1) / np.sqrt(3))
