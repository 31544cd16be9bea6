"""Heat maps: scores of models on benchmarks, and similarities of all pairs of representations."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bsjax.core.extras import import_extra
from bsjax.core.messages import some
from bsjax.plots.style import LONGEST_ROW, finish, look_of, name_rows, panel_for, saved, shortened
from bsjax.scoring.display.scores import Scores
from bsjax.scoring.grid import Grid

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes

_ROW, _LETTER = 0.2, 0.055  # inches
_LIGHT, _DARK = "#f0f6fc", "#084081"
_NEEDED = ("model", "benchmark", "score")
# State of a cell without a number -> its mark and the meaning.
_MARKS = {
    "failed": ("×", "failed"),
    "blocked": ("–", "cannot run here"),
    "undefined": ("?", "undefined"),
    "resolved": ("t", "time-resolved"),
    "missing": ("·", "not scored"),
}
_LEAST_POINTS = 4.0
_LETTERS_OF_NUMBER = 3.4  # the width of ".57" with a margin, in widths of a digit


class Tables(NamedTuple):
    """The drawn values, (models, benchmarks); errors that are not shown are NaN, states are keys of the marks."""

    models: list[str]
    benchmarks: list[str]
    scores: np.ndarray
    errors: np.ndarray
    states: np.ndarray


def plot_heat_map(
    frame: pd.DataFrame | Grid | Scores,
    ax: Axes | None = None,
    *,
    path: str | Path | None = None,
    errors: bool = False,
    limits: tuple[float, float] = (0.0, 1.0),
    title: str = "",
) -> Axes:
    """Plot scores of models (rows) on benchmarks (columns) as a heat map; higher scores are darker.

    Numbers are written in the cells if there is room. A cell without a score has a mark for the reason, explained below
    the map; it is never drawn as a score of 0. Rows and columns keep the order of the table.

    Args:
        frame: result of :func:`bsjax.score_grid`, or of :func:`bsjax.score` for several pairs; or a table with a row
            for each score, as from ``store.frame()``: columns ``model``, ``benchmark`` and ``score``, optionally
            ``state``, which gives the reason for a missing score, and ``error``.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        errors: write the error below each score, if there is room.
        limits: scores of the lightest and the darkest colour; scores beyond them are clipped.
        title: title of the axes.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown; the table is empty, lacks a column, or has two scores of one model on one
            benchmark; or the limits are invalid.

    Example:
        >>> import pandas as pd
        >>> rows = [("pixels", "V1-pls", 0.2, "scored"), ("pixels", "IT-pls", float("nan"), "failed")]
        >>> axes = plot_heat_map(pd.DataFrame(rows, columns=["model", "benchmark", "score", "state"]))
        >>> [text.get_text() for text in axes.texts]
        ['.20', '×']
    """
    tables = _tables(frame.frame() if isinstance(frame, Grid | Scores) else frame, errors)
    low, high = limits
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise ValueError(f"limits must be two numbers, the lower one first, got {limits}")
    models, benchmarks = tables.models, tables.benchmarks
    below = _LETTER * min(max(map(len, benchmarks)), LONGEST_ROW)
    row = _ROW * (1.5 if errors else 1)
    panel = panel_for(ax, path, 0.55 + below + row * len(models) + (0.25 if title else 0))
    look = look_of(panel)
    colours = import_extra("matplotlib.colors", "plots").LinearSegmentedColormap.from_list("bsjax", [_LIGHT, _DARK])
    # As a mesh, not an image, so that cells have sharp edges in a .pdf and a thin line between them.
    mesh = panel.pcolormesh(
        np.ma.masked_invalid(tables.scores), cmap=colours, vmin=low, vmax=high, edgecolors=look.paper,
        linewidth=1.0,
    )  # fmt: skip
    name_rows(panel, models)
    panel.set_yticks(np.arange(len(models)) + 0.5, panel.get_yticklabels())
    panel.set_ylim(len(models), 0)
    panel.set_xticks(
        np.arange(len(benchmarks)) + 0.5, [shortened(name, LONGEST_ROW) for name in benchmarks], rotation=90
    )
    panel.tick_params(axis="x", length=0)
    finish(panel, title=title, spines=())
    used = [state for state in _MARKS if (tables.states == state).any()]
    said = "   ".join(f"{mark} {words}" for mark, words in (_MARKS[state] for state in used))
    panel.set_xlabel(said, fontsize=look.small, color=look.ink)
    bar = panel.figure.colorbar(mesh, ax=panel, pad=0.02, fraction=0.05, aspect=18)
    bar.set_label("score", fontsize=look.text, color=look.ink)
    bar.ax.tick_params(labelsize=look.text)
    bar.outline.set_visible(False)
    _write(panel, mesh, tables, 2 if errors else 1)
    return saved(panel, path)


def _tables(frame: pd.DataFrame, errors: bool) -> Tables:
    needed = [*_NEEDED, *(["error"] if errors else [])]
    if missing := [name for name in needed if name not in frame.columns]:
        raise ValueError(
            f"a table of scores has the columns {', '.join(needed)}, as grid.frame() gives it; "
            f"missing: {', '.join(missing)}"
        )
    if frame.empty:
        raise ValueError("nothing to draw: the table has no row")
    pairs = list(zip(frame["model"].astype(str), frame["benchmark"].astype(str), strict=True))
    if len(set(pairs)) < len(pairs):
        twice = [f"{model} on {benchmark}" for (model, benchmark), n in Counter(pairs).items() if n > 1]
        raise ValueError(f"the table has several scores of {some(twice)}: keep one of each, e.g. the latest")
    models, benchmarks = (list(dict.fromkeys(names)) for names in zip(*pairs, strict=True))
    places = [{name: n for n, name in enumerate(names)} for names in (models, benchmarks)]
    at = tuple(np.array([[places[0][model], places[1][benchmark]] for model, benchmark in pairs]).T)
    shape = len(models), len(benchmarks)
    scores, spread, states = np.full(shape, np.nan), np.full(shape, np.nan), np.full(shape, "missing", object)
    scores[at] = frame["score"].to_numpy(float)
    if errors:
        spread[at] = frame["error"].to_numpy(float)
    # A score without a number and without a known state is undefined.
    said = frame["state"] if "state" in frame else [""] * len(frame)
    states[at] = [state if state in _MARKS else "undefined" for state in said]
    states[~np.isnan(scores)] = "scored"
    return Tables(models, benchmarks, scores, spread, states)


def _write(panel: Any, mesh: Any, tables: Tables, n_lines: int) -> None:
    """Write numbers and marks, as large as the cells allow."""
    look = look_of(panel)
    panel.figure.draw_without_rendering()  # determines the size of the cells
    box, inch = panel.get_window_extent(), panel.figure.dpi
    width, height = 72 * box.width / inch / len(tables.benchmarks), 72 * box.height / inch / len(tables.models)
    points = min(look.small, width / (0.6 * _LETTERS_OF_NUMBER), 0.8 * height / n_lines)
    for row, column in np.ndindex(tables.scores.shape):
        at, score, error = (column + 0.5, row + 0.5), float(tables.scores[row, column]), tables.errors[row, column]
        if math.isnan(score):
            mark, _ = _MARKS[str(tables.states[row, column])]
            panel.text(*at, mark, fontsize=max(points, _LEAST_POINTS), color=look.ink, ha="center", va="center")
        elif points >= _LEAST_POINTS:
            red, green, blue, _ = mesh.to_rgba(score)
            ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.55 else "#111111"
            said = _short(score) if math.isnan(error) else f"{_short(score)}\n±{_short(float(error))}"
            panel.text(*at, said, fontsize=points, color=ink, ha="center", va="center", linespacing=1.0)


def _short(number: float) -> str:
    """Format a number with two decimals and without the leading 0: .57, -.04, 1.20, .00."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{number:z.2f}")


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
    return plot_heat_map(frame, ax, path=path, limits=limits, title=title)


def _by_similarity(values: np.ndarray) -> np.ndarray:
    """The order of the leaves of a hierarchical clustering; undefined similarities count as none."""
    from scipy.cluster.hierarchy import leaves_list, linkage

    known = np.nan_to_num(0.5 * (values + values.T), nan=0.0)
    apart = (known.max() - known)[np.triu_indices(len(values), 1)]
    return leaves_list(linkage(apart, "average", optimal_ordering=True))
