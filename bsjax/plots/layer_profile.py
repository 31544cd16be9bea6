"""Plot of scores by layer of a model."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.plots.style import LINE, LONGEST_NAME, MARKED, check_format, draw_grid, new_figure, saved, shortened

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bsjax.scoring.layers.profile import LayerChoice

_LAYER_INCHES, _PANEL_INCHES = 0.19, 2.5
_LONGEST_HEADING = 36


def plot_layer_choice(
    choice: LayerChoice, path: str | Path | None = None, *, ax: Axes | Sequence[Axes] | None = None
) -> list[Axes]:
    """Plot the result of :func:`bsjax.choose_layers`: the score of every layer, with a panel for each region.

    The chosen layers are marked, with their margin and nested score. A bar is the 95 % interval of a layer's score,
    where it has one, see :meth:`bsjax.Score.interval`.

    Args:
        choice: the result.
        path, ax: see :func:`plot_layer_profile`.

    Returns:
        The axes of each region.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, or the number of axes is not that of regions.

    Example:
        >>> import bsjax
        >>> gabors = bsjax.load_model("gabor-v1")
        >>> choice = bsjax.choose_layers(gabors, benchmarks={"V1": "Simulated.V1-cka"}, nested=False, n_bootstrap=0)
        >>> len(plot_layer_choice(choice))
        1
    """
    return plot_layer_profile(
        choice.profile,
        path,
        ax=ax,
        chosen=choice.region_layer_map,
        margins=choice.margin,
        nested={region: float(score) for region, score in choice.nested_score.items() if score is not None},
        title=choice.model.identifier,
    )


def plot_layer_profile(
    profile: xr.DataArray,
    path: str | Path | None = None,
    *,
    ax: Axes | Sequence[Axes] | None = None,
    chosen: Mapping[str, str] | None = None,
    margins: Mapping[str, float] | None = None,
    nested: Mapping[str, float] | None = None,
    title: str = "",
) -> list[Axes]:
    """Plot scores by layer, with a panel for each region and layers from the first (top) to the deepest (bottom).

    Args:
        profile: scores, dims ``(region, layer)``. The optional coordinates ``low`` and ``high`` of these dims, the
            ends of 95 % intervals, or else ``error``, give error bars, and the coordinate ``benchmark`` of ``region``
            appears in the titles. NaN leaves a gap.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        ax: axes to draw into, one for each region; by default those of a new figure.
        chosen: region -> layer to mark.
        margins: region -> difference between the scores of the chosen and the next best layer.
        nested: region -> nested score, marked in the row of the chosen layer.
        title: title of the figure, e.g. the model; with ``ax``, title of the first axes.

    Returns:
        The axes of each region; ``[0].figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, the profile has no region or layer, or the number of axes is not that of
            regions.

    Example:
        >>> import tempfile, xarray as xr
        >>> profile = xr.DataArray([[0.2, 0.3]], {"region": ["V1"], "layer": ["conv1", "conv2"]}, ["region", "layer"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [axes] = plot_layer_profile(profile, Path(folder) / "profile.png", chosen={"V1": "conv2"})
        ...     (Path(folder) / "profile.png").stat().st_size > 1000
        True
    """
    check_format(path)
    profile = profile.transpose("region", "layer")
    n_regions, n_layers = profile.shape
    if not n_regions or not n_layers:
        raise ValueError(f"nothing to draw: {n_regions} regions, {n_layers} layers")
    names, left_out = _without_what_all_share(profile["layer"].values.astype(str).tolist())
    panels = _panels(ax, n_regions, n_layers, max(map(len, names)))
    for panel, region in zip(panels, profile["region"].values.tolist(), strict=True):
        of_region = profile.sel(region=region)
        best = None if chosen is None else chosen.get(region)
        _draw_profile(panel, of_region, best, None if nested is None else nested.get(region))
        shown = dict(zip(profile["layer"].values.tolist(), names, strict=True)).get(best)
        panel.set_title(
            _heading(of_region, best, shown, None if margins is None else margins.get(region)), fontsize=8.5
        )
    for number, panel in enumerate(panels):
        panel.set_yticks(range(n_layers), names, fontsize=8)
        panel.tick_params(axis="y", labelleft=not number)
        panel.set_ylim(n_layers - 0.5, -0.5)
    panels[0].set_ylabel(left_out, fontsize=8)
    if ax is None:
        panels[0].figure.suptitle(title, fontsize=11)
        _add_legend(panels[0].figure, panels)
    else:
        heading = panels[0].get_title()
        panels[0].set_title(f"{title}\n{heading}" if title else heading, fontsize=8.5)
        panels[-1].legend(loc="best", fontsize=7, frameon=False)
    saved(panels[0], path)
    return panels


def _panels(ax: Axes | Sequence[Axes] | None, n_regions: int, n_layers: int, longest: int) -> list[Any]:
    """The axes of each region, given or of a new figure."""
    if ax is not None:
        given = np.atleast_1d(np.asarray(ax, object)).ravel().tolist()
        if len(given) != n_regions:
            raise ValueError(f"there must be axes for each of {n_regions} regions, got {len(given)}")
        return given
    figure = new_figure(0.8 + 0.075 * longest + _PANEL_INCHES * n_regions, 1.7 + _LAYER_INCHES * max(n_layers, 5))
    return figure.subplots(1, n_regions, sharex=True, sharey=True, squeeze=False)[0].tolist()


def _draw_profile(panel: Axes, scores: xr.DataArray, chosen: str | None, nested: float | None) -> None:
    values, rows = scores.values, np.arange(scores.sizes["layer"])
    errors, label = None, "layer"
    if {"low", "high"} <= set(scores.coords):
        errors = np.maximum([values - scores["low"].values, scores["high"].values - values], 0)
        label = "layer, 95 % interval" if np.isfinite(errors).any() else label
    elif "error" in scores.coords:
        errors, label = scores["error"].values, "layer, ± error"
    draw_grid(panel, "x")
    panel.errorbar(
        values,
        rows,
        xerr=errors,
        color=LINE,
        marker="o",
        markersize=4,
        linewidth=1.2,
        elinewidth=0.9,
        label=label,
    )
    layers = scores["layer"].values.tolist()
    if chosen in layers:
        row = layers.index(chosen)
        panel.axhspan(row - 0.45, row + 0.45, color=MARKED, alpha=0.2, linewidth=0)
        panel.plot(values[row], row, "o", color=MARKED, markersize=6.5, zorder=4, label="chosen layer")
        if nested is not None and not math.isnan(nested):
            panel.plot(
                nested,
                row,
                "D",
                markerfacecolor=panel.get_facecolor(),
                markeredgecolor=MARKED,
                markersize=5,
                zorder=5,
                label="nested choice, without selection bias",
            )
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelsize=8)
    panel.set_xlabel("score, ceiled", fontsize=8)
    panel.margins(x=0.08)


def _heading(scores: xr.DataArray, chosen: str | None, shown: str | None, margin: float | None) -> str:
    """The title of a panel: region and benchmark, and in a second line the chosen layer with its score and margin."""
    lines = [str(scores["region"].item())]
    if "benchmark" in scores.coords:
        lines[0] += f": {shortened(str(scores['benchmark'].item()), _LONGEST_HEADING - len(lines[0]))}"
    if shown is not None:
        score = f"{float(scores.sel(layer=chosen)):z.2f}"
        no_margin = margin is None or math.isnan(margin)
        lines.append(f"{shown}: {score}" if no_margin else f"{shown}: {score}, ahead by {margin:z.2f}")
    return "\n".join(lines)


def _add_legend(figure: Figure, panels: Any) -> None:
    """Add one legend with the entries of all panels."""
    labelled = {}
    for panel in panels:
        handles, labels = panel.get_legend_handles_labels()
        labelled.update(zip(labels, handles, strict=True))
    ncols = 1 if len(panels) == 1 else 3
    figure.legend(labelled.values(), labelled.keys(), loc="outside lower left", ncols=ncols, fontsize=8, frameon=False)


def _without_what_all_share(names: list[str]) -> tuple[list[str], str]:
    """Long dotted names without their common first and last parts, and the pattern of what was removed.

    Short names and a single name are kept.
    """
    parts = [name.split(".") for name in names]
    if max(map(len, names)) <= LONGEST_NAME or len(names) == 1:
        return [shortened(name) for name in names], ""
    shortest = min(map(len, parts))
    before = min(len(os.path.commonprefix(parts)), shortest - 1)
    after = min(len(os.path.commonprefix([part[::-1] for part in parts])), shortest - 1 - before)
    kept = [".".join(part[before : len(part) - after]) for part in parts]
    if any(len(name) > LONGEST_NAME for name in kept):
        short = [shortened(name) for name in kept]
        kept = short if len(set(short)) == len(kept) else kept
    first = parts[0]
    return kept, ".".join([*first[:before], "[…]", *first[len(first) - after :]]) if before or after else ""
