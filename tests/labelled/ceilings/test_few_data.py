"""Every registered ceiling of data that say too little: the truth within its error, or NaN with a reason."""

import jax
import numpy as np
import pytest
import xarray as xr

from bsjax import PropertyAssembly, load_ceiling, load_metric, metric_registry
from bsjax.labelled.ceilings.signal_and_noise import _parts
from bsjax.labelled.metric import scored
from bsjax.labelled.resampling.draws import Resampling, in_draws
from bsjax.metrics.ceilings.consistency import FEWEST_STIMULI
from tests.support.responses import assembly

RELIABILITY = 0.8
# What the trials of each are, and their reliability by construction.
CASES = {
    "two repeated stimuli": ({"repeated": 2}, 0.0),
    "one repetition": ({"repetitions": 1}, None),
    "all equal": ({}, None),
    "one neuroid": ({"units": 1, "reliability": RELIABILITY}, RELIABILITY),
    "three stimuli": ({"n": 3, "reliability": RELIABILITY}, RELIABILITY),
}
OF_TRIALS = {
    "internal_consistency": {},
    "internal_consistency_temporal": {},
    "predictor_consistency": {},
    "noise_ceiling_snr": {},
    "gsn_rsa_ceiling": {"draws": 5, "groups": 5},
}
OF_SUBJECTS = ("rsa_ceiling", "cross_subject_consistency")


def trials(n=40, repetitions=4, units=12, repeated=None, reliability=0.0, seed=0):
    """Of averages over all repetitions with a known reliability; all stimuli are repeated, or the first few."""
    rng = np.random.default_rng(seed)
    signal = rng.normal(size=(n, units)) * np.sqrt(reliability / (1 - reliability) / repetitions)
    values = (signal + rng.normal(size=(repetitions, n, units))).reshape(-1, units)
    stimulus, repetition = np.tile(np.arange(n), repetitions), np.repeat(np.arange(repetitions), n)
    kept = np.ones(len(values), bool) if repeated is None else (repetition == 0) | (stimulus < repeated)
    return assembly(values[kept], stimulus[kept], repetition=("presentation", repetition[kept]))


def case_of_subjects(name):
    n = {"two repeated stimuli": 2, "three stimuli": 3}.get(name, 12)
    units = 1 if name == "one neuroid" else 5
    rng = np.random.default_rng(0)
    values = np.tile(rng.normal(size=(n, units)), (1, 3)) + rng.normal(size=(n, 3 * units))
    if name == "all equal":
        values = np.full_like(values, 0.1)
    return assembly(values, subject=("neuroid", np.repeat(list("abc"), units)))


def says_what_it_knows(score, truth=None):
    value = np.asarray(score.value)
    if np.isnan(value).all():
        assert score.provenance.reason and score.interval() is None
        assert score.error is None or np.isnan(np.asarray(score.error)).all()
        return
    assert np.isfinite(value).all()
    assert score.error is None or (np.asarray(score.error) > 0).all()
    interval = score.interval()
    if interval is not None:
        assert (np.asarray(interval.low) < np.asarray(interval.high)).all()
    if interval is not None and truth is not None:
        assert (np.asarray(interval.low) <= truth).all() and (truth <= np.asarray(interval.high)).all()


def test_all_registered_ceilings_are_tried():
    registered = {name for name in metric_registry if metric_registry.summary(name).startswith("ceiling: ")}
    assert registered == {*OF_TRIALS, *OF_SUBJECTS, "property_ceiling"}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", OF_TRIALS)
def test_of_trials(name, case):
    ceiling = load_ceiling(name, **OF_TRIALS[name])
    settings, truth = CASES[case]
    for seed in range(2):
        data = trials(**settings, seed=seed) * (case != "all equal") + 0.1
        if name.endswith("temporal"):
            data = xr.concat([data, 2 * data], "time_bin").transpose("presentation", "neuroid", "time_bin")
        try:
            score = ceiling(data)
        except ValueError as error:
            assert case in ("one repetition", "three stimuli", "two repeated stimuli")
            assert "repeated" in str(error) or "folds need" in str(error)
            continue
        says_what_it_knows(score, None if name == "gsn_rsa_ceiling" else truth)
        if case in ("two repeated stimuli", "three stimuli", "all equal") and name != "gsn_rsa_ceiling":
            assert np.isnan(np.asarray(score.value)).all()


@pytest.mark.parametrize("name", OF_SUBJECTS)
def test_of_subjects(name):
    for case in CASES:
        try:
            says_what_it_knows(load_ceiling(name)(case_of_subjects(case)))
        except ValueError as error:
            assert case in ("two repeated stimuli", "three stimuli") and "stimuli" in str(error)


