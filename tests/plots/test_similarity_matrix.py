"""Heat map of all pairs: similar representations are neighbours; every number is that of its pair."""

import numpy as np
import pytest
import xarray as xr

from bsjax.plots import plot_similarity_matrix

pytest.importorskip("matplotlib")

NAMES = ["a1", "b1", "a2", "b2"]
VALUES = np.array([[1.0, 0.1, 0.8, 0.2], [0.1, 1.0, 0.3, 0.7], [0.8, 0.3, 1.0, np.nan], [0.2, 0.7, np.nan, 1.0]])
MATRIX = xr.DataArray(VALUES, {"source": NAMES, "target": NAMES}, ["source", "target"])


def test_similar_ones_are_neighbours_and_numbers_are_those_of_their_pairs():
    axes = plot_similarity_matrix(MATRIX)
    order = [tick.get_text() for tick in axes.get_yticklabels()]
    assert [name[0] for name in order] in (list("aabb"), list("bbaa"))
    drawn = np.ma.filled(axes.collections[0].get_array(), np.nan)
    np.testing.assert_array_equal(drawn, MATRIX.sel(source=order, target=order).values)


def test_an_order_of_ones_own():
    axes = plot_similarity_matrix(MATRIX, clustered=False)
    assert [tick.get_text() for tick in axes.get_xticklabels()] == NAMES


def test_another_table_is_refused():
    with pytest.raises(ValueError, match="similarity_matrix"):
        plot_similarity_matrix(MATRIX.rename(source="model"))
