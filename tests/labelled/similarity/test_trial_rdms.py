"""RDMs of single trials and RDMs given as data, by name."""

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import bsjax
from bsjax import Permutations, RDMAssembly, Resampling, in_draws, load_metric, rdm_of
from bsjax.labelled.metric import scored
from bsjax.labelled.similarity.rdms.subject_rdms import SubjectSimilarity, square
from bsjax.metrics import compare_rdms, compiled, rdm, rdm_of_trials
from bsjax.metrics.similarity.rdms.rdm_comparison import whitened_by
from tests.support.responses import assembly

N, R, U = 12, 4, 10
IDS = np.array([f"s{i:02d}" for i in range(N)])
MODEL = np.random.default_rng(0).normal(size=(N, 6))


def responses(values):
    return assembly(values, IDS)


def trials():
    rng = np.random.default_rng(1)
    values = MODEL @ rng.normal(size=(6, U)) + 0.3 * rng.normal(size=(R, N, U))
    return assembly(values.reshape(-1, U), np.tile(IDS, R), repetition=("presentation", np.repeat(np.arange(R), N)))


def arrays(some):
    return jnp.asarray(some.values.reshape(R, N, U))


def by_kernels(source, target, noise_free="sqeuclidean", dissimilarity="crossnobis", method="whitened_cosine"):
    ours = compiled(rdm, dissimilarity=noise_free)(source.values)
    return compiled(compare_rdms, method=method)(
        ours, compiled(rdm_of_trials, dissimilarity=dissimilarity)(arrays(target))
    )


SOURCE, TARGET = responses(MODEL), trials()


@pytest.mark.slow
@pytest.mark.parametrize(("dissimilarity", "noise_free"), [("crossnobis", "sqeuclidean"), ("poisson_cv", "poisson")])
def test_a_model_is_compared_by_its_noise_free_dissimilarity(dissimilarity, noise_free):
    source, target = (abs(side) if noise_free == "poisson" else side for side in (SOURCE, TARGET))
    shuffled = target.isel(presentation=np.random.default_rng(2).permutation(len(target)))
    score = load_metric("rdm_of_trials", dissimilarity=dissimilarity)(source[::-1], shuffled)
    np.testing.assert_allclose(float(score), by_kernels(source, target, noise_free, dissimilarity), atol=2e-6)
    assert score.provenance.metric == "rdm_of_trials" and score.error is None


@pytest.mark.slow
def test_jackknife_and_draws():
    score = load_metric("rdm_of_trials", error="jackknife")(SOURCE, TARGET)
    assert 0 < score.error < 0.2 and "jackknife of 4 groups" in score.error_kind
    metric = load_metric("rdm_of_trials", comparison="corr")
    with in_draws(Resampling("stimuli", draws=30)):
        drawn = scored(metric, SOURCE, TARGET)
    assert 0 < drawn.error < 0.2 and drawn.uncertainty.draws.sizes["draw"] == 30
    with in_draws(Resampling("stimuli", draws=5)), pytest.raises(ValueError, match="not by 'whitened_cosine'"):
        scored(load_metric("rdm_of_trials"), SOURCE, TARGET)


@pytest.mark.slow
def test_trials_without_some_neuroids_and_an_undefined_rdm():
    lacking = TARGET.copy()
    lacking[3, 2] = np.nan
    with pytest.raises(ValueError, match="trials of target lack values of"):
        load_metric("rdm_of_trials")(SOURCE, lacking)
    score = load_metric("rdm_of_trials", dissimilarity="poisson")(SOURCE - 9.0, TARGET)
    assert np.isnan(float(score)) and "negative rate" in score.provenance.reason and score.n_undefined == 1


