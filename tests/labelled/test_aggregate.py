"""The mean over an axis, and its error."""

import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from bsjax.labelled import Score
from bsjax.labelled.aggregate import mean_score

VALUES = st.lists(st.floats(-1, 1) | st.just(math.nan), min_size=1, max_size=8)


def along(values, axis="subject"):
    return xr.DataArray(values, dims=[axis])


@given(VALUES, st.sampled_from(["standard error", "standard deviation"]), st.sampled_from([0, 1]))
def test_what_is_undefined_is_left_out_and_counted(values, kind, ddof):
    score = mean_score(along(values), "subject", kind=kind, ddof=ddof)
    defined = [v for v in values if not math.isnan(v)]
    n = len(defined)
    assert score.n_undefined == len(values) - n
    assert float(score) == pytest.approx(np.mean(defined) if n else math.nan, abs=1e-12, nan_ok=True)
    if n < 2:
        assert score.error is None and score.error_kind.startswith("none: it takes two subjects")
    else:
        spread = np.std(defined, ddof=ddof) / (math.sqrt(n) if kind == "standard error" else 1)
        if kind == "standard error" and spread <= 1e-6 * np.abs(defined).max():  # equal values say nothing of others
            assert score.error is None and "equal up to rounding" in score.error_kind
            return
        assert score.error == pytest.approx(spread, abs=1e-12)
        assert score.error_kind.startswith(f"{kind} over {n} ")


def test_the_bootstrap_of_a_median():
    values = np.random.default_rng(1).normal(size=9)
    score = mean_score(along([*values, math.nan], "neuroid"), "neuroid", center="median", kind="bootstrap")
    draws = np.random.default_rng(0).integers(0, 9, (200, 9))
    assert float(score) == np.median(values)
    assert score.error == pytest.approx(np.median(values[draws], axis=1).std(ddof=1), rel=1e-12)
    assert score.error_kind == "standard error of the median, 200 bootstraps over 9 of 10 neuroids, ddof 1"


def test_other_dimensions_stay_with_an_error_of_their_own():
    raw = xr.DataArray(
        [[0.1, 0.3], [0.2, math.nan], [math.nan, math.nan]],
        dims=["time_bin", "subject"],
        coords={"time_bin": [70, 170, 270], "subject": ["a", "b"], "animal": ("subject", ["x", "y"])},
    )
    for values in (raw, raw.T):
        score = mean_score(values, "subject", ddof=0)
        np.testing.assert_allclose(score.value, [0.2, 0.2, math.nan])
        np.testing.assert_allclose(score.error, [0.1 / math.sqrt(2), math.nan, math.nan])
        assert list(score.value.coords) == ["time_bin"] and score.value["time_bin"].values.tolist() == [70, 170, 270]
        assert score.error_kind == "standard error over 0 to 2 subjects, ddof 0"
        assert score.n_undefined == 2 and score.raw is values


def test_scores_of_subjects():
    scores = {
        name: Score(value / 0.5, formula="r/c", unceiled=Score(value), ceiling=Score(0.5), n_units=3, n_undefined=1)
        for name, value in (("a", 0.2), ("b", math.nan), ("c", 0.4))
    }
    score = mean_score(scores, "subject")
    assert float(score) == pytest.approx(0.6) and float(score.unceiled) == pytest.approx(0.3) and score.ceiling == 0.5
    assert score.error == pytest.approx(np.std([0.4, 0.8], ddof=1) / math.sqrt(2))
    assert score.raw["subject"].values.tolist() == ["a", "b", "c"] and score.formula == "r/c"
    # All three units of the subject that is left out, and one of each other.
    assert (score.n_units, score.n_undefined) == (9, 5)
    assert score.provenance.details["scores"]["c"] == 0.8 and math.isnan(score.provenance.details["scores"]["b"])
    assert Score.from_dict(score.to_dict()) == score
    alone = mean_score({"a": Score(0.4, error=0.1, error_kind="standard error over 10 splits")}, "subject")
    assert alone == 0.4 and alone.error is None  # and it borrows none
