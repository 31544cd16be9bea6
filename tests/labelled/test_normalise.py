import math
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from bsjax import Score, in_draws, score_arrays
from bsjax.labelled.normalise import (
    LIMITS,
    bound_score,
    ceil_score,
    chance_corrected,
    each_split_over_sqrt_ceiling,
    explained_variance,
    neuroid_wise_explained_variance,
    r_over_sqrt_ceiling,
    squared_ceil_score,
)

FORMULAS = {
    explained_variance: lambda r, c: abs(r) * r / c,
    ceil_score: lambda r, c: r / c,
    r_over_sqrt_ceiling: lambda r, c: r / math.sqrt(c),
    squared_ceil_score: lambda r, c: abs(r) * r / c**2,
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
def test_limits_are_what_is_at_the_ceiling(function):
    limit = LIMITS[function(Score(0.5), Score(0.8)).formula]
    assert float(function(Score(limit.before(0.64)), Score(0.64))) == pytest.approx(1)
    # A ceiling that is greater by half lets a score of the same data grow by this.
    assert float(function(Score(limit.before(0.6)), Score(0.4))) == pytest.approx(1.5**limit.power)
    assert np.isnan(limit.before(-0.1)) and np.isnan(limit.before(np.array([0.25, -1.0]))).tolist() == [False, True]


@functions
def test_error_is_that_of_both_carried_over(function):
    rng = np.random.default_rng(0)
    r, c, r_error, c_error = 0.5, 0.8, 0.004, 0.006
    pairs = zip(rng.normal(r, r_error, 20_000), rng.normal(c, c_error, 20_000), strict=True)
    got = function(Score(r, error=r_error), Score(c, error=c_error))
    assert got.error == pytest.approx(np.std([FORMULAS[function](*pair) for pair in pairs]), rel=0.03)
    alone = function(Score(r, error=r_error), Score(c))
    assert 0 < alone.error < got.error


@functions
@pytest.mark.parametrize("ceiling", [0.0, -1e-9, -1.0])
def test_under_a_ceiling_of_zero_or_below_a_score_is_undefined(function, ceiling):
    """It would turn the sign: the worse model would be the better one."""
    score = function(Score(0.5, error=0.1), Score(ceiling, error=0.1))
    assert math.isnan(score.value) and math.isnan(score.error) and score.unceiled == 0.5


def test_chance_is_taken_off_both():
    got = chance_corrected(Score(0.5, error=0.02), Score(2 / 3, error=0.03), chance=1 / 3)
    assert float(got) == pytest.approx(0.5) and got.formula == "(r-k)/(c-k)"
    assert got.error == pytest.approx(math.hypot(0.02 * 3, 0.03 * 1.5))
    for ceiling in (0.25, 0.2):
        score = chance_corrected(Score(0.5), Score(ceiling), chance=0.25)
        assert math.isnan(score.value) and "ceiling" in score.provenance.reason
    limit = LIMITS[got.formula]
    assert limit.before(0.8) == 0.8 and np.isnan(limit.power)


def per_neuroid(values, ids, dims=("split", "neuroid")):
    return Score(0.0, raw=xr.DataArray(values, coords={"neuroid_id": ("neuroid", ids)}, dims=dims))


def test_each_neuroid_over_its_own_ceiling():
    # The mean over neuroids of r²/c: (0.3² / 0.5 + 0.6² / 0.8 - 0.2² / 0.4) / 3, by hand.
    score = per_neuroid([0.3, 0.6, -0.2], ["a", "b", "c"], ("neuroid",))
    ceiling = per_neuroid([[0.4, 0.7, 0.3], [0.4, 0.9, 0.7]], ["c", "b", "a"])
    got = neuroid_wise_explained_variance(score, ceiling)
    assert float(got) == pytest.approx((0.09 / 0.5 + 0.36 / 0.8 - 0.04 / 0.4) / 3)
    np.testing.assert_allclose(got.raw, [0.18, 0.45, -0.1])
    assert got.error == pytest.approx(np.std([0.18, 0.45, -0.1], ddof=1) / math.sqrt(3))
    assert (got.unceiled, got.ceiling) == (score, ceiling) and (got.n_units, got.n_undefined) == (3, 0)


def test_neuroids_without_a_ceiling_or_a_correlation_are_counted():
    score = per_neuroid([[0.5, math.nan, 0.5]], ["a", "b", "c"])
    got = neuroid_wise_explained_variance(score, per_neuroid([[0.5, 0.5, -0.1]], ["a", "b", "c"]))
    assert float(got) == pytest.approx(0.5) and got.n_undefined == 2 and got.error is None
    none = neuroid_wise_explained_variance(score, per_neuroid([[-0.5] * 3], ["a", "b", "c"]))
    assert math.isnan(none.value)
    with pytest.raises(ValueError, match=r"no value for 2 neuroid_id \(b"):
        neuroid_wise_explained_variance(score, per_neuroid([[0.5]], ["a"]))


def test_neuroids_that_share_an_identifier_are_matched_by_their_order_alone():
    score = per_neuroid([0.4, 0.6, 0.2], [0, 1, 0], ("neuroid",))
    got = neuroid_wise_explained_variance(score, per_neuroid([[0.9, 0.5, 0.8]], [0, 1, 0]))
    np.testing.assert_allclose(got.raw, [0.16 / 0.9, 0.72, 0.05])
    with pytest.raises(
        ValueError, match=r"1 neuroid_id \(0\) more than once in the score's raw; 2 neuroid_id \(0, 1\)"
    ):
        neuroid_wise_explained_variance(score, per_neuroid([[0.9, 0.5, 0.8, 0.7]], [0, 1, 0, 1]))


def test_each_neuroid_over_its_own_ceiling_in_each_time_bin():
    def temporal(*of_bins, ids=("a", "b")):
        raw = xr.DataArray([of_bins], {"neuroid_id": ("neuroid", list(ids))}, ["split", "time_bin", "neuroid"])
        return Score(raw.mean(["split", "neuroid"]), raw=raw)

    score, ceiling = temporal([0.3, 0.6], [0.4, 0.2]), temporal([0.8, 0.5], [0.4, 0.5], ids="ba")
    got = neuroid_wise_explained_variance(score, ceiling)
    np.testing.assert_allclose(got.value, [(0.09 / 0.5 + 0.36 / 0.8) / 2, (0.16 / 0.5 + 0.04 / 0.4) / 2])
    assert got.error.sizes == got.value.sizes == {"time_bin": 2} and got.n_units == 2
    one_ceiling = neuroid_wise_explained_variance(score, per_neuroid([[0.5, 0.8]], ["a", "b"]))
    np.testing.assert_allclose(one_ceiling.value, [(0.09 / 0.5 + 0.36 / 0.8) / 2, (0.16 / 0.5 + 0.04 / 0.8) / 2])
    with pytest.raises(ValueError, match="the ceiling has {'time_bin': 2}, the score has a single value"):
        neuroid_wise_explained_variance(per_neuroid([[0.3, 0.6]], ["a", "b"]), ceiling)


def test_a_bounded_score_remembers_what_it_was():
    got = bound_score(ceil_score(Score(0.9), Score(0.6)))
    assert float(got) == 1.0 and got.provenance["unbounded"] == pytest.approx(1.5)
    assert got.formula == "r/c, bounded to [0, 1]"
    assert float(bound_score(Score(-0.2), lower=-0.1)) == -0.1
    assert math.isnan(bound_score(Score(math.nan)).value)
    over_time = bound_score(Score(xr.DataArray([0.5, 1.5], dims=["time_bin"])))
    assert over_time.value.values.tolist() == [0.5, 1.0]


def test_the_mean_over_splits_of_normalised_scores_has_the_draws_of_the_score():
    x = np.random.default_rng(0).normal(size=(30, 5))
    with in_draws("stimuli"):
        drawn = score_arrays(x, x[:, ::-1] + x, "cka")
    splits = {value: xr.DataArray([value, value + 0.1], {"split": [0, 1]}, ["split"]) for value in (0.3, 0.6)}
    score = each_split_over_sqrt_ceiling(replace(drawn, raw=splits[0.3]), Score(0.65, raw=splits[0.6]))
    spread = drawn.uncertainty.draws / math.sqrt(0.65)
    np.testing.assert_allclose(score.uncertainty.draws.values, spread + (float(score) - float(drawn) / math.sqrt(0.65)))
    plain = each_split_over_sqrt_ceiling(Score(0.35, raw=splits[0.3]), Score(0.65, raw=splits[0.6]))
    assert plain.sampling_uncertainty is None