def test_two_subjects_are_as_similar_to_one_another():
    score = load_ceiling("rsa_ceiling", bound="lower")(case_of_subjects("one repetition")[:, :10])
    assert np.isfinite(score.value) and score.error is None and "equal up to rounding" in score.error_kind


@pytest.mark.parametrize("values", [[0.3], [0.3] * 8, [np.nan, 0.3]], ids=["one neuroid", "all equal", "one of two"])
def test_of_a_property(values):
    coords, bins = {"neuroid_property": ["osi"]}, {"osi_bins": np.linspace(0, 1, 8)}
    recording = PropertyAssembly(np.array(values)[:, None], coords, ["neuroid", "neuroid_property"], attrs=bins)
    score = load_ceiling("property_ceiling", load_metric("ks_similarity", property_name="osi"))(recording)
    says_what_it_knows(score)
    assert np.isnan(float(score)) == (len(values) < 8)


@pytest.mark.parametrize("repetitions", [2, 3])
def test_noise_of_few_stimuli_is_not_reliable(repetitions):
    """What has no correction is the lowest of all: left out, the median of four stimuli would be .3 and more."""
    ceiling, found = load_ceiling("internal_consistency"), []
    for seed in range(20):
        whole = trials(n=4, repetitions=repetitions, units=51, seed=seed).round()
        found.append(float(ceiling(whole)))
    assert abs(np.median(found)) < 0.25


def test_halves_that_always_disagree_have_no_reliability():
    values = np.array([[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 1.0, 0.0]]).reshape(8, 1)
    data = trials(n=4, repetitions=2, units=1).copy(data=values)
    score = load_ceiling("internal_consistency")(data)
    assert np.isnan(float(score)) and score.error is None and "-1" in score.provenance.reason
    # A neuroid of many is the lowest of them, and does not move their median up.
    beside = xr.concat([data, trials(n=4, repetitions=2, units=2)], "neuroid")
    of_all = load_ceiling("internal_consistency")(beside)
    assert float(of_all) == pytest.approx(of_all.raw[:, 1:].min("neuroid").mean())


@pytest.mark.parametrize("name", ["internal_consistency", "predictor_consistency"])
def test_draws_of_few_stimuli_are_undefined_as_such_a_recording_is(name):
    n = FEWEST_STIMULI + 8
    with in_draws(Resampling("stimuli", draws=200)):
        score = scored(load_ceiling(name), trials(n=n, units=5))
    assert np.isfinite(score.uncertainty.draws).all() and (abs(score.uncertainty.draws) < 1e3).all()
    with pytest.warns(UserWarning, match="no interval"), in_draws(Resampling("stimuli", draws=50)):
        few = scored(load_ceiling("internal_consistency"), trials(n=FEWEST_STIMULI, units=5))
    assert few.error is None


@pytest.mark.parametrize("name", ["internal_consistency", "gsn_rsa_ceiling"])
def test_the_order_of_rows_does_not_matter(name):
    whole = trials(reliability=RELIABILITY)[:-7]  # not all stimuli have as many
    shuffled = whole.isel(presentation=np.random.default_rng(0).permutation(len(whole)))
    ceiling = load_ceiling(name, **OF_TRIALS[name])
    np.testing.assert_allclose(ceiling(shuffled).raw, ceiling(whole).raw, atol=1e-12)


def test_copies_of_a_stimulus_are_held_out_together():
    parts = _parts(np.array(["a", "b", "a", "c", "d", "b"]), 2, seed=0)
    np.testing.assert_array_equal(parts.sum(axis=0), np.ones(6))
    assert (parts[:, 0] == parts[:, 2]).all() and (parts[:, 1] == parts[:, 5]).all()


@pytest.mark.parametrize("name", ["internal_consistency_temporal", "gsn_rsa_ceiling"])
def test_a_ceiling_takes_a_plain_array_of_trials(name):
    labelled = trials(n=20, units=5, reliability=RELIABILITY)
    values = labelled.values.reshape(4, 20, 5)
    if name == "internal_consistency_temporal":
        labelled, values = labelled.expand_dims(time_bin=1, axis=2), values[..., None]
    ceiling = load_ceiling(name, **OF_TRIALS[name])
    for given in (values, jax.numpy.asarray(values)):
        np.testing.assert_allclose(ceiling(given).values, ceiling(labelled).values, rtol=1e-6)
    with pytest.raises(ValueError, match=r"\(repetitions, stimuli, neuroids\).* shape \(20, 5\)"):
        ceiling(values.reshape(4, 20, 5)[0])
    with pytest.warns(UserWarning, match=r"is \(repetitions, stimuli, neuroids.* has 32 repetitions of 20 stimuli"):
        ceiling(values.repeat(8, axis=0)[:, :20])
