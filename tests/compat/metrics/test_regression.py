"""Regressions and correlations over assemblies."""

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.linear_model import LinearRegression, Ridge

from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.compat.metrics.regression import XarrayCorrelation, XarrayRegression
from bsjax.compat.score import Score
from tests.compat.conftest import recording

ROWS, ORDER = 12, np.random.default_rng(9).permutation(12)


def test_rows_are_matched_by_stimulus():
    source, target, test = recording(0, ROWS, 4), recording(1, ROWS, 3), recording(2, ROWS, 4)
    expected = Ridge(0.7).fit(source.values, target.values).predict(test.values)
    regression = XarrayRegression(Ridge(0.7))
    regression.fit(source.isel(presentation=ORDER), target.isel(presentation=ORDER[::-1]).T)
    prediction = regression.predict(test.isel(presentation=ORDER))
    assert type(prediction) is NeuroidAssembly and prediction.dims == ("presentation", "neuroid")
    np.testing.assert_allclose(prediction.values, expected[ORDER], atol=1e-12)
    assert prediction["stimulus_id"].values.tolist() == test["stimulus_id"].values[ORDER].tolist()
    assert prediction["neuroid_id"].values.tolist() == [0, 1, 2]
    assert set(prediction.coords) == {"stimulus_id", "object_name", "neuroid_id", "region"}


def test_what_cannot_be_fitted():
    source, target = recording(0, ROWS, 4), recording(1, ROWS, 3)
    regression = XarrayRegression(LinearRegression())
    with pytest.raises(ValueError, match=r"expected an assembly of the dimensions \('presentation', 'neuroid'\), got"):
        regression.fit(source.expand_dims("time_bin"), target)
    for other in (target.isel(presentation=slice(4)), target.assign_coords(stimulus_id=("presentation", range(ROWS)))):
        with pytest.raises(ValueError, match="source and target must have the same values of 'stimulus_id'"):
            regression.fit(source, other)


def test_correlations_of_neuroids():
    prediction, target = recording(0, ROWS, 3), recording(1, ROWS, 3)
    expected = [spearmanr(target.values[:, n], prediction.values[:, n])[0] for n in range(3)]
    score = XarrayCorrelation(spearmanr)(prediction, target.isel(presentation=ORDER, neuroid=[2, 0, 1]))
    assert type(score) is Score and score.dims == ("neuroid",) and set(score.coords) == {"neuroid_id", "region"}
    assert score["neuroid_id"].values.tolist() == [0, 1, 2]
    np.testing.assert_allclose(score.values, expected, atol=1e-12)
