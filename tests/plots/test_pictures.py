"""What holds for every picture that is drawn into one axes: whole at the width of a column, dark, on any axes."""

import sys

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bsjax import Score, plots
from tests.plots.conftest import comparison, in_time

matplotlib = pytest.importorskip("matplotlib")

NAMES = ["a-model-with-a-name-that-is-far-too-long-for-a-column", "pixels", "convnet", "$x_1$"]
LONG = "SomebodyAndOthers2013public.InferiorTemporalCortex-pls"


def square(n=12, seed=0):
    values = np.random.default_rng(seed).random((n, n))
    return np.where(np.eye(n), 0.0, values + values.T)


def whole(value=0.36, **provenance):
    ids = {"neuroid_id": ("neuroid", [f"n{n}" for n in range(50)])}
    rng = np.random.default_rng(0)
    parts = [xr.DataArray(rng.uniform(low, high, 50), ids, ["neuroid"]) for low, high in ((0.1, 0.8), (0.3, 0.9))]
    ceiling = Score(0.64, error=0.05, raw=parts[1])
    unceiled = Score(0.48, error=0.03, raw=parts[0], formula="r")
    return Score(
        value, error=0.04, raw=parts[0], ceiling=ceiling, unceiled=unceiled, formula="r²/c", provenance=provenance
    )


def table():
    rows = [(m, b, 0.1 * n, "scored") for n, m in enumerate(NAMES) for b in (LONG, "V1-rdm", "V4-ridge")]
    frame = pd.DataFrame(rows, columns=["model", "benchmark", "score", "state"]).iloc[:-1]
    frame.loc[3, ["score", "state"]] = np.nan, "failed"
    return frame


GROUPS = ["elephant-with-a-long-name"] * 5 + ["car"] * 4 + ["face"] * 3
SCORES = {name: whole(0.2 + 0.1 * n) for n, name in enumerate(NAMES)}
DRAW = {
    "scores": lambda **how: plots.plot_scores(SCORES, title=LONG, **how),
    "scores before normalisation": lambda **how: plots.plot_scores(SCORES, normalised=False, **how),
    "heat map": lambda **how: plots.plot_heat_map(table(), title=LONG[:30], **how),
    "time": lambda **how: plots.plot_score_by_time({name: in_time((0.1, np.nan, 0.3)) for name in NAMES}, **how),
    "numbers": lambda **how: plots.plot_score_by_number({n: whole() for n in (1, 2, 5, 10, 25, 50)}, **how),
    "neuroids": lambda **how: plots.plot_neuroid_ceilings(whole(model=NAMES[0], benchmark=LONG), **how),
    "prediction": lambda **how: plots.plot_prediction(np.arange(9.0), np.arange(9.0)[::-1], title=LONG, **how),
    "rdm": lambda **how: plots.plot_rdm(square(), groups=GROUPS, title=LONG[:30], **how),
    "rdm without groups": lambda **how: plots.plot_rdm(square(), **how),
    "pair": lambda **how: plots.plot_rdm_pair(square(), square(seed=1), groups=GROUPS, names=("mine", "IT"), **how),
    "letters": lambda **how: plots.plot_model_comparison(comparison(8, chance=0.02), title=LONG, **how),
    "arrows": lambda **how: plots.plot_model_comparison(comparison(8, chance=0.02), significance="arrows", **how),
    "lines": lambda **how: plots.plot_model_comparison(comparison(8, chance=0.02), significance="lines", **how),
    "mds": lambda **how: plots.plot_mds(square(), groups=GROUPS, title=LONG[:30], **how),
}


@pytest.fixture(params=DRAW)
def draw(request):
    return DRAW[request.param]


def written(figure):
    """The texts of a figure that can be read."""
    found = [text for text in figure.findobj(matplotlib.text.Text) if text.get_visible() and text.get_text().strip()]
    return [text for text in found if text.axes is None or text.axes.axison]


def test_all_of_it_is_on_a_page_as_wide_as_a_column_and_no_text_lies_on_another(draw):
    before = dict(matplotlib.rcParams), "matplotlib.pyplot" in sys.modules
    figure = draw().figure
    assert (dict(matplotlib.rcParams), "matplotlib.pyplot" in sys.modules) == before
    figure.draw_without_rendering()
    page = figure.bbox
    assert round(25.4 * figure.get_size_inches()[0]) == 89
    drawn = figure.get_tightbbox()
    assert drawn.x0 > -0.02 and drawn.x1 < figure.bbox_inches.x1 + 0.02
    assert drawn.y0 > -0.02 and drawn.y1 < figure.bbox_inches.y1 + 0.02
    boxes = [(text.get_text(), text.get_window_extent()) for text in written(figure)]
    boxes = [(text, box) for text, box in boxes if page.x0 <= (box.x0 + box.x1) / 2 <= page.x1 and box.width]
    assert len(boxes) > 2
    overlapping = [
        (one, two)
        for n, (one, a) in enumerate(boxes)
        for two, b in boxes[n + 1 :]
        if min(a.x1, b.x1) - max(a.x0, b.x0) > 1 and min(a.y1, b.y1) - max(a.y0, b.y0) > 1
    ]
    assert overlapping == []


def test_axes_that_are_given_are_drawn_into_and_returned_in_their_colours(draw):
    with matplotlib.style.context("dark_background"):
        figure = matplotlib.figure.Figure(figsize=(6.4, 4.8), layout="constrained")
        axes = figure.subplots()
        assert draw(ax=axes) is axes
    dark = [text for text in written(figure) if matplotlib.colors.to_rgb(text.get_color()) == (0.0, 0.0, 0.0)]
    assert [text.get_text() for text in dark] == []


@pytest.mark.parametrize("kind", ["scores", "heat map", "mds"])
def test_equal_results_make_equal_files_and_other_formats_are_refused(kind, tmp_path):
    for name in ("one", "two"):
        DRAW[kind](path=tmp_path / f"{name}.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
    with pytest.raises(ValueError, match="ends in .png, .pdf or .svg"):
        DRAW[kind](path=tmp_path / "figure.doc")
