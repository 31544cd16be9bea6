"""An error is the spread of several values: of one there is none, and what is undefined counts in no number."""

import numpy as np
import pytest

from bsjax import load_ceiling, load_metric
from bsjax.benchmarks.uncertainty import with_error_over_stimuli
from bsjax.labelled.aggregate import over_neuroids, over_splits
from bsjax.labelled.behaviour.subject_halves import over_halves, reliability
from tests.support.responses import assembly

UNSTRATIFIED = {"stratification_coord": None}


def responses(stimuli=20, units=6, seed=0):
    return np.random.default_rng(seed).normal(size=(stimuli, units))


def test_the_error_is_over_the_splits_with_a_value():
    score = over_splits(np.array([0.2, np.nan, 0.4, np.nan]), {}, {})
    assert float(score) == pytest.approx(0.3) and score.error == pytest.approx(0.1 / np.sqrt(4))
    assert score.error_kind == "standard error over 2 of 4 splits, ddof 0" and score.n_undefined == 2


@pytest.mark.parametrize("raw", [[0.2], [0.2, np.nan], [np.nan, np.nan]], ids=str)
def test_one_split_with_a_value_has_no_error(raw):
    defined = np.isfinite(raw).sum()
    for score in (over_splits(np.array(raw), {}, {}), over_halves(np.array(raw), "", {}, np.ones(1, bool))):
        assert score.error is None and f"{defined} of {len(raw)}" in score.error_kind
    assert reliability(np.array(raw), {}, np.ones(1, bool)).error is None


def test_each_time_bin_has_the_error_of_its_own_splits():
    raw = np.array([[[0.1], [0.2], [0.3]], [[0.3], [np.nan], [0.3]], [[np.nan], [np.nan], [0.6]]])
    score = over_splits(raw, {}, {}, dims=("split", "time_bin", "neuroid"))
    np.testing.assert_allclose(score.error, [0.1 / np.sqrt(3), np.nan, np.std([0.3, 0.3, 0.6]) / np.sqrt(3)])
    assert score.error_kind == "standard error over 1 to 3 splits, ddof 0"
    assert over_splits(raw[2:], {}, {}, dims=("split", "time_bin", "neuroid")).error is None


def test_one_neuroid_with_a_value_has_no_error():
    score = over_neuroids(np.array([0.4, np.nan]), {}, {})
    assert float(score) == 0.4 and score.error is None and score.n_undefined == 1


@pytest.mark.slow
def test_bootstraps_most_of_which_are_undefined_give_no_error():
    with pytest.warns(UserWarning, match="of 60 draws have no value"):
        score = load_metric("cka", error="bootstrap", n_bootstraps=60)(assembly(responses(5)), assembly(responses(5)))
    defined = int(np.isfinite(score.raw).sum())
    assert 1 < defined < 48 and score.error is None and score.provenance["draws_undefined"] == 60 - defined


@pytest.mark.slow
def test_a_jackknife_of_one_group_or_with_an_undefined_one_has_no_error():
    values = np.full((8, 4), 0.1)
    values[:2] = responses(2, 4)
    metric = load_metric("cka", error="jackknife")
    score = metric(assembly(values), assembly(responses(8, 4)))
    assert np.isfinite(float(score)) and score.error is None and "of 2 are defined" in score.error_kind

    trials = assembly(np.concatenate([responses(6), responses(6) + 0.1 * responses(6, seed=2)]))
    trials["stimulus_id"] = "presentation", np.tile([f"s{i}" for i in range(6)], 2)
    trials["repetition"] = "presentation", np.repeat([0, 1], 6)
    ceiling = load_ceiling("internal_consistency", splits=2)
    assert with_error_over_stimuli(ceiling, trials, n_groups=3).error is not None
