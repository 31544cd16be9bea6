"""The picture of a comparison: what is in it, where it is drawn, and the same bytes every time."""

import html
import re

import numpy as np
import pytest
import xarray as xr

from bsjax import Score
from bsjax.inference.comparison import compare
from bsjax.plots import plot_model_comparison

matplotlib = pytest.importorskip("matplotlib")
WAYS = ["letters", "arrows", "lines"]


def comparison(n=6, more=None, **how):
    rng = np.random.default_rng(0)
    scores = {}
    for k in range(n):
        raw = xr.DataArray(0.1 * k + rng.normal(0, 0.05, 12), {"subject": np.arange(12)}, ["subject"])
        scores[f"model-{k}"] = Score(float(raw.mean()), raw=raw, provenance={"benchmark": "Somebody2013.IT-cka"})
    return compare(scores | (more or {}), **how)


def texts(path):
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text())]


def test_names_letters_and_the_benchmark_are_written(tmp_path):
    found = comparison(ceiling=0.8)
    plot_model_comparison(found, path=tmp_path / "figure.svg")
    written = texts(tmp_path / "figure.svg")
    assert {*found.models.index, *found.models["letters"], "Somebody2013.IT-cka", "ceiling"} <= set(written)


@pytest.mark.parametrize("significance", WAYS)
def test_it_is_as_wide_as_a_column_and_all_of_it_is_on_the_page(significance):
    axes = plot_model_comparison(comparison(12), significance=significance)
    figure = axes.figure
    figure.draw_without_rendering()
    assert figure.get_size_inches()[0] == 3.5
    drawn, page = figure.get_tightbbox(), figure.bbox_inches
    assert drawn.x0 > -0.02 and drawn.x1 < page.x1 + 0.02 and drawn.y0 > -0.02 and drawn.y1 < page.y1 + 0.02


def test_axes_that_are_given_are_drawn_into_in_their_colours():
    figure = matplotlib.figure.Figure(facecolor="black")
    axes = figure.subplots()
    axes.xaxis.label.set_color("white")
    found = comparison(chance={f"model-{k}": 0.02 for k in range(6)})
    assert plot_model_comparison(found, axes) is axes
    letters = {text.get_color() for text in axes.texts}
    assert letters == {"white"}


def test_there_is_an_arrow_for_each_model_that_is_above_all_from_some_on():
    found = comparison()
    axes = plot_model_comparison(found, significance="arrows")
    arrows = [text for text in axes.texts if text.arrow_patch is not None]
    differ = found.differs.to_numpy()
    reaching = [row for row in range(6) if differ[row, -1]]
    assert len(arrows) == len(reaching) > 0
