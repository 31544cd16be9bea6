import numpy as np
import pytest

from bsjax import Resampling, load_ceiling, load_metric
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import in_draws
from bsjax.labelled.similarity.subject_similarity import InterSubjectSimilarity, SimilarityToSubjects


@pytest.fixture
def model_and_subjects(make):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 4))
    subjects = np.concatenate([x + rng.normal(size=x.shape) for _ in range(4)], axis=1)
    return make(x), make(subjects, subject=("neuroid", np.repeat(list("dbca"), 4)))


def test_draws_of_subjects_give_each_as_much_weight_as_it_has_copies(model_and_subjects):
    metric, plan = SimilarityToSubjects(load_metric("cka")), Resampling("subjects", draws=20)
    with in_draws(plan):
        score = scored(metric, *model_and_subjects)
    drawn = plan.sample(model_and_subjects)
    np.testing.assert_allclose(
        score.uncertainty.draws, drawn.one_by_one(metric, model_and_subjects)["values"], atol=1e-12
    )
    assert score.interval().over == ("subjects",) and float(score) == pytest.approx(float(metric(*model_and_subjects)))


def test_copies_of_a_subject_are_not_compared_with_one_another(model_and_subjects):
    everyone = model_and_subjects[1]
    with in_draws(Resampling("subjects", draws=20)):
        pairs = scored(InterSubjectSimilarity(load_metric("cka")), everyone)
        consistency = scored(load_ceiling("cross_subject_consistency", "cka"), everyone)
    np.testing.assert_allclose(pairs.uncertainty.draws, consistency.uncertainty.draws, atol=1e-10)
    assert pairs.uncertainty.draws.max() < 0.9


def test_a_subject_without_a_value_leaves_the_draws_of_the_others(model_and_subjects):
    model, everyone = model_and_subjects
    flat = everyone.where(everyone["subject"] != "b", 1.0)
    with in_draws(Resampling("stimuli", draws=20)):
        got, expected = (
            scored(SimilarityToSubjects(load_metric("cka")), model, subjects)
            for subjects in (flat, everyone.isel(neuroid=everyone["subject"].values != "b"))
        )
    assert (got.n_undefined, expected.n_undefined) == (1, 0) and np.isfinite(got.interval().low)
    assert got.interval() == expected.interval()
