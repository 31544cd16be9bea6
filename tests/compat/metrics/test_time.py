"""Metrics in each time bin or other slice, and a regression over time."""

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.linear_model import Ridge

from bsjax.compat.metrics.regression import XarrayCorrelation, XarrayRegression
from bsjax.compat.metrics.time import PerTime, SpanTimeRegression
from bsjax.compat.score import Score
from tests.compat.conftest import recording

ROWS, STARTS = 10, [0, 20, 40]


def test_correlations_over_time():
    one, two = recording(0, ROWS, 2, STARTS), recording(1, ROWS, 2, STARTS)
    score = PerTime(XarrayCorrelation(pearsonr))(
        one.isel(time_bin=[1, 2, 0]), two.isel(presentation=slice(None, None, -1))
    )
    expected = [[pearsonr(one.values[:, n, t], two.values[:, n, t])[0] for n in range(2)] for t in range(3)]
    assert type(score) is Score and score.dims == ("time_bin", "neuroid")
    np.testing.assert_allclose(score.values, expected, atol=1e-12)
    with pytest.raises(ValueError, match="all assemblies must have the same values of 'time_bin_start'"):
        PerTime(XarrayCorrelation(pearsonr))(one, two.isel(time_bin=[0, 1]))


def test_slices_without_a_result_are_left_out():
    assembly = recording(0, ROWS, 4, STARTS)

    def after_onset(part):
        return part.sum() if part["time_bin_start"] > 0 else None

    sums = PerTime(after_onset)(assembly)
    assert sums["time_bin_start"].values.tolist() == [20, 40] and sums["time_bin_end"].values.tolist() == [40, 60]
    np.testing.assert_allclose(sums.values, assembly.values.sum(axis=(0, 1))[1:])
    assert PerTime(lambda part: None)(assembly) is None


def test_attributes_of_results_are_kept():
    stimuli = object()

    def scored(part):
        score = Score(float(part.mean()))
        number = int(part["time_bin_start"])
        score.attrs |= {"raw": part.mean("neuroid"), "set": stimuli, "n": number}
        if number:
            score.attrs["ceiling"] = part.max()
        return score

    assembly = recording(0, ROWS, 4, STARTS)
    score = PerTime(scored)(assembly)
    assert score.raw.dims == ("time_bin", "presentation") and score.raw["time_bin_start"].values.tolist() == STARTS
    np.testing.assert_allclose(score.raw.values, assembly.values.mean(axis=1).T)
    assert score.attrs["set"] is stimuli and score.attrs["n"] == STARTS and "ceiling" not in score.attrs


def test_a_regression_over_time():
    source, target, test = recording(0, ROWS, 3, STARTS), recording(1, ROWS, 2, STARTS), recording(2, ROWS, 3, STARTS)
    flat = [each.transpose("time_bin", "presentation", "neuroid").values for each in (source, target, test)]
    together = Ridge(0.5).fit(flat[0].reshape(-1, 3), flat[1].reshape(-1, 2))
    fitted = SpanTimeRegression(XarrayRegression(Ridge(0.5)))
    fitted.fit(source.isel(presentation=[*range(5, ROWS), *range(5)]), target)
    prediction = fitted.predict(test)
    assert prediction.dims == ("time_bin", "presentation", "neuroid")
    assert prediction["neuroid_id"].values.tolist() == [0, 1]
    np.testing.assert_allclose(prediction.values, [together.predict(flat[2][t]) for t in range(3)], atol=1e-10)
    with pytest.raises(ValueError, match="source and target must have the same time bins"):
        fitted.fit(source, target.isel(time_bin=[0, 2]))
