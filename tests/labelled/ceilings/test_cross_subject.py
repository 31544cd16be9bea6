import numpy as np
import pytest
import xarray as xr

from bsjax import load_ceiling, load_metric
from bsjax.labelled.ceilings.cross_subject import CrossSubjectConsistency
from bsjax.labelled.ceilings.noise_ceiling import RSACeiling
from bsjax.labelled.similarity.subject_similarity import InterSubjectSimilarity
from tests.support.responses import assembly

pytestmark = pytest.mark.slow


N, NAMES, DIMS = 20, ["a", "b", "c", "d"], ["subject", "stimulus_left", "stimulus_right"]
SPLITS = {"crossvalidation_kwargs": {"splits": 2, "test_size": 0.25, "stratification_coord": None}}


def recording(widths=(4, 5, 3, 4), seed=0):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(N, 3))
    values = [shared @ rng.normal(size=(3, w)) + 0.5 * rng.normal(size=(N, w)) for w in widths]
    subject = np.repeat(NAMES[: len(widths)], widths)
    order = rng.permutation(len(subject))
    return assembly(np.concatenate(values, axis=1)[:, order], subject=("neuroid", subject[order]))


def part(recorded, *names):
    return recorded.isel(neuroid=np.isin(recorded["subject"].values, names))


def without(recorded, name):
    return part(recorded, *(other for other in NAMES if other != name))


def jackknife(raw):
    s = len(raw)
    left = [np.nanmean(np.delete(np.delete(raw, i, 0), i, 1)) for i in range(s)]
    return np.sqrt((s - 1) / s * np.sum((left - np.mean(left)) ** 2))


def test_pairs_by_the_kernel_are_those_by_the_metric():
    recorded = recording()
    score = load_ceiling("cross_subject_consistency", "cka_biased")(recorded)
    pairs = InterSubjectSimilarity(load_metric("cka_biased"))(recorded)
    assert float(score) == pytest.approx(float(pairs), abs=1e-12)
    assert score.raw.dims == ("predictor", "subject") and score.raw["subject"].values.tolist() == NAMES
    np.testing.assert_allclose(score.raw.values[np.triu_indices(4, 1)], pairs.raw, atol=1e-12)
    assert score.error == pytest.approx(jackknife(score.raw.values), abs=1e-12)
    assert score.error_kind == "jackknife standard error over 4 subjects of the mean over 6 pairs"
    assert (score.n_units, score.n_undefined) == (16, 0)
    assert score.provenance["metric"] == "cross_subject_consistency" and score.provenance["compared_by"] == "cka_biased"
    assert float(score) in score.interval() and score.interval().over == ("subjects",)


def test_each_with_all_others_by_the_kernel_is_that_by_the_metric():
    recorded = recording()
    score = CrossSubjectConsistency("cka", "leave_one_out")(recorded)
    expected = [float(load_metric("cka")(without(recorded, name), part(recorded, name))) for name in NAMES]
    np.testing.assert_allclose(score.raw, expected, atol=1e-12)
    assert float(score) == pytest.approx(np.mean(expected))
    assert score.error == pytest.approx(np.std(expected, ddof=1) / 2)


def test_a_regression_predicts_both_ways():
    recorded = recording((4, 5, 3))
    metric = load_metric("ridge", **SPLITS)
    score = CrossSubjectConsistency("ridge", **SPLITS)(recorded)
    for one, other in ("ab", "ba"):
        expected = float(metric(part(recorded, one), part(recorded, other)))
        assert float(score.raw.sel(predictor=one, subject=other)) == pytest.approx(expected)
    assert score.error_kind == "jackknife standard error over 3 subjects of the mean over 6 pairs"
    assert float(score) == pytest.approx(np.nanmean(score.raw))


def test_rdms_of_any_comparison():
    recorded = recording()
    upper, pairs = np.triu_indices(N, 1), np.triu_indices(4, 1)
    rdms = np.stack([1 - np.corrcoef(part(recorded, name).values) for name in NAMES])
    stack = xr.DataArray(rdms, {"subject": NAMES}, DIMS)
    score = CrossSubjectConsistency("corr")(stack)
    np.testing.assert_allclose(score.raw.values[pairs], np.corrcoef(rdms[:, *upper])[pairs], atol=1e-12)
    of_responses = CrossSubjectConsistency("rdm", comparison="corr")(recorded)
    np.testing.assert_allclose(of_responses.raw, score.raw, atol=1e-12)
    assert of_responses.error == pytest.approx(score.error, abs=1e-12)
    left_out = CrossSubjectConsistency("spearman", "leave_one_out")(stack)
    lower = RSACeiling(pooling="matched", bound="lower")(stack)
    np.testing.assert_allclose(left_out.raw, lower.raw.sel(bound="lower"), atol=1e-12)


def test_two_subjects_have_no_error():
    score = CrossSubjectConsistency("cka")(recording((4, 5)))
    assert score.error is None and score.sampling_uncertainty is None and np.isfinite(float(score))
    assert score.error_kind == "none: the jackknife takes a pair without each of three subjects, 2 have pairs"


def test_a_constant_subject_is_left_out_and_counted():
    recorded = recording()
    recorded.values[:, recorded["subject"].values == "b"] = 0.1
    score, rest = CrossSubjectConsistency("cka")(recorded), CrossSubjectConsistency("cka")(without(recorded, "b"))
    assert (float(score), score.error) == (pytest.approx(float(rest)), pytest.approx(rest.error))
    assert score.n_undefined == 3
    assert score.error_kind == "jackknife standard error over 3 subjects of the mean over 3 pairs"


def test_errors():
    recorded = recording()
    with pytest.raises(ValueError, match="the comparison 'corr' takes no settings, got dtype"):
        CrossSubjectConsistency("corr", dtype="float32")
    with pytest.raises(ValueError, match="at least 2 subjects are needed"):
        CrossSubjectConsistency()(part(recorded, "a"))
    stack = xr.DataArray(np.full((2, 3, 3), np.nan), {"subject": ["a", "b"]}, DIMS)
    with pytest.raises(ValueError, match="select the stimuli that all subjects have"):
        CrossSubjectConsistency("corr")(stack)
