"""The style that all pictures share: sizes for a column of a journal, colours, and axes that may be dark."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bsjax.core.extras import import_extra
from bsjax.plots.files import check_format

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLUMN_INCHES = 3.5  # 89 mm, the width of a column of most journals
ROW_INCHES = 0.19
# Seen on white and on black: what is measured, its ceiling, and what a reader is to look at.
VALUE, LINE, MARKED = "#0c84c6", "#8a99a8", "#c2410c"
FAINT, QUIET = "#d9dee3", "#5c6873"
# Told apart by readers who see few colours (Okabe & Ito 2008), and by their markers.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
LONGEST_NAME, LONGEST_ROW = 36, 22
_LONGEST_TITLE = 43  # of a picture without names of rows, which take of its width what they are long
# Points of text in a column, and by how much they grow at most where the axes are wider.
_HEADING, _TEXT, _SMALL, _MOST_GROWTH = 8.0, 7.0, 6.0, 1.4


class Look(NamedTuple):
    """What a picture takes from the axes that it is drawn into.

    Attributes:
        ink: the colour of text.
        paper: the colour behind.
        heading, text, small: sizes of text in points; they grow with axes that are wider than a column.
    """

    ink: Any
    paper: Any
    heading: float
    text: float
    small: float


def panel_for(ax: Axes | None, path: str | Path | None, height: float) -> Any:
    """The axes to draw into: those given, or those of a new figure as wide as a column.

    Neither pyplot's state nor a display is touched.

    Args:
        ax: axes of the user, or None.
        path: where the picture is to be written, if it is; checked before the work.
        height: of a new figure, in inches.

    Raises:
        ImportError: matplotlib is not installed; the message has the command.
        ValueError: the path names no format of pictures.

    Example:
        >>> panel_for(None, None, 2.0).figure.get_size_inches().tolist()
        [3.5, 2.0]
    """
    if path is not None:
        check_format(path)
    if ax is not None:
        return ax
    figure = import_extra("matplotlib.figure", "plots").Figure(figsize=(COLUMN_INCHES, height), layout="constrained")
    return figure.subplots()


def look_of(panel: Any) -> Look:
    """Colours and sizes that fit the axes.

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
    """Heading, sizes of ticks and labels, and only those lines around the axes that carry a scale.

    Args:
        panel: the axes.
        title: the heading; none if empty.
        above: whether a line of small text lies between the axes and the heading.
        grid: the axis whose ticks have lines, "x", "y" or "both"; none if empty.
        spines: the sides that keep their line.
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
    """Thin lines behind all else at the ticks of an axis, "x", "y" or "both"."""
    panel.grid(axis=axis, color=look_of(panel).ink, alpha=0.15, linewidth=0.6)
    panel.set_axisbelow(True)


def name_rows(panel: Any, names: Sequence[str]) -> None:
    """A row for each name, of one line or several, from the top; room for half a row beyond."""
    lines = [[shortened(line, LONGEST_ROW) for line in name.split("\n")] for name in names]
    panel.set_yticks(range(len(names)), ["\n".join(each) for each in lines])
    panel.set_ylim(len(names) - 0.4, -0.6)
    panel.tick_params(axis="y", length=0)


def styles(names: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Colour and marker of each of several models or groups.

    Example:
        >>> styles(["a", "b"])["b"]
        {'color': '#0072b2', 'marker': 's'}
    """
    shapes = len(COLOURS)
    # After six, the same colours come with other markers.
    return {
        name: {"color": COLOURS[n % shapes], "marker": MARKERS[(n + n // shapes) % len(MARKERS)]}
        for n, name in enumerate(names)
    }


def shortened(name: str, longest: int = LONGEST_NAME) -> str:
    """A long name without its middle, to be drawn as it is: a dollar sign begins no formula.

    Example:
        >>> shortened("MajajHong2015.IT-pls", 10)
        'Maja…T-pls'
    """
    end = longest // 2
    short = name if len(name) <= longest else f"{name[: longest - end - 1]}…{name[-end:]}"
    return short.replace("$", r"\$")


def runs(groups: Sequence[str]) -> list[tuple[str, int, int]]:
    """Each group with where it begins and where it ends, of labels that are sorted by group.

    Example:
        >>> runs(["cat", "cat", "dog"])
        [('cat', 0, 2), ('dog', 2, 3)]
    """
    starts = [n for n, name in enumerate(groups) if n == 0 or name != groups[n - 1]]
    ends = [*starts, len(groups)][1:]
    return [(groups[start], start, end) for start, end in zip(starts, ends, strict=True)]


def nice_step(span: float, most: int) -> float:
    """The smallest of 0.01, 0.02, 0.05, 0.1, 0.2, ... by which a span has at most so many steps.

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
