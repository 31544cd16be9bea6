import numpy as np
import pytest
import scipy.stats

from bsjax import NeuroidAssembly
from bsjax.data import DataAssembly
from bsjax.labelled import Score
from bsjax.labelled.ceilings.noise_ceiling import RSACeiling, both_ends
from bsjax.labelled.similarity.rdms.subject_rdms import SubjectAgreement, square

N = 9


def responses(voxels=(7, 5, 6), n=N, seed=0):
    """Subjects with different numbers of voxels, whose columns are mixed."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, max(voxels)))
    values = np.concatenate([signal[:, :v] + 0.7 * rng.normal(size=(n, v)) for v in voxels], axis=1)
    subject = np.repeat([f"sub{i}" for i in range(len(voxels))], voxels)
    order = rng.permutation(len(subject))
    return NeuroidAssembly(
        values[:, order],
        coords={
            "stimulus_id": ("presentation", [f"s{i}" for i in range(n)]),
            "neuroid_id": ("neuroid", [f"v{i}" for i in order]),
            "subject": ("neuroid", subject[order]),
        },
        dims=["presentation", "neuroid"],
    )


def rdms_of(assembly):
    names = np.unique(assembly["subject"])
    return np.stack([1 - np.corrcoef(assembly.values[:, assembly["subject"].values == name]) for name in names])


def stack(rdms, **coords):
    return DataAssembly(
        rdms,
        coords={"subject": ("subject", [f"sub{i}" for i in range(len(rdms))]), **coords},
        dims=["subject", "stimulus_left", "stimulus_right"],
    )


def by_definition(rdms, correlate=scipy.stats.spearmanr):
    upper = np.triu_indices(rdms.shape[1], 1)
    vectors = rdms[:, upper[0], upper[1]]
    pools = [np.stack([np.delete(vectors, i, 0).mean(0) for i in range(len(rdms))]), vectors.mean(0, keepdims=True)]
    return np.array(
        [
            [correlate(v, p)[0] for v, p in zip(vectors, np.broadcast_to(pool, vectors.shape), strict=True)]
            for pool in pools
        ]
    )


def test_equals_the_definition_of_the_reference():
    assembly = responses()
    score = RSACeiling()(assembly)
    expected = by_definition(rdms_of(assembly))
    assert score.raw.dims == ("bound", "subject")
    np.testing.assert_allclose(score.raw, expected, atol=1e-12)
    assert float(score) == pytest.approx(expected[1].mean(), abs=1e-12)
    assert float(score.raw.sel(bound="lower").mean()) == pytest.approx(expected[0].mean(), abs=1e-12)
    assert score.error == pytest.approx(expected[1].std(ddof=1) / np.sqrt(3), abs=1e-12)
    assert score.raw["subject"].values.tolist() == ["sub0", "sub1", "sub2"] and score.n_units == 3


def test_of_rdms_equals_that_of_the_responses():
    assembly = responses()
    rdms = stack(rdms_of(assembly)).transpose("stimulus_left", "subject", "stimulus_right")
    np.testing.assert_allclose(RSACeiling()(rdms).raw, RSACeiling()(assembly).raw, atol=1e-12)


@pytest.mark.parametrize("similarity", ["corr", scipy.stats.pearsonr])
def test_another_similarity(similarity):
    assembly = responses()
    score = RSACeiling(similarity_func=similarity)(assembly)
    np.testing.assert_allclose(score.raw, by_definition(rdms_of(assembly), scipy.stats.pearsonr), atol=1e-12)
    assert score.provenance["similarity_func"] == "corr"


def test_another_rdm():
    def squared_distances(x, *, where=None):
        return ((x[:, None] - x[None]) ** 2).sum(axis=2)

    assembly = responses()
    distances = [
        squared_distances(assembly.values[:, assembly["subject"].values == name]) for name in ("sub0", "sub1", "sub2")
    ]
    score = RSACeiling(rdm=squared_distances)(assembly)
    np.testing.assert_allclose(score.raw, by_definition(np.stack(distances)), atol=1e-12)


def test_matched_pooling_averages_ranks():
    rdms = rdms_of(responses())
    upper = np.triu_indices(N, 1)
    ranked = np.zeros_like(rdms)
    ranked[:, upper[0], upper[1]] = scipy.stats.rankdata(rdms[:, upper[0], upper[1]], axis=1)
    ranked += ranked.swapaxes(1, 2)
    score = RSACeiling(pooling="matched")(stack(rdms))
    np.testing.assert_allclose(score.raw, by_definition(ranked), atol=1e-12)
    assert score.provenance["pooling"] == "matched"


@pytest.mark.slow
def test_the_bound_that_no_rdm_exceeds():
    assembly = responses()
    matched, bound = (RSACeiling(pooling=pooling)(assembly) for pooling in ("matched", "bound"))
    np.testing.assert_allclose(bound.raw.sel(bound="lower"), matched.raw.sel(bound="lower"), atol=1e-12)
    assert float(bound) > float(matched) and bound.provenance["pooling"] == "bound"


def test_both_ends_have_values_and_intervals_of_their_own():
    ceiling, other = RSACeiling()(responses()), RSACeiling(bound="lower")(responses())
    lower, upper = both_ends(ceiling)
    assert (float(upper), upper.error) == (float(ceiling), ceiling.error)
    assert (float(lower), lower.error) == (float(other), other.error)
    assert float(lower) == float(ceiling.raw.sel(bound="lower").mean())
    assert float(lower) in lower.interval() and lower.interval().over == ("subjects",)
    assert (lower.provenance["bound"], upper.provenance["bound"]) == ("lower", "upper")
    assert (lower.n_units, lower.formula) == (3, "r")
    of_matrices = SubjectAgreement("upper")(square(rdms_of(responses()), np.arange(N), ["a", "b", "c"]))
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
    same = ceiling.against_chance(stack(rdms_of(assembly)), draws=99)
    np.testing.assert_allclose(same.null, found.null, atol=1e-12)
    assert (ceiling.against_chance(assembly, draws=99, seed=1).null != found.null).any()


def test_against_chance_takes_all_stimuli_of_all_subjects():
    assembly, rdms = responses(), rdms_of(responses())
    assembly.values[2, assembly["subject"].values == "sub1"] = rdms[1, 2, 3] = rdms[1, 3, 2] = np.nan
    for lacking in (assembly, stack(rdms)):
        with pytest.raises(ValueError, match="select the stimuli that all subjects have"):
            RSACeiling().against_chance(lacking)
    with pytest.raises(ValueError, match="at least 2 subjects are needed"):
        RSACeiling().against_chance(responses().isel(neuroid=responses()["subject"].values == "sub0"))


@pytest.mark.slow
def test_a_stimulus_that_a_subject_has_not_seen_is_missing_from_its_rdm():
    assembly = responses()
    rdms = rdms_of(assembly)
    assembly.values[2, assembly["subject"].values == "sub1"] = np.nan
    rdms[1, 2] = rdms[1, :, 2] = np.nan
    before = assembly.copy()
    got = RSACeiling()(assembly)
    np.testing.assert_allclose(got.raw, RSACeiling()(stack(rdms)).raw, atol=1e-12)
    kept = np.delete(np.arange(N), 2)
    alone = by_definition(np.stack([rdms[:, kept][:, :, kept][1], np.nanmean(rdms[[0, 2]], axis=0)[kept][:, kept]]))
    np.testing.assert_allclose(got.raw.sel(bound="lower", subject="sub1"), alone[0, 0], atol=1e-12)
    assert got.n_undefined == 0
    assert assembly.identical(before)


def test_a_subject_with_a_constant_pattern_is_undefined_and_counted():
    assembly = responses(voxels=(7, 5, 6, 6))
    assembly.values[2, assembly["subject"].values == "sub1"] = 4.0
    score = RSACeiling()(assembly)
    rest = RSACeiling()(assembly.isel(neuroid=assembly["subject"].values != "sub1"))
    assert np.isnan(score.raw.sel(subject="sub1")).all()
    assert float(score) == pytest.approx(float(rest), abs=1e-12)
    assert (score.n_units, score.n_undefined) == (4, 1)


def test_errors_of_responses():
    assembly = responses()
    with pytest.raises(ValueError, match="no coordinate 'subject' on dimension 'neuroid'"):
        RSACeiling()(assembly.drop_vars("subject"))
    with pytest.raises(ValueError, match="at least 2 subjects are needed"):
        RSACeiling()(assembly.isel(neuroid=assembly["subject"].values == "sub0"))
    with pytest.raises(ValueError, match="at least 3 stimuli, there are 2"):
        RSACeiling()(assembly.isel(presentation=[0, 1]))
    with pytest.raises(ValueError, match=r"1 stimulus_id \(s0\) more than once: average the repetitions"):
        RSACeiling()(assembly.isel(presentation=[0, *range(N)]))
    assembly.values[4, 0] = np.nan
    with pytest.raises(ValueError, match=r"1 responses \(subject sub\d of s4\)"):
        RSACeiling()(assembly)
