"""Heat map of the similarities of all pairs of many representations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bsjax.plots.heat_map import plot_heat_map

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes


def plot_similarity_matrix(
    matrix: xr.DataArray,
    ax: Axes | None = None,
    *,
    path: str | Path | None = None,
    clustered: bool = True,
    limits: tuple[float, float] = (0.0, 1.0),
    title: str = "",
) -> Axes:
    """Plot the similarities of all pairs of representations as a heat map; similar representations are neighbours.

    Args:
        matrix: result of :func:`bsjax.similarity_matrix`, ``(source, target)``.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        clustered: order representations by a hierarchical clustering (average linkage) of the mean of both directions;
            False keeps their order.
        limits: similarities of the lightest and the darkest colour.
        title: title of the axes.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the matrix has other dimensions, or the format or the limits are invalid.

    Example:
        >>> import xarray as xr
        >>> names = ["a", "b", "c"]
        >>> matrix = xr.DataArray([[1, 0.1, 0.9], [0.1, 1, 0.2], [0.9, 0.2, 1]], {"source": names, "target": names},
        ...                       ["source", "target"])
        >>> [tick.get_text() for tick in plot_similarity_matrix(matrix).get_yticklabels()]
        ['b', 'c', 'a']
    """
    if set(matrix.dims) != {"source", "target"} or list(matrix["source"].values) != list(matrix["target"].values):
        raise ValueError(
            f"expected a matrix (source, target) of the same names, as from bsjax.similarity_matrix, got {matrix.dims}"
        )
    matrix = matrix.transpose("source", "target")
    order = _by_similarity(matrix.values) if clustered and len(matrix) > 2 else np.arange(len(matrix))
    frame = matrix[order, order].to_series().reset_index(name="score")
    frame = frame.rename(columns={"source": "model", "target": "benchmark"})
    return plot_heat_map(pd.DataFrame(frame), ax, path=path, limits=limits, title=title)


def _by_similarity(values: np.ndarray) -> np.ndarray:
    """The order of the leaves of a hierarchical clustering; undefined similarities count as none."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    known = np.nan_to_num(0.5 * (values + values.T), nan=0.0)
    apart = (known.max() - known)[np.triu_indices(len(values), 1)]
    return leaves_list(linkage(apart, "average", optimal_ordering=True))
