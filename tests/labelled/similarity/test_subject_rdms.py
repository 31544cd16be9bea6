"""A model's matrix against those of subjects, and those against one another."""

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr

from bsjax.labelled.similarity.rdms.subject_rdms import SubjectAgreement, SubjectSimilarity, square

N, SUBJECTS = 6, ["s1", "s2", "s3", "s4"]
IDS = np.array(list("abcdef"))


def matrices(n_subjects=4, seed=0, symmetric=True):
    values = np.random.default_rng(seed).random((n_subjects, N, N))
    return values + values.swapaxes(1, 2) if symmetric else values


def entries(matrix):
    return [matrix[i, j] for i in range(N) for j in range(N) if i != j]


@pytest.mark.parametrize(("method", "scipy_r", "symmetric"), [("spearman", spearmanr, True), ("corr", pearsonr, False)])
def test_similarity_to_each_subject(method, scipy_r, symmetric):
    model, subjects = matrices(1, 9, symmetric)[0], matrices(symmetric=symmetric)
    each = [scipy_r(entries(model), entries(one))[0] for one in subjects]
    score = SubjectSimilarity(method)(square(model, IDS), square(subjects, IDS, SUBJECTS))
    np.testing.assert_allclose(score.raw.values, each, atol=1e-12)
    assert score.raw["subject"].values.tolist() == SUBJECTS
    assert float(score) == pytest.approx(np.mean(each)) and score.error == pytest.approx(np.std(each, ddof=1) / 2)


def test_squares_keep_their_sign():
    subjects = matrices()
    model = square(-subjects[0], IDS)
    plain, squared = (SubjectSimilarity(squared=s)(model, square(subjects, IDS, SUBJECTS)) for s in (False, True))
    np.testing.assert_allclose(squared.raw, np.sign(plain.raw) * plain.raw**2, atol=1e-12)
    assert squared.raw[0] == pytest.approx(-1) and squared.formula == "r²"


def test_stimuli_are_matched_by_id():
    model, order = matrices(1, 9)[0], np.array([3, 0, 5, 1, 2, 4])
    subjects = square(matrices(), IDS, SUBJECTS)
    whole = SubjectSimilarity()(square(model, IDS), subjects)
    shuffled = SubjectSimilarity()(square(model[np.ix_(order, order)], IDS[order]), subjects)
    np.testing.assert_array_equal(shuffled.raw, whole.raw)
    with pytest.raises(ValueError, match=r"different stimuli: 1 stimulus_id \(z\) only in the model's matrix; .*\(f\)"):
        SubjectSimilarity()(square(model, np.array(list("abcdez"))), subjects)


@pytest.mark.parametrize("squared", [False, True])
def test_agreement_with_the_others_and_with_all(squared):
    subjects = matrices()
    lower = [spearmanr(entries(one), entries(np.delete(subjects, i, 0).mean(0)))[0] for i, one in enumerate(subjects)]
    upper = [spearmanr(entries(one), entries(subjects.mean(0)))[0] for one in subjects]
    if squared:
        lower, upper = (np.sign(r) * np.square(r) for r in (lower, upper))
    for bound, each in (("lower", lower), ("upper", upper)):
        score = SubjectAgreement(bound, squared=squared)(square(subjects, IDS, SUBJECTS))
        np.testing.assert_allclose(score.raw.values, [lower, upper], atol=1e-12)
        assert float(score) == pytest.approx(np.mean(each))


def test_a_subject_with_a_constant_matrix_is_left_out():
    subjects = matrices()
    subjects[1] = 1.0
    score = SubjectSimilarity("corr")(square(matrices(1, 9)[0], IDS), square(subjects, IDS, SUBJECTS))
    assert np.isnan(score.raw[1]) and score.n_undefined == 1 and np.isfinite(score.value)