@pytest.mark.slow
def test_rdm_of_responses_and_of_trials():
    found = rdm_of(SOURCE, "euclidean")
    assert type(found) is RDMAssembly and found.dims == ("stimulus_left", "stimulus_right")
    np.testing.assert_allclose(found, rdm(jnp.asarray(MODEL), dissimilarity="euclidean"), atol=2e-6)
    np.testing.assert_allclose(rdm_of(TARGET, "crossnobis"), rdm_of_trials(arrays(TARGET)), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("comparison", ["spearman", "neg_riemannian"])
def test_a_given_rdm_scores_as_the_responses_it_is_made_of(comparison):
    metric = load_metric("rdm", dissimilarity="sqeuclidean", comparison=comparison)
    target = responses(np.random.default_rng(4).normal(size=(N, 15)) + np.pad(MODEL, [(0, 0), (0, 9)]))
    ours, theirs = (rdm_of(side, "sqeuclidean") for side in (SOURCE, target))
    expected = metric(SOURCE, target)
    for pair in ((ours, target), (SOURCE, theirs), (ours, theirs[::-1, ::-1])):
        score = metric(*pair)
        np.testing.assert_allclose(float(score), float(expected), atol=1e-6)
        assert score.provenance.settings == expected.provenance.settings
    np.testing.assert_allclose([float(s) for s in metric.of_many([ours, SOURCE], theirs)], float(expected), atol=1e-6)


@pytest.mark.slow
def test_given_rdms_of_subjects_in_draws_and_permutations():
    noise = np.random.default_rng(0).normal(size=(4, *MODEL.shape))
    labelled = square(np.stack([rdm_of(SOURCE + each) for each in noise]), IDS, list("abcd"))
    subjects, metric = RDMAssembly(labelled), load_metric("rdm")
    score = metric(SOURCE, subjects)
    expected = SubjectSimilarity()(rdm_of(SOURCE), labelled)
    assert float(score) == pytest.approx(float(expected), abs=1e-6) and score.raw.dims == ("subject",)
    with in_draws(Resampling(("stimuli", "subjects"), draws=20)):
        assert scored(metric, SOURCE, subjects).uncertainty.draws.sizes["draw"] == 20
    with Permutations.within(Permutations(draws=19)):
        assert scored(metric, rdm_of(SOURCE), subjects).provenance.details["p_value"] <= 0.1
    with pytest.raises(ValueError, match="source has RDMs over subject: select one"):
        metric(subjects, subjects)
    influence = load_metric("rdm", error="influence")(SOURCE, subjects)
    assert influence.uncertainty.over == ("stimuli",) and influence.raw.dims == ("subject",)
    with in_draws(Resampling("stimuli", draws=20)):  # the draws of a mean are the means of the draws
        drawn = scored(metric, SOURCE, subjects)
        alone = [scored(metric, SOURCE, subjects.sel(subject=name, drop=True)) for name in "abcd"]
    expected = np.mean([one.uncertainty.draws.values for one in alone], axis=0)
    np.testing.assert_allclose(drawn.uncertainty.draws.values, expected, atol=1e-6)


@pytest.mark.slow
def test_given_rdms_are_drawn_as_the_responses_they_are_made_of():
    rng = np.random.default_rng(4)
    target = responses(rng.normal(size=(N, 15)) + np.pad(MODEL, [(0, 0), (0, 9)]))
    ours, theirs = rdm_of(SOURCE)[::-1, ::-1], rdm_of(target)
    with in_draws(Resampling("stimuli", draws=30)):
        expected, *given = [
            scored(load_metric("rdm"), *sides).uncertainty
            for sides in ((SOURCE, target), (SOURCE, theirs), (ours, theirs))
        ]
    for one in given:
        np.testing.assert_allclose(one.draws.values, expected.draws.values, atol=1e-5)
        np.testing.assert_allclose(one.influence.values, expected.influence.values, atol=1e-4)
        assert (one.plan, one.dof) == (expected.plan, expected.dof)
    for error in ("influence", "jackknife"):
        metric = load_metric("rdm", error=error)
        expected, found = metric(SOURCE, target), metric(SOURCE, theirs)
        assert found.error == pytest.approx(expected.error, abs=1e-4) and found.error_kind == expected.error_kind


def test_a_matrix_that_is_no_rdm_assembly_is_never_scored_as_responses():
    metric, matrix = load_metric("rdm"), rdm_of(SOURCE)
    symmetric = responses(MODEL @ MODEL.T).assign_coords(neuroid_id=("neuroid", IDS))
    for given in (xr.DataArray(matrix.values, matrix.coords, matrix.dims), responses(matrix.values), symmetric):
        with pytest.raises(ValueError, match="label it as bsjax.RDMAssembly"):
            metric(given, SOURCE)
    with pytest.raises(ValueError, match="or compare it by load_metric"):
        load_metric("cka")(SOURCE, matrix)


def noise_table():
    factor = np.random.default_rng(3).normal(size=(N, 2 * N))
    return pd.DataFrame(factor @ factor.T, IDS, IDS)


@pytest.mark.slow
def test_a_covariance_of_noise_between_stimuli_is_matched_by_identifier():
    table, rng = noise_table(), np.random.default_rng(4)
    shuffled = table.iloc[rng.permutation(N), rng.permutation(N)]
    theirs = responses(MODEL + rng.normal(size=MODEL.shape))
    how = {"comparison": "whitened_corr", "dissimilarity": "sqeuclidean"}
    matrices = [rdm_of(side, "sqeuclidean").values for side in (SOURCE, theirs)]
    expected = compiled(compare_rdms, method=whitened_by("whitened_corr", table.to_numpy()))(*matrices)
    metric = load_metric("rdm", sigma_k=shuffled, **how)
    score = metric(SOURCE, theirs[::-1])
    np.testing.assert_allclose(float(score), expected, atol=2e-6)  # JAX is in single precision here
    np.testing.assert_allclose(float(metric.of_many([SOURCE[::-1]], theirs)[0]), float(score), atol=1e-10)
    assert abs(float(score) - float(load_metric("rdm", **how)(SOURCE, theirs))) > 1e-3
    again = load_metric("rdm", **score.provenance.settings)
    of_matrix = again(rdm_of(SOURCE, "sqeuclidean"), theirs[::-1])
    np.testing.assert_allclose([float(again(SOURCE, theirs)), float(of_matrix)], float(score), atol=1e-10)
    by_position = bsjax.score_arrays(SOURCE.values, theirs.values, "rdm", error=None, sigma_k=table.to_numpy(), **how)
    assert float(by_position) == pytest.approx(float(score), abs=1e-10)


@pytest.mark.slow
def test_trials_are_compared_by_a_covariance_of_stimuli():
    table = noise_table()
    score = load_metric("rdm_of_trials", sigma_k=table.iloc[::-1, ::-1])(SOURCE, TARGET)
    expected = by_kernels(SOURCE, TARGET, method=whitened_by("whitened_cosine", table.to_numpy()))
    np.testing.assert_allclose(float(score), expected, atol=2e-6)
    variances = pd.Series(np.ones(N), IDS)
    alike = load_metric("rdm_of_trials", sigma_k=variances, error="jackknife")(SOURCE, TARGET)
    plain = load_metric("rdm_of_trials", error="jackknife")(SOURCE, TARGET)
    np.testing.assert_allclose([float(alike), alike.error], [float(plain), plain.error], atol=1e-9)


@pytest.mark.parametrize(("name", "target"), [("rdm", responses(MODEL)), ("rdm_of_trials", TARGET)])
def test_what_is_no_covariance_of_the_stimuli_is_refused(name, target):
    with pytest.raises(ValueError, match="positive definite"):
        load_metric(name, comparison="whitened_cosine", sigma_k=np.ones((N, N)))(SOURCE, target)
    with pytest.raises(ValueError, match="other"):
        other = pd.Series(np.ones(3), ["s00", "s01", "other"])
        load_metric(name, comparison="whitened_cosine", sigma_k=other)(SOURCE, target)
    with pytest.raises(ValueError, match="not for 'corr'"):
        load_metric(name, comparison="corr", sigma_k=noise_table())
