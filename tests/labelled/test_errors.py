"""An error is the spread of several values: of one there is none, and what is undefined counts in no number."""

import numpy as np
import pytest
import xarray as xr

from bsjax import Resampling, in_draws, load_ceiling, load_metric
from bsjax.labelled.aggregate import over_neuroids, over_splits
from bsjax.labelled.behaviour.subject_halves import over_halves, reliability
from bsjax.labelled.metric import scored
from tests.support.responses import assembly


def responses(stimuli, units):
    return np.random.default_rng(0).normal(size=(stimuli, units))


def test_the_error_is_over_the_splits_with_a_value():
    score = over_splits(np.array([0.2, np.nan, 0.4, np.nan]), {}, {})
    assert float(score) == pytest.approx(0.3) and score.error == pytest.approx(0.1 / np.sqrt(4))
    assert score.error_kind == "standard error over 2 of 4 splits, ddof 0" and score.n_undefined == 2


@pytest.mark.parametrize("raw", [[0.2, np.nan], [np.nan, np.nan]], ids=str)
def test_one_split_half_or_neuroid_with_a_value_has_no_error(raw):
    defined = np.isfinite(raw).sum()
    for score in (over_splits(np.array(raw), {}, {}), over_halves(np.array(raw), "", {}, np.ones(1, bool))):
        assert score.error is None and f"{defined} of {len(raw)}" in score.error_kind
    for score in (reliability(np.array(raw), {}, np.ones(1, bool)), over_neuroids(np.array(raw), {}, {})):
        assert score.error is None


def test_each_time_bin_has_the_error_of_its_own_splits():
    raw = np.array([[[0.1], [0.2], [0.3]], [[0.3], [np.nan], [0.3]], [[np.nan], [np.nan], [0.6]]])
    score = over_splits(raw, {}, {}, dims=("split", "time_bin", "neuroid"))
    np.testing.assert_allclose(score.error, [0.1 / np.sqrt(3), np.nan, np.std([0.3, 0.3, 0.6]) / np.sqrt(3)])
    assert score.error_kind == "standard error over 1 to 3 splits, ddof 0"
    assert over_splits(raw[2:], {}, {}, dims=("split", "time_bin", "neuroid")).error is None


@pytest.mark.slow
def test_bootstraps_most_of_which_are_undefined_give_no_error():
    with pytest.warns(UserWarning, match="of 60 draws have no value"):
        few = assembly(responses(5, 6))
        score = load_metric("cka", error="bootstrap", n_bootstraps=60)(few, few)
    defined = int(np.isfinite(score.raw).sum())
    assert 1 < defined < 48 and score.error is None and score.provenance["draws_undefined"] == 60 - defined


@pytest.mark.slow
def test_a_time_bin_whose_draws_are_undefined_takes_no_error_from_the_others():
    trials = assembly(np.tile(responses(12, 5), (2, 1)) + responses(24, 5), [f"s{i}" for i in range(12)] * 2)
    bins = xr.concat([trials, trials.where(np.arange(24)[:, None] % 12 < 4)], "time_bin")
    bins = bins.assign_coords(repetition=("presentation", np.repeat([0, 1], 12)))
    with in_draws(Resampling(draws=50)), pytest.warns(UserWarning, match="in 1 of 2 time_bin: .* draws have no value"):
        score = scored(load_ceiling("internal_consistency_temporal"), bins)
    assert np.isfinite(score.value).all() and np.isfinite(score.error).values.tolist() == [True, False]
    assert "of them undefined in one time_bin" in score.error_kind


@pytest.mark.slow
def test_a_jackknife_of_one_group_or_with_an_undefined_one_has_no_error():
    values = np.full((8, 4), 0.1)
    values[:2] = responses(2, 4)
    metric = load_metric("cka", error="jackknife")
    score = metric(assembly(values), assembly(responses(8, 4)))
    assert np.isfinite(float(score)) and score.error is None and "of 2 are defined" in score.error_kind
