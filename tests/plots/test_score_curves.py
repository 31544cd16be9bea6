"""Pictures of scores along time and numbers: points and bands are where the numbers are, gaps are seen."""

import numpy as np
import pytest

from bsjax import Score
from bsjax.plots import plot_score_by_number, plot_score_by_time
from tests.plots.conftest import in_time

pytest.importorskip("matplotlib")


def band(collection):
    return sorted({round(float(y), 9) for y in collection.get_paths()[0].vertices[:, 1]})


def curves(axes):
    """Lines with markers that are not crosses."""
    return [line for line in axes.lines if line.get_marker() not in ("None", "x")]


def test_bins_are_drawn_at_their_middles_in_order_with_their_intervals():
    score = in_time([0.4, 0.2])
    turned = Score(score.value.isel(time_bin=[1, 0]), error=score.error.isel(time_bin=[1, 0]))
    axes = plot_score_by_time(turned)
    assert curves(axes)[0].get_xydata().tolist() == [[80.0, 0.4], [100.0, 0.2]]
    ends = score.interval()
    wanted = sorted([*ends.low.values.tolist(), *ends.high.values.tolist()])
    assert band(axes.collections[0]) == pytest.approx(wanted)


def test_an_undefined_bin_leaves_a_gap_and_a_cross():
    axes = plot_score_by_time(in_time([0.4, np.nan, 0.3]))
    assert np.isnan(curves(axes)[0].get_ydata()).tolist() == [False, True, False]
    crosses = [line for line in axes.lines if line.get_marker() == "x"]
    assert [line.get_xdata().tolist() for line in crosses] == [[100.0]]
    # Neither neighbour of a gap has a band to be part of: its interval is a line.
    alone = [
        segment for lines in axes.collections if hasattr(lines, "get_segments") for segment in lines.get_segments()
    ]
    assert len(alone) == 2


def test_the_ceiling_of_each_bin_is_drawn_before_normalisation_and_one_after():
    unceiled, ceiling = in_time([0.3, 0.4]), in_time([0.25, 0.64])
    score = Score(unceiled.value**2 / ceiling.value, unceiled=unceiled, ceiling=ceiling, formula="r²/c")
    (after,) = (line for line in plot_score_by_time(score).lines if line.get_marker() == "None")
    assert after.get_ydata().tolist() == [1.0, 1.0]
    (before,) = (line for line in plot_score_by_time(score, normalised=False).lines if line.get_marker() == "None")
    assert before.get_ydata() == pytest.approx([0.5, 0.8])


def test_numbers_are_sorted_and_far_apart_ones_on_a_logarithmic_axis():
    axes = plot_score_by_number({100: Score(0.3), 1: Score(0.1), 10: Score(0.2)}, of="stimuli")
    assert curves(axes)[0].get_xydata().tolist() == [[1.0, 0.1], [10.0, 0.2], [100.0, 0.3]]
    assert axes.get_xscale() == "log" and axes.get_xlabel() == "number of stimuli"
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["1", "10", "100"]
    near = plot_score_by_number({"one": {0: Score(0.3), 5: Score(np.nan)}, "two": {3: Score(0.1)}})
    assert near.get_xscale() == "linear" and near.get_xticks().tolist() == [0, 3, 5]
    assert [line.get_xdata().tolist() for line in near.lines if line.get_marker() == "x"] == [[5.0]]
