"""Checks that tests of plugins call."""

import numpy as np
import pytest

from bsjax.compat.benchmarks.checks import assert_valid_uncertainty, check_standard_format
from bsjax.compat.score import Score
from tests.compat.conftest import recording


def test_recordings_as_benchmarks_need_them():
    assembly = recording(0, 2, 3).assign_attrs(stimulus_set_identifier="two")
    check_standard_format(assembly)
    assembly[{"neuroid": 0}] = np.nan
    check_standard_format(assembly, nans_expected=True)
    with pytest.raises(ValueError, match="values are NaN"):
        check_standard_format(assembly)


def test_everything_that_is_missing_is_named():
    assembly = recording(0, 2, 3).rename({"neuroid": "unit"}).drop_vars("stimulus_id")
    expected = "no dimension 'neuroid'; no coordinate 'stimulus_id'; no attribute 'stimulus_set_identifier'"
    with pytest.raises(ValueError, match=expected):
        check_standard_format(assembly)
    with pytest.raises(ValueError, match="it is a ndarray"):
        check_standard_format(np.ones((2, 3)))


def with_error(value=0.5, **attrs):
    score = Score(value)
    score.attrs |= {"raw": Score([0.4, 0.6], dims=["subject"]), "error_over": ["subject"], **attrs}
    return score


@pytest.mark.parametrize("error", [0.0, Score(0.1)])
def test_an_error_that_can_be_used(error):
    assert_valid_uncertainty(with_error(error=error))
    assert_valid_uncertainty(with_error(error=np.nan, error_nan_reason="a single subject"))


@pytest.mark.parametrize(
    ("attrs", "problem"),
    [
        ({"error": "large"}, "must be a number, got 'large'"),
        ({"error": -0.1}, "finite and not negative, got -0.1"),
        ({"error": np.nan}, "NaN without an attribute 'error_nan_reason'"),
    ],
)
def test_an_error_that_cannot_be_used(attrs, problem):
    with pytest.raises(AssertionError, match=problem):
        assert_valid_uncertainty(with_error(**attrs))


def test_raw_values_are_required():
    score = with_error(error=0.1)
    del score.attrs["raw"]
    with pytest.raises(AssertionError, match="no attribute 'raw'"):
        assert_valid_uncertainty(score)
    assert_valid_uncertainty(score, require_raw=False)


@pytest.mark.parametrize(
    ("attrs", "problem"), [({"error": 2.0}, "2.000, is large"), ({"error": 0.1, "error_over": None}, "'error_over'")]
)
def test_an_error_that_is_doubtful(attrs, problem):
    with pytest.warns(UserWarning, match=problem):
        assert_valid_uncertainty(with_error(**attrs))
