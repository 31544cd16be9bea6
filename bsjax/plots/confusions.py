"""Plot of the confusion matrices of a model and of people."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.core.extras import import_extra
from bsjax.labelled.behaviour.error_patterns import confusion_matrix
from bsjax.plots.style import FAINT, QUIET, check_format, new_figure, save, shortened

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_CELL_INCHES = 0.19
_TICKS = (0.0, 0.05, 0.25, 0.5, 1.0)


def plot_confusions(
    model: xr.DataArray, people: xr.DataArray, path: str | Path | None = None, *, name: str = "model", title: str = ""
) -> Figure:
    """Plot the confusion matrices of a model and of people side by side.

    Rows are the objects shown, columns the responses. A cell is the share of the trials of its row, on a square-root
    colour scale, so that rare confusions are visible. Responses that are never shown, such as "na", come last.

    Args:
        model: choices of the model, with ``stimulus_id`` and ``truth``.
        people: choices of people, likewise.
        path: output file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``; by default none is written.
        name: name of the model.
        title: title of the figure.

    Returns:
        The figure, which a notebook shows.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, or a coordinate is missing.

    Example:
        >>> import xarray as xr
        >>> shown = {"stimulus_id": ("presentation", [1, 2]), "truth": ("presentation", ["cat", "dog"])}
        >>> choices = xr.DataArray(["cat", "cat"], shown, ["presentation"])
        >>> figure = plot_confusions(choices, choices)
    """
    check_format(path)
    matrices = {name: confusion_matrix(model), "people": confusion_matrix(people)}
    truths = sorted({truth for matrix in matrices.values() for truth in matrix["truth"].values})
    others = {response for matrix in matrices.values() for response in matrix["response"].values} - set(truths)
    responses = [*truths, *sorted(others)]
    side = _CELL_INCHES * len(truths)
    width, height = 2.4 + 2 * (side + _CELL_INCHES * len(others)), 1.22 + side + (0.25 if title else 0)
    figure = new_figure(width, height, title)
    panels: Any = figure.subplots(1, 2, sharey=True)
    norm = import_extra("matplotlib.colors", "plots").PowerNorm(0.5, vmin=0, vmax=1)
    image = [
        _draw(panel, matrix.reindex(truth=truths, response=responses), whose, norm)
        for panel, (whose, matrix) in zip(panels, matrices.items(), strict=True)
    ][0]
    panels[0].set_ylabel("object shown", fontsize=8)
    bar = figure.colorbar(image, ax=list(panels), shrink=0.75, pad=0.02, ticks=_TICKS)
    bar.ax.set_yticklabels([f"{100 * tick:.0f} %" for tick in _TICKS], fontsize=7.5)
    bar.set_label("proportion of trials", fontsize=8)
    bar.outline.set_visible(False)
    return save(figure, path)


def _draw(panel: Axes, matrix: xr.DataArray, whose: str, norm: Any) -> Any:
    truths, responses = matrix["truth"].values.tolist(), matrix["response"].values.tolist()
    # A response that is never given has a share of 0; the row of an object that was not shown stays empty.
    shown = np.where(np.isnan(matrix["n"].values)[:, None], np.nan, matrix.fillna(0.0).values)
    image = panel.imshow(shown, cmap="Blues", norm=norm, interpolation="nearest")
    right = np.nansum(np.diagonal(shown) * matrix["n"].values) / np.nansum(matrix["n"].values)
    panel.set_title(f"{shortened(whose)}: {100 * right:.1f} % correct", fontsize=9, loc="left")
    panel.set_xticks(range(len(responses)), responses, rotation=90, fontsize=7.5)
    panel.set_yticks(range(len(truths)), truths, fontsize=7.5)
    panel.set_xlabel("chosen object", fontsize=8)
    panel.tick_params(length=0)
    if len(responses) > len(truths):
        panel.axvline(len(truths) - 0.5, color=QUIET, linewidth=0.8)
    for spine in panel.spines.values():
        spine.set_color(FAINT)
    return image
