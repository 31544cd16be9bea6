"""Plots of scores over time bins, and by the number of components, stimuli or neuroids."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.labelled.align import TIME_BIN
from bsjax.labelled.score import Score
from bsjax.plots.scores import Shown, shown, words_of_scale
from bsjax.plots.style import LINE, VALUE, finish, look_of, panel_for, saved, shortened, styles, write_small

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT, _LEGEND_ROW = 2.1, 0.14
_MOST_TICKS, _LOGARITHMIC_FROM = 8, 20.0


def plot_score_by_time(
    scores: Score | Mapping[str, Score],
    ax: Axes | None = None,
    *,
    path: str | Path | None = None,
    normalised: bool = True,
    level: float = 0.95,
    title: str = "",
) -> Axes:
    """Plot time-resolved scores: a line through the centres of the time bins, and a band of intervals.

    Bins with an undefined score leave a gap, with a cross on the axis. The ceiling is gray.

    Args:
        scores: a score, or name -> score; dimension ``time_bin`` with ``time_bin_start`` and ``time_bin_end`` in ms.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        normalised: whether to plot normalised scores, whose ceiling is 1. If False, plot the scores before
            normalisation, with the ceiling of each time bin; for several scores, that of the first.
        level: confidence level of the intervals.
        title: title of the axes.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, there is no score, or one has no time bins.

    Example:
        >>> import xarray as xr
        >>> bins = {"time_bin_start": ("time_bin", [70, 120]), "time_bin_end": ("time_bin", [120, 170])}
        >>> axes = plot_score_by_time(Score(xr.DataArray([0.2, 0.4], bins, ["time_bin"])))
        >>> axes.lines[0].get_xydata().tolist()
        [[95.0, 0.2], [145.0, 0.4]]
    """
    given = {"": scores} if isinstance(scores, Score) else dict(scores)
    curves = {name: (_middles(score, name), shown(score, level, normalised)) for name, score in given.items()}
    panel = _drawn(curves, ax, path)
    panel.set_xlabel("time after stimulus onset (ms)", color=look_of(panel).ink)
    return _finished(panel, next(iter(given.values())), level, normalised, title, path)


def plot_score_by_number(
    scores: Mapping[float, Score] | Mapping[str, Mapping[float, Score]],
    ax: Axes | None = None,
    *,
    of: str = "components",
    path: str | Path | None = None,
    normalised: bool = True,
    level: float = 0.95,
    title: str = "",
) -> Axes:
    """Plot scores against a number with which they were computed, e.g. of components, stimuli or neuroids.

    The band shows the intervals. The axis is logarithmic if the numbers are positive and span a factor of 20 or more.
    Undefined scores leave a gap, with a cross on the axis. The ceiling is gray.

    Args:
        scores: number -> score; or name -> number -> score, for several curves.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        of: what the numbers count, in the plural.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        normalised: whether to plot normalised scores, whose ceiling is 1. If False, plot the scores before
            normalisation, with their ceilings; for several curves, those of the first.
        level: confidence level of the intervals.
        title: title of the axes.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, there is no score, a key is not a number, or a score is resolved in time.

    Example:
        >>> axes = plot_score_by_number({25: Score(0.3, error=0.01), 5: Score(0.2, error=0.01)})
        >>> axes.lines[0].get_xydata().tolist()
        [[5.0, 0.2], [25.0, 0.3]]
    """
    several = any(isinstance(each, Mapping) for each in scores.values())
    given: Any = scores if several or not scores else {"": scores}
    curves = {name: _by_number(curve, name, level, normalised) for name, curve in given.items()}
    panel = _drawn(curves, ax, path)
    _number_axis(panel, np.unique(np.concatenate([places for places, _ in curves.values()])))
    panel.set_xlabel(f"number of {of}", color=look_of(panel).ink)
    first = next(iter(next(iter(given.values())).values()))
    return _finished(panel, first, level, normalised, title, path)


def _middles(score: Score, name: str) -> np.ndarray:
    whose = f"the score of {name}" if name else "the score"
    if set(score.sizes) != {TIME_BIN}:
        raise ValueError(
            f"{whose} must be resolved in time, with the dimension {TIME_BIN} alone; "
            f"it has: {', '.join(score.sizes) or 'one number, which bsjax.plots.plot_scores draws'}"
        )
    value: Any = score.value
    missing = [end for end in ("time_bin_start", "time_bin_end") if end not in value.coords]
    if missing:
        raise ValueError(f"{whose} has no coordinate {' and '.join(missing)}: it says where its time bins lie, in ms")
    return (value["time_bin_start"].values.astype(float) + value["time_bin_end"].values) / 2


def _by_number(curve: Any, name: str, level: float, normalised: bool) -> tuple[np.ndarray, Shown]:
    if not isinstance(curve, Mapping) or not curve:
        raise ValueError(f"the curve of {name} must be number -> score with at least one score, got {curve!r}")
    try:
        places = np.array([float(number) for number in curve])
    except (TypeError, ValueError):
        raise ValueError(f"scores are drawn by number, got the keys {', '.join(map(repr, curve))}") from None
    for number, score in curve.items():
        if score.sizes:
            raise ValueError(f"the score of {number} has time bins: draw one of them, or their mean")
    rows = np.array([tuple(shown(score, level, normalised)) for score in curve.values()])
    return places, Shown(*rows.T)


def _drawn(curves: Mapping[str, tuple[np.ndarray, Shown]], ax: Axes | None, path: str | Path | None) -> Any:
    if not curves:
        raise ValueError("nothing to draw: there is no score")
    panel = panel_for(ax, path, _HEIGHT + _LEGEND_ROW * len(curves) * (len(curves) > 1))
    alone: dict[str, Any] = {"": {"color": VALUE, "marker": "o"}}
    looks = alone if list(curves) == [""] else styles(list(curves))
    for number, (name, (places, found)) in enumerate(curves.items()):
        look, order = looks[name], np.argsort(places, kind="stable")
        places, found = places[order], Shown(*(np.broadcast_to(part, places.shape)[order] for part in found))
        if not number:
            _draw_ceiling(panel, places, found)
        panel.plot(places, found.value, markersize=3.5, linewidth=1.3, label=shortened(name), zorder=4, **look)
        panel.fill_between(places, found.low, found.high, color=look["color"], alpha=0.25, linewidth=0, zorder=2)
        _draw_alone(panel, places, found, look["color"])
        if (gaps := np.isnan(found.value)).any():
            panel.plot(
                places[gaps], np.zeros(gaps.sum()), "x", color=look["color"], markersize=4, clip_on=False,
                transform=panel.get_xaxis_transform(), zorder=5,
            )  # fmt: skip
    return panel


def _draw_alone(panel: Any, places: np.ndarray, found: Shown, color: str) -> None:
    """Draw intervals of isolated points as lines, since a band would have no width there."""
    known = np.pad(np.isfinite(found.low), 1)
    alone = known[1:-1] & ~known[:-2] & ~known[2:]
    panel.vlines(places[alone], found.low[alone], found.high[alone], color=color, alpha=0.6, linewidth=1.3, zorder=3)


def _draw_ceiling(panel: Any, places: np.ndarray, found: Shown) -> None:
    if np.isnan(found.ceiling).all():
        return
    panel.plot(places, found.ceiling, color=LINE, linewidth=1.5, zorder=1)
    panel.fill_between(places, found.ceiling_low, found.ceiling_high, color=LINE, alpha=0.35, linewidth=0, zorder=0)
    last = np.flatnonzero(np.isfinite(found.ceiling))[-1]
    write_small(panel, "ceiling", (places[last], found.ceiling[last]), (0, 3), ha="right", va="bottom")


def _number_axis(panel: Any, numbers: np.ndarray) -> None:
    if numbers[0] > 0 and numbers[-1] / numbers[0] >= _LOGARITHMIC_FROM:
        panel.set_xscale("log")
        panel.set_xticks([], minor=True)
        # Ticks are at least an eighth of the axis apart; numbers that are closer are not labelled.
        least, last, ticks = np.log(numbers[-1] / numbers[0]) / _MOST_TICKS, -np.inf, []
        for number in numbers:
            if np.log(number) - last >= 0.999 * least:
                ticks, last = [*ticks, number], np.log(number)
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    elif len(numbers) <= _MOST_TICKS:
        panel.set_xticks(numbers, [f"{number:g}" for number in numbers])


def _finished(panel: Any, first: Score, level: float, normalised: bool, title: str, path: str | Path | None) -> Axes:
    look = look_of(panel)
    panel.set_ylabel(words_of_scale(first, level, normalised), color=look.ink)
    low, high = panel.get_ylim()
    panel.set_ylim(min(low, 0.0) if low < 0 else 0.0, high)
    finish(panel, title=title, grid="y")
    if any(line.get_label()[:1] not in ("_", "") for line in panel.lines):
        panel.legend(fontsize=look.small, frameon=False, labelcolor=look.ink, loc="best", handlelength=1.6)
    return saved(panel, path)
