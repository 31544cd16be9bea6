import numpy as np
import pytest
import scipy.stats

from bsjax.labelled import Score
from bsjax.labelled.ceilings.noise_ceiling import RSACeiling, both_ends
from bsjax.labelled.similarity.rdms.subject_rdms import SubjectAgreement, square
from tests.support.responses import assembly as labelled

N, SUBJECTS = 9, ["sub0", "sub1", "sub2"]
IDS = np.array([f"s{i}" for i in range(N)])


def responses(voxels=(7, 5, 6), n=N, seed=0):
    """Subjects with different numbers of voxels, whose columns are mixed."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, max(voxels)))
    values = np.concatenate([signal[:, :v] + 0.7 * rng.normal(size=(n, v)) for v in voxels], axis=1)
    subject = np.repeat(SUBJECTS, voxels)
    order = rng.permutation(len(subject))
    return labelled(values[:, order], subject=("neuroid", subject[order]))


def rdms_of(assembly):
    names = np.unique(assembly["subject"])
    return np.stack([1 - np.corrcoef(assembly.values[:, assembly["subject"].values == name]) for name in names])


@pytest.mark.parametrize("similarity", ["corr", scipy.stats.pearsonr])
def test_of_rdms_equals_that_of_the_responses(similarity):
    assembly, ceiling = responses(), RSACeiling(similarity_func=similarity)
    score, rdms = ceiling(assembly), rdms_of(assembly)
    assert score.provenance["similarity_func"] == "corr" and score.raw["subject"].values.tolist() == SUBJECTS
    of_rdms = ceiling(square(rdms, IDS, SUBJECTS).transpose("stimulus_left", "subject", "stimulus_right"))
    np.testing.assert_allclose(of_rdms.raw, score.raw, atol=1e-12)
    own, mean = (pairs[np.triu_indices(N, 1)] for pairs in (rdms[1], rdms.mean(axis=0)))
    assert float(score.raw.sel(bound="upper", subject="sub1")) == pytest.approx(np.corrcoef(own, mean)[0, 1])


def test_both_ends_have_values_and_intervals_of_their_own():
    ceiling, other = RSACeiling()(responses()), RSACeiling(bound="lower")(responses())
    lower, upper = both_ends(ceiling)
    assert (float(upper), upper.error) == (float(ceiling), ceiling.error)
    assert (float(lower), lower.error) == (float(other), other.error)
    assert float(lower) == float(ceiling.raw.sel(bound="lower").mean())
    assert float(lower) in lower.interval() and lower.interval().over == ("subjects",)
    assert (lower.provenance["bound"], upper.provenance["bound"]) == ("lower", "upper")
    assert (lower.n_units, lower.formula) == (3, "r")
    of_matrices = SubjectAgreement("upper")(square(rdms_of(responses()), IDS, SUBJECTS))
    np.testing.assert_allclose([float(end) for end in both_ends(of_matrices)], [float(lower), float(upper)], atol=1e-12)
    with pytest.raises(ValueError, match="raw values over bound and subject; this has no raw values"):
        both_ends(Score(0.5))


@pytest.mark.slow
def test_against_chance():
    assembly = responses(voxels=(40, 30, 35))
    ceiling = RSACeiling(similarity_func="corr", pooling="matched", bound="lower")
    found = ceiling.against_chance(assembly, draws=99)
    assert found.p == 0.01 and found.null.shape == (99,) and found.observed > found.null.max()
    assert found.observed == pytest.approx(float(ceiling(assembly)), abs=1e-12)
    same = ceiling.against_chance(square(rdms_of(assembly), IDS, SUBJECTS), draws=99)
    np.testing.assert_allclose(same.null, found.null, atol=1e-12)
    assert (ceiling.against_chance(assembly, draws=99, seed=1).null != found.null).any()


def test_against_chance_takes_all_stimuli_of_all_subjects():
    assembly, rdms = responses(), rdms_of(responses())
    assembly.values[2, assembly["subject"].values == "sub1"] = rdms[1, 2, 3] = rdms[1, 3, 2] = np.nan
    for lacking in (assembly, square(rdms, IDS, SUBJECTS)):
        with pytest.raises(ValueError, match="select the stimuli that all subjects have"):
            RSACeiling().against_chance(lacking)


@pytest.mark.slow
def test_a_stimulus_that_a_subject_has_not_seen_is_missing_from_its_rdm():
    assembly = responses()
    rdms = rdms_of(assembly)
    assembly.values[2, assembly["subject"].values == "sub1"] = np.nan
    rdms[1, 2] = rdms[1, :, 2] = np.nan
    before = assembly.copy()
    got = RSACeiling()(assembly)
    np.testing.assert_allclose(got.raw, RSACeiling()(square(rdms, IDS, SUBJECTS)).raw, atol=1e-12)
    pairs = [np.delete(np.delete(side, 2, 0), 2, 1)[np.triu_indices(N - 1, 1)] for side in (rdms[1], rdms[::2].mean(0))]
    assert float(got.raw.sel(bound="lower", subject="sub1")) == pytest.approx(scipy.stats.spearmanr(*pairs).statistic)
    assert got.n_undefined == 0 and assembly.identical(before)


def test_errors_of_responses():
    assembly = responses()
    with pytest.raises(ValueError, match="at least 2 subjects are needed"):
        RSACeiling()(assembly.isel(neuroid=assembly["subject"].values == "sub0"))
    assembly.values[4, 0] = np.nan
    with pytest.raises(ValueError, match=r"1 responses \(subject sub\d of s4\)"):
        RSACeiling()(assembly)
