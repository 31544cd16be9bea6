"""Plot of models on one benchmark: scores with intervals, the ceiling, and significant differences."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from bsjax.core.extras import import_extra
from bsjax.plots.style import LINE, ROW_INCHES, VALUE, finish, look_of, name_rows, panel_for, saved, write_small

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bsjax.inference.comparison import Comparison

Significance = Literal["letters", "arrows", "lines"]
# In points: margin right of the axes, distance between two lines or arrows, and largest width of all of them.
_MARGIN, _LANE, _LANES = 6.0, 6.0, 80.0


def plot_model_comparison(
    comparison: Comparison,
    ax: Axes | None = None,
    *,
    path: str | Path | None = None,
    significance: Significance = "letters",
    title: str = "",
) -> Axes:
    """Plot the result of :func:`bsjax.compare_models`, with a row for each model from the highest score to the lowest.

    Points are scores and lines their intervals. Points are filled if the score is above chance. The band is the ceiling
    from its lower to its upper bound, or a line if they are equal. Text and background colours are those of the axes,
    so dark themes work.

    Args:
        comparison: the result.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        significance: display of differences. ``"letters"``: models that share a letter do not differ significantly.
            ``"arrows"``: an arrow from a model to the first model below it such that it differs from that one and all
            further below. ``"lines"``: a line between the models of each pair that differs, for few models.
        title: title of the axes; by default the benchmark.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format or ``significance`` is unknown.

    Source: Piepho 2004 (letters); Nili et al. 2014 (lines); Schütt et al. 2023 (arrows).

    Example:
        >>> import numpy as np, xarray as xr
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> values = {name: xr.DataArray(mean + 0.05 * rng.normal(size=12), {"subject": np.arange(12)}, ["subject"])
        ...     for name, mean in {"a": 0.5, "b": 0.3}.items()}
        >>> scores = {name: bsjax.Score(float(raw.mean()), raw=raw) for name, raw in values.items()}
        >>> axes = plot_model_comparison(bsjax.compare_models(scores))
    """
    if significance not in get_args(Significance):
        raise ValueError(
            f"significance must be one of {', '.join(map(repr, get_args(Significance)))}, got {significance!r}"
        )
    panel = panel_for(ax, path, 0.95 + ROW_INCHES * max(len(comparison.models), 4))
    _draw_scores(panel, comparison)
    _draw_differences(panel, comparison, significance)
    finish(panel, title=title or comparison.benchmark or "", above=comparison.ceiling is not None, spines=("bottom",))
    return saved(panel, path)


def _draw_scores(panel: Any, comparison: Comparison) -> None:
    models, look = comparison.models, look_of(panel)
    rows, scores = np.arange(len(models)), models["score"].to_numpy()
    if comparison.ceiling is not None:
        low, high = comparison.ceiling.low, comparison.ceiling.high
        if high > low:
            panel.axvspan(low, high, color=LINE, alpha=0.45, linewidth=0, zorder=0)
        else:
            panel.axvline(low, color=LINE, linewidth=1.5, zorder=0)
        above = panel.get_xaxis_transform()
        write_small(panel, "ceiling", ((low + high) / 2, 1), (0, 0), above, ha="center", va="bottom")
    if not isinstance(comparison.chance, float | int):
        panel.plot(
            [comparison.chance.get(name, np.nan) for name in models.index],
            rows,
            "|",
            color=look.ink,
            markersize=5,
            zorder=1,
        )
    elif np.isfinite(comparison.chance):
        panel.axvline(float(comparison.chance), color=look.ink, linewidth=0.6, linestyle=(0, (3, 2)), zorder=1)
    panel.hlines(rows, models["low"], models["high"], color=VALUE, linewidth=1.4, zorder=3)
    above = models["above_chance"].to_numpy()
    for which, face in ((above, VALUE), (~above, look.paper)):
        panel.plot(
            scores[which],
            rows[which],
            "o",
            markersize=4,
            markerfacecolor=face,
            markeredgecolor=VALUE,
            markeredgewidth=1.1,
            zorder=4,
        )
    name_rows(panel, [str(name) for name in models.index])
    unit = "" if comparison.ceiling is None else ", ceiling 1" if comparison.ceiling.low == 1 else ""
    panel.set_xlabel(f"score{unit}, {100 * (1 - comparison.alpha):g} % intervals", color=look.ink)


def _draw_differences(panel: Any, comparison: Comparison, significance: Significance) -> None:
    """Draw the differences to the right of the axes."""
    (ink, _, _, text, _), differ = look_of(panel), comparison.differs.to_numpy()
    place = panel.get_yaxis_transform()
    if significance == "letters":
        for row, letters in enumerate(comparison.models["letters"]):
            panel.annotate(
                letters,
                (1, row),
                (_MARGIN, 0),
                place,
                "offset points",
                fontsize=text,
                color=ink,
                va="center",
                ha="left",
            )
        return
    spans = _pairs_that_differ(differ) if significance == "lines" else _above_all_from(differ)
    lanes = _lanes(spans)
    step = min(_LANE, _LANES / max(1, max(lanes, default=0)))
    translation = import_extra("matplotlib.transforms", "plots").ScaledTranslation
    for (row, other), lane in zip(spans, lanes, strict=True):
        # In points, so that the layout reserves as much room as is drawn.
        at = place + translation((_MARGIN + step * lane) / 72, 0, panel.figure.dpi_scale_trans)
        if significance == "lines":
            panel.plot([1, 1], [row, other], color=ink, linewidth=0.9, transform=at, clip_on=False)
            continue
        style = {"arrowstyle": "-|>,head_width=0.15,head_length=0.3", "color": ink, "linewidth": 0.9}
        style |= {"shrinkA": 0, "shrinkB": 0}
        panel.annotate("", (1, other), (1, row), xycoords=at, arrowprops=style, annotation_clip=False)
        panel.plot(1, row, "o", color=ink, markersize=2.5, transform=at, clip_on=False)


def _pairs_that_differ(differ: np.ndarray) -> list[tuple[int, int]]:
    return [(int(row), int(other)) for row, other in np.argwhere(np.triu(differ, 1))]


def _above_all_from(differ: np.ndarray) -> list[tuple[int, int]]:
    """Each row with the first one below it from which on it differs from all; rows without one are omitted."""
    found = []
    for row in range(len(differ)):
        alike = np.flatnonzero(~differ[row])  # itself at least
        first = int(alike[-1]) + 1
        if first < len(differ):
            found.append((row, first))
    return found


def _lanes(spans: list[tuple[int, int]]) -> list[int]:
    """The leftmost column for each span in which it touches no other."""
    ends: list[int] = []
    found = []
    for top, bottom in spans:
        lane = next((n for n, end in enumerate(ends) if end < top), len(ends))
        ends[lane : lane + 1] = [bottom]
        found.append(lane)
    return found
