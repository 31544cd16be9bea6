"""The strategies: what they draw is what metrics take, and holds the cases that they promise."""

import numpy as np
import pytest
from hypothesis import find, given
from hypothesis import strategies as st

from bsjax.metrics import make_folds
from bsjax.testing import assemblies, choices, rdms, responses, splits


@given(st.data(), st.booleans())
def test_assemblies_follow_the_data_standard(data, ragged):
    made = data.draw(assemblies(repetitions=(1, 3) if ragged else None, time_bins=2 if ragged else None, ties=True))
    # A stimulus may be there several times, and no two trials of it have one number.
    made.validate()
    if ragged:
        trials = list(zip(made["stimulus_id"].values, made["repetition"].values, strict=True))
        assert len(set(trials)) == len(trials) and made.sizes["time_bin"] == 2
        objects = made["object_name"].to_series().groupby(made["stimulus_id"].values).nunique()
        assert (objects == 1).all()


@given(choices())
def test_choices_are_among_the_objects(trials):
    trials.validate()
    assert set(trials["choice"].values) <= {"car", "dog", "face", "tree"}
    assert len(set(zip(trials["stimulus_id"].values, trials["subject"].values, strict=True))) == len(trials)


@given(rdms())
def test_rdms_are_dissimilarities(matrix):
    assert (matrix == matrix.T).all() and (np.diag(matrix) == 0).all() and (matrix >= 0).all()


@given(splits(9))
def test_splits_are_disjoint_and_make_folds(found):
    assert all(not set(train) & set(test) and min(len(train), len(test)) >= 2 for train, test in found)
    assert len(make_folds(9, found).held_out) == len(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("strategy", "case"),
    [
        (responses(constant=True), lambda values: (np.ptp(values, axis=0) == 0).any()),
        (responses(ties=True), lambda values: len(np.unique(values)) < values.size),
        (
            assemblies(repetitions=(1, 3)),
            lambda made: len(set(np.unique(made["stimulus_id"], return_counts=True)[1])) > 1,
        ),
        (choices(), lambda trials: len(trials) % trials["subject"].to_series().nunique() != 0),
    ],
    ids=["constant units", "ties", "ragged", "missing trials"],
)
def test_what_is_promised_is_drawn(strategy, case):
    assert find(strategy, case) is not None
