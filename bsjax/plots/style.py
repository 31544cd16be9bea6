"""The common style of all plots: sizes for a journal column, colours, support for dark axes, and the files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from bsjax.core.extras import import_extra
from bsjax.core.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLUMN_INCHES = 3.5  # 89 mm, the width of a column of most journals
ROW_INCHES = 0.19
# Colours of values, of ceilings and of highlights, visible on white and on black.
VALUE, LINE, MARKED = "#0c84c6", "#8a99a8", "#c2410c"
FAINT, QUIET = "#d9dee3", "#5c6873"
# Safe for colour-blind readers (Okabe & Ito 2008), and also distinguished by markers.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
LONGEST_NAME, LONGEST_ROW = 36, 22
_LONGEST_TITLE = 43  # without row names, whose length reduces it
# Text sizes in a journal column, in points, and the largest factor by which they grow with wider axes.
_HEADING, _TEXT, _SMALL, _MOST_GROWTH = 8.0, 7.0, 6.0, 1.4


class Look(NamedTuple):
    """Colours and sizes of a plot, taken from its axes.

    Attributes:
        ink: text colour.
        paper: background colour.
        heading, text, small: text sizes in points, which grow with axes that are wider than a journal column.
    """

    ink: Any
    paper: Any
    heading: float
    text: float
    small: float


def panel_for(ax: Axes | None, path: str | Path | None, height: float) -> Any:
    """Get the axes to draw into: those given, or those of a new figure as wide as a journal column.

    Args:
        ax: axes of the user, or None.
        path: output file, whose format is checked, or None.
        height: height of a new figure, in inches.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the suffix of the path is not that of a known format, or ``ax`` is a path.

    Example:
        >>> panel_for(None, None, 2.0).figure.get_size_inches().tolist()
        [3.5, 2.0]
    """
    if isinstance(ax, str | PathLike):
        raise ValueError(f"ax must be axes of matplotlib, got {str(ax)!r}: to write a file, pass path={str(ax)!r}")
    check_format(path)
    return new_figure(COLUMN_INCHES, height).subplots() if ax is None else ax


def new_figure(
    width: float, height: float, title: str = "", layout: Literal["constrained"] | None = "constrained"
) -> Any:
    """Make a figure of a size in inches."""
    import_extra("matplotlib.figure", "plots")
    from bsjax.plots.shown import ShownFigure

    figure = ShownFigure(figsize=(width, height), layout=layout)
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def panel_grid(
    path: str | Path | None,
    n: int,
    most: int,
    inches: tuple[float, float],
    around: tuple[float, float],
    title: str,
    **shared: Any,
) -> Any:
    """Make a figure with a grid of ``n`` panels of a size in inches.

    Args:
        path: the output file, whose format is checked, or None.
        n: number of panels.
        most: largest number of panels in a row.
        inches: width and height of a panel.
        around: width and height of what surrounds all panels, in inches, without the title.
        title: title of the figure.
        shared: arguments of ``figure.subplots``.

    Returns:
        The figure, its panels in reading order, and the first panels of its rows.
    """
    check_format(path)
    columns = min(most, n)
    rows = math.ceil(n / columns)
    width, height = around[0] + inches[0] * columns, around[1] + inches[1] * rows
    figure = new_figure(width, height + (0.3 if title else 0), title)
    panels = figure.subplots(rows, columns, squeeze=False, **shared).ravel()
    for panel in panels[n:]:
        panel.set_axis_off()
    return figure, panels[:n], panels[::columns]


def write_small(panel: Any, text: str, at: Any, offset: tuple[float, float], place: Any = "data", **how: Any) -> None:
    """Write small text at an offset in points from a place in the coordinates ``place``."""
    look = look_of(panel)
    panel.annotate(text, at, offset, place, "offset points", fontsize=look.small, color=look.ink, **how)


def look_of(panel: Any) -> Look:
    """Get the colours and sizes that fit the axes.

    Example:
        >>> look_of(panel_for(None, None, 2.0)).text
        7.0
    """
    inches = panel.get_position(original=True).width * panel.figure.get_size_inches()[0]
    growth = min(max(inches / (0.8 * COLUMN_INCHES), 1.0), _MOST_GROWTH)
    sizes = (growth * size for size in (_HEADING, _TEXT, _SMALL))
    return Look(panel.xaxis.label.get_color(), panel.get_facecolor(), *sizes)


def finish(
    panel: Any, *, title: str = "", above: bool = False, grid: str = "", spines: Sequence[str] = ("left", "bottom")
) -> None:
    """Set the title, the sizes of ticks and labels, the grid and the spines.

    Args:
        panel: the axes.
        title: the title; none if empty.
        above: whether there is a line of small text between the axes and the title.
        grid: the axis with grid lines, "x", "y" or "both"; none if empty.
        spines: the visible spines.
    """
    look = look_of(panel)
    pad = 5.0 + (1.6 * look.small if above else 0.0)
    if title:
        beside = max((len(tick.get_text()) for tick in panel.get_yticklabels()), default=0)
        short = shortened(title, int(_LONGEST_TITLE - 0.85 * beside))
        panel.set_title(short, fontsize=look.heading, loc="left", color=look.ink, pad=pad)
    panel.tick_params(labelsize=look.text)
    for axis in (panel.xaxis, panel.yaxis):
        axis.label.set_size(look.text)
    for side, spine in panel.spines.items():
        spine.set_visible(side in spines)
    if grid:
        draw_grid(panel, grid)


def draw_grid(panel: Any, axis: str) -> None:
    """Draw thin grid lines in the background at the ticks of an axis, "x", "y" or "both"."""
    panel.grid(axis=axis, color=look_of(panel).ink, alpha=0.15, linewidth=0.6)
    panel.set_axisbelow(True)


def name_rows(panel: Any, names: Sequence[str]) -> None:
    """Label rows from the top with names of one or more lines, with a margin of about half a row."""
    lines = [[shortened(line, LONGEST_ROW) for line in name.split("\n")] for name in names]
    panel.set_yticks(range(len(names)), ["\n".join(each) for each in lines])
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)


def styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Choose the colour and marker of each of several models or groups.

    Example:
        >>> styles(["a", "b"])["b"]
        {'color': '#0072b2', 'marker': 's'}
    """
    shapes = len(COLOURS)
    # After six, the colours repeat with other markers.
    return {
        name: {"color": COLOURS[n % shapes], "marker": MARKERS[(n + n // shapes) % len(MARKERS)]}
        for n, name in enumerate(names)
    }


def shortened(name: str, longest: int = LONGEST_NAME) -> str:
    """Shorten a long name in its middle, and escape dollar signs, which matplotlib reads as formulas.

    Example:
        >>> shortened("MajajHong2015.IT-pls", 10)
        'Maja…T-pls'
    """
    end = longest // 2
    short = name if len(name) <= longest else f"{name[: longest - end - 1]}…{name[-end:]}"
    return short.replace("$", r"\$")


def runs(groups: Sequence[str]) -> list[tuple[str, int, int]]:
    """Find the start and end index of each group in sorted labels.

    Example:
        >>> runs(["cat", "cat", "dog"])
        [('cat', 0, 2), ('dog', 2, 3)]
    """
    starts = [n for n, name in enumerate(groups) if n == 0 or name != groups[n - 1]]
    ends = [*starts, len(groups)][1:]
    return [(groups[start], start, end) for start, end in zip(starts, ends, strict=True)]


def nice_step(span: float, most: int) -> float:
    """Find the smallest step of 0.01, 0.02, 0.05, 0.1, 0.2, ... that divides a span into at most ``most`` steps.

    Example:
        >>> nice_step(1.0, 25)
        0.05
    """
    found = 0.01
    for factor in np.tile([2.0, 2.5, 2.0], 20):
        if span / found <= most:
            break
        found *= factor
    return round(float(found), 12)


def check_format(path: str | Path | None) -> None:
    """Check that a figure can be written to a file, before the work begins.

    Args:
        path: of the file; None if there is none.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the suffix of the file is not that of a known format.

    Example:
        >>> check_format("profile.doc")
        Traceback (most recent call last):
        ...
        ValueError: cannot draw to profile.doc: give a file that ends in .png, .pdf or .svg
    """
    import_extra("matplotlib.figure", "plots")
    if path is not None and Path(path).suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ValueError(f"cannot draw to {path}: give a file that ends in .png, .pdf or .svg")


def saved(panel: Any, path: str | Path | None) -> Any:
    """Write the figure of some axes, if there is a path; gives the axes."""
    save(panel.figure, path)
    return panel


def save(figure: Any, path: str | Path | None) -> Any:
    """Write a figure atomically, in the format of the suffix, if there is a path; gives the figure."""
    if path is None:
        return figure
    from bsjax.plots.shown import drawn

    path = Path(path)
    # No dates or random names, so that equal results give equal files.
    kind = path.suffix.lower()
    metadata = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}.get(kind, {})
    # Text in an .svg stays text, for search and screen readers.
    settings = {"svg.hashsalt": "bsjax", "svg.fonttype": "none"}
    with import_extra("matplotlib", "plots").rc_context(settings):
        write_atomically(path, drawn(figure, kind[1:], metadata))
    return figure
