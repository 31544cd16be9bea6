"""The picture of scores: each number is drawn where it is, with its interval and what its ceiling allows."""

import numpy as np
import pytest

from bsjax import Score
from bsjax.plots import plot_heat_map, plot_scores
from bsjax.scoring import Scores

pytest.importorskip("matplotlib")


def normalised(value=0.36, formula="r²/c"):
    ceiling, unceiled = Score(0.64, error=0.05), Score(0.48, error=0.03, formula="r")
    return Score(value, error=0.04, ceiling=ceiling, unceiled=unceiled, formula=formula)


def points(axes):
    """Markers of scores, as (score, row)."""
    return [tuple(line.get_xydata()[0].tolist()) for line in axes.lines if line.get_marker() == "o"]


def test_what_scores_several_pairs_is_drawn_as_it_is():
    pairs = {("pixels", "V1-pls"): Score(0.2), ("gabor-v1", "V1-pls"): Score(0.5)}
    axes = plot_scores(Scores(pairs))
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["pixels", "gabor-v1"]
    assert axes.get_title(loc="left") == "V1-pls"
    axes = plot_scores(pairs | {("pixels", "V1-cka"): Score(0.1, formula="r/√c")})
    assert [tick.get_text() for tick in axes.get_yticklabels()][2] == "pixels\nV1-cka"
    assert axes.get_xlabel() == "score, 95 % intervals"
    assert plot_heat_map(Scores(pairs)).texts[0].get_text() == ".20"
    with pytest.raises(ValueError, match="expected scores to draw, got str"):
        plot_scores({"pixels": "0.2"})


def test_points_intervals_and_words_are_those_of_the_scores():
    scores = {"one": Score(0.2, error=0.05), "two": Score(-0.3, error=0.1)}
    axes = plot_scores(scores)
    assert points(axes) == [(0.2, 0.0), (-0.3, 1.0)]
    drawn = [bar.get_segments()[0][:, 0].tolist() for bar in axes.collections]
    assert drawn == [list(score.interval()[:2]) for score in scores.values()]
    assert [text.get_text() for text in axes.texts] == ["0.20 [0.10, 0.30]", "-0.30 [-0.50, -0.10]"]
    assert axes.get_xlim()[0] < -0.5 and [tick.get_text() for tick in axes.get_yticklabels()] == ["one", "two"]


def test_undefined_scores_have_words_and_no_point_and_those_without_an_interval_are_hollow():
    axes = plot_scores({"none": Score(np.nan), "sure": Score(0.5)})
    assert points(axes) == [(0.5, 1.0)] and not axes.collections
    assert axes.lines[0].get_markerfacecolor() != axes.lines[0].get_markeredgecolor()
    assert [text.get_text() for text in axes.texts] == ["undefined", "0.50, no interval"]


def test_the_ceiling_is_one_of_a_normalised_score_and_what_the_formula_allows_before():
    gray = [line.get_xdata().tolist() for line in plot_scores(normalised()).lines if line.get_marker() == "None"]
    assert gray == [[1.0, 1.0]]
    axes = plot_scores(normalised(), normalised=False)
    assert points(axes) == [(0.48, 0.0)]
    assert [line.get_xdata().tolist() for line in axes.lines if line.get_marker() == "None"] == [[0.8, 0.8]]
    band = axes.collections[0].get_paths()[0].vertices[:, 0]
    assert [band.min(), band.max()] == pytest.approx(np.sqrt(normalised().ceiling.interval()[:2]))
