import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax import Score
from bsjax.labelled.normalise import ceil_score, explained_variance, r_over_sqrt_ceiling

FORMULAS = {
    explained_variance: lambda r, c: abs(r) * r / c,
    ceil_score: lambda r, c: r / c,
    r_over_sqrt_ceiling: lambda r, c: r / math.sqrt(c),
}
functions = pytest.mark.parametrize("function", FORMULAS)


@functions
@given(st.floats(-1, 1), st.floats(0.05, 1))
def test_value(function, r, c):
    got = function(Score(r), Score(c))
    assert got.value == pytest.approx(FORMULAS[function](r, c))
    assert got.unceiled == r and got.ceiling == c
    assert math.copysign(1, got.value) == math.copysign(1, r)


@functions
def test_error_is_that_of_both_carried_over(function):
    rng = np.random.default_rng(0)
    r, c, r_error, c_error = 0.5, 0.8, 0.004, 0.006
    draws = [
        FORMULAS[function](a, b)
        for a, b in zip(rng.normal(r, r_error, 20_000), rng.normal(c, c_error, 20_000), strict=True)
    ]
    got = function(Score(r, error=r_error), Score(c, error=c_error))
    assert got.error == pytest.approx(np.std(draws), rel=0.03)
    alone = function(Score(r, error=r_error), Score(c))
    assert 0 < alone.error < got.error


@functions
def test_without_an_error_there_is_none_after(function):
    assert function(Score(0.5), Score(0.8, error=0.1)).error is None


@functions
def test_a_ceiling_of_zero_is_undefined(function):
    assert math.isnan(function(Score(0.5, error=0.1), Score(0.0, error=0.1)).value)


def test_nothing_is_clipped():
    assert explained_variance(Score(0.9), Score(0.5)).value == pytest.approx(1.62)
    assert explained_variance(Score(0.9), Score(0.5)).exceeds_ceiling


def test_units_and_provenance_stay():
    score = Score(0.5, n_units=7, n_undefined=2, provenance={"seed": 1})
    got = explained_variance(score, Score(0.8))
    assert (got.n_units, got.n_undefined, got.provenance) == (7, 2, {"seed": 1})
