"""Pictures of neuroids: bars count them by their own ceilings, points are matched by identifier."""

import numpy as np
import pytest
import xarray as xr

from bsjax import Score
from bsjax.plots import plot_neuroid_ceilings, plot_prediction

pytest.importorskip("matplotlib")


def by_neuroid(values, names=None):
    values = np.asarray(values, float)
    names = [f"n{n}" for n in range(values.shape[-1])] if names is None else names
    return xr.DataArray(values, {"neuroid_id": ("neuroid", names)}, ["split", "neuroid"][-values.ndim :])


def score(values, ceilings, formula="r/c", **how):
    return Score(0.5, raw=by_neuroid(values), ceiling=Score(0.5, raw=by_neuroid(ceilings, **how)), formula=formula)


def counted(axes):
    """Number of neuroids by the lower edge of their bar."""
    return {round(bar.get_x(), 6): int(bar.get_height()) for bar in axes.patches if bar.get_height()}


def test_each_neuroid_is_counted_by_its_own_ceiling():
    axes = plot_neuroid_ceilings(score([0.2, 0.4, 0.9], [0.4, 0.8, 0.75]))
    assert sum(counted(axes).values()) == 3
    (low, two), (high, one) = counted(axes).items()
    assert (two, one) == (2, 1) and low <= 0.5 and high >= 1.0
    assert axes.texts[0].get_text() == "median 0.50; 1 of 3 above their ceiling"
    assert {line.get_xdata()[0] for line in axes.lines} == {1.0, 0.5}


def test_they_are_matched_by_identifier_and_averaged_over_splits():
    axes = plot_neuroid_ceilings(score([[0.1, 0.8], [0.3, np.nan]], [0.8, 0.4], names=["n1", "n0"]))
    assert axes.texts[0].get_text().startswith("median 0.75")  # 0.2 / 0.4 and 0.8 / 0.8


def test_what_has_no_place_is_said():
    axes = plot_neuroid_ceilings(score([0.2, np.nan, 0.3, 0.9], [0.4, 0.5, -0.1, 0.1]))
    assert axes.texts[0].get_text() == "median 4.75; 1 of 2 above their ceiling; 2 undefined; 1 off the axis"
    assert sum(counted(axes).values()) == 1


def test_scores_without_neuroids_are_refused():
    with pytest.raises(ValueError, match="the score has no values of neuroids"):
        plot_neuroid_ceilings(Score(0.5))
    with pytest.raises(ValueError, match="other neuroids: 2 on one side"):
        plot_neuroid_ceilings(score([0.5], [0.5], names=["other"]))
    with pytest.raises(ValueError, match="none of 1 neuroids has a value and a ceiling"):
        plot_neuroid_ceilings(score([0.5], [0.0]))


def responses(values, stimuli="abcd"):
    labels = {"stimulus_id": ("presentation", list(stimuli)), "neuroid_id": ("neuroid", ["x", "y"])}
    return xr.DataArray(values, labels, ["presentation", "neuroid"])


MEASURED = responses(np.array([[1.0, 2, 4, 3], [0, 0, 0, 0]]).T)


def points(axes):
    return np.asarray(axes.collections[0].get_offsets()).tolist()


def test_assemblies_are_matched_by_stimulus_and_neuroid():
    predicted = responses(np.array([[30.0, 10, 20, 40], [1, 1, 1, 1]]).T, "dabc")
    axes = plot_prediction(predicted, MEASURED, neuroid="x")
    assert points(axes) == [[10.0, 1.0], [20.0, 2.0], [40.0, 4.0], [30.0, 3.0]]
    assert axes.texts[0].get_text() == "r = 1.00, 4 stimuli" and axes.get_title("left") == "x"
    constant = plot_prediction(predicted, MEASURED, neuroid="y")
    assert constant.texts[0].get_text() == "r undefined, 4 stimuli"
