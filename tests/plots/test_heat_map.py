"""The heat map: colours and numbers are those of the table, and a cell without a score is never one of 0."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bsjax.plots import plot_heat_map, plot_similarity_matrix

pytest.importorskip("matplotlib")

ROWS = [
    ("a", "V1", 0.25, 0.01, "scored"),
    ("a", "IT", -0.5, np.nan, "scored"),
    ("b", "IT", np.nan, np.nan, "failed"),
    ("c", "V1", np.nan, np.nan, "undefined"),
    ("c", "IT", 1.25, 0.1, "scored"),
]


def table(rows=ROWS):
    return pd.DataFrame(rows, columns=["model", "benchmark", "score", "error", "state"])


def cells(axes):
    return {text.get_position(): text.get_text() for text in axes.texts}


def test_cells_hold_their_scores_and_say_why_there_is_none():
    axes = plot_heat_map(table())
    mesh = axes.collections[0]
    drawn = mesh.get_array()
    assert drawn.filled(np.nan).tolist()[0] == [0.25, -0.5]
    assert drawn.mask.tolist() == [[False, False], [True, True], [True, False]]
    assert cells(axes) == {
        (0.5, 0.5): ".25", (1.5, 0.5): "-.50", (0.5, 1.5): "·", (1.5, 1.5): "×", (0.5, 2.5): "?", (1.5, 2.5): "1.25",
    }  # fmt: skip
    assert axes.get_xlabel() == "× failed   ? undefined   · not scored"
    assert [tick.get_text() for tick in axes.get_yticklabels()] == ["a", "b", "c"]
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["V1", "IT"]
    assert mesh.get_clim() == (0.0, 1.0)


def test_numbers_are_left_out_where_there_is_no_room_but_marks_are_not():
    rows = [(f"m{m}", f"b{b}", np.nan if m == b else 0.5, 0.1, "scored") for m in range(3) for b in range(60)]
    assert list(cells(plot_heat_map(table(rows))).values()) == ["?"] * 3


NAMES = ["a1", "b1", "a2", "b2"]
VALUES = np.array([[1.0, 0.1, 0.8, 0.2], [0.1, 1.0, 0.3, 0.7], [0.8, 0.3, 1.0, np.nan], [0.2, 0.7, np.nan, 1.0]])
MATRIX = xr.DataArray(VALUES, {"source": NAMES, "target": NAMES}, ["source", "target"])


def test_similar_ones_are_neighbours_and_numbers_are_those_of_their_pairs():
    axes = plot_similarity_matrix(MATRIX)
    order = [tick.get_text() for tick in axes.get_yticklabels()]
    assert [name[0] for name in order] in (list("aabb"), list("bbaa"))
    drawn = np.ma.filled(axes.collections[0].get_array(), np.nan)
    np.testing.assert_array_equal(drawn, MATRIX.sel(source=order, target=order).values)


def test_an_order_of_ones_own_and_another_table():
    axes = plot_similarity_matrix(MATRIX, clustered=False)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == NAMES
    with pytest.raises(ValueError, match="similarity_matrix"):
        plot_similarity_matrix(MATRIX.rename(source="model"))
