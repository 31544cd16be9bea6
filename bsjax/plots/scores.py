"""Plot of scores with their intervals and ceilings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bsjax.labelled.normalise import LIMITS, Limit
from bsjax.labelled.score import Score
from bsjax.plots.style import LINE, ROW_INCHES, VALUE, finish, look_of, name_rows, panel_for, saved, write_small
from bsjax.scoring.grid import Grid

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from bsjax.scoring.display.scores import Scores


class Shown(NamedTuple):
    """The plotted values of a score: floats, or arrays for a time-resolved score.

    Attributes:
        value: the score.
        low, high: ends of its interval; NaN without an interval.
        ceiling: the highest value that noise in the data allows; NaN without a ceiling.
        ceiling_low, ceiling_high: ends of the interval of the ceiling; NaN without an interval.
    """

    value: Any
    low: Any
    high: Any
    ceiling: Any
    ceiling_low: Any
    ceiling_high: Any


def shown(score: Score, level: float, normalised: bool) -> Shown:
    """Get the plotted values of a score.

    Args:
        score: the score.
        level: confidence level of the intervals.
        normalised: whether to use the normalised score, whose ceiling is 1, or that before normalisation with its
            ceiling.

    Raises:
        ValueError: ``normalised`` is False, and the score is not normalised or by an unknown formula.

    Example:
        >>> shown(Score(0.25, ceiling=Score(0.64), unceiled=Score(0.4), formula="r²/c"), 0.95, normalised=False)[::3]
        (0.4, 0.8)
    """
    if not normalised:
        if score.unceiled is None or score.ceiling is None:
            raise ValueError(
                f"{score!r} is not normalised by a ceiling, or its value before that was not kept: "
                "draw it with normalised=True"
            )
        before = limit_of(score).before
        limits = (before(end) for end in _with_ends(score.ceiling, level))
        return Shown(*_with_ends(score.unceiled, level), *limits)
    ceiling = math.nan if score.ceiling is None else 1.0
    return Shown(*_with_ends(score, level), ceiling, math.nan, math.nan)


def limit_of(score: Score) -> Limit:
    """Get the limit that the ceiling sets for a score before normalisation.

    Raises:
        ValueError: the formula of the score does not normalise a correlation by a ceiling.

    Example:
        >>> limit_of(Score(0.5, formula="r/√c")).words
        '√c'
    """
    if score.formula not in LIMITS:
        raise ValueError(
            f"a value before normalisation is drawn beside its ceiling where the formula of the score is one of "
            f"{', '.join(LIMITS)}, got {score.formula!r}"
        )
    return LIMITS[score.formula]


def _with_ends(score: Score, level: float) -> tuple[Any, Any, Any]:
    value = score.values.astype(float)
    ends = score.interval(level)
    low, high = (np.full(value.shape, np.nan),) * 2 if ends is None else (np.asarray(e, float) for e in ends[:2])
    return (value, low, high) if value.ndim else (float(value), float(low), float(high))


def words_of_scale(score: Score, level: float, normalised: bool) -> str:
    """Make the label of the score axis.

    Example:
        >>> words_of_scale(Score(0.5, ceiling=Score(0.8), formula="r²/c"), 0.95, normalised=True)
        'score, r²/c, 95 % intervals'
    """
    formula = score.formula if normalised or score.unceiled is None else score.unceiled.formula
    return ", ".join(filter(None, ["score", formula, f"{100 * level:g} % intervals"]))


def plot_scores(
    scores: Score | Mapping[str, Score] | Scores | Grid | Iterable[Score],
    ax: Axes | None = None,
    *,
    path: str | Path | None = None,
    normalised: bool = True,
    level: float = 0.95,
    title: str = "",
) -> Axes:
    """Plot one or more scores with their ceilings, with a row for each, from the first (top) to the last.

    Points are scores and lines their intervals; both are also written on the right. Scores without an interval have
    hollow points, undefined scores only the text. Gray marks are ceilings, gray bands their intervals.

    Args:
        scores: a score; name -> score; the result of :func:`bsjax.score` for several pairs or of
            :func:`bsjax.score_grid`; or a list of scores, which are named by their provenance.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        normalised: whether to plot normalised scores, whose ceiling is 1. If False, plot the scores before
            normalisation, each with the limit set by its ceiling and the interval of that limit: c for the formula r/c,
            √c for r²/c and r/√c.
        level: confidence level of the intervals.
        title: title of the axes.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, there is no score, or one is resolved in time; or ``normalised`` is False and
            a score has no value before normalisation.

    Example:
        >>> axes = plot_scores({"pixels": Score(0.2, error=0.05), "alexnet": Score(0.5, error=0.04)})
        >>> [text.get_text() for text in axes.texts]
        ['0.20 [0.10, 0.30]', '0.50 [0.42, 0.58]']
    """
    given, shared = _named(scores)
    for name, score in given.items():
        if score.sizes:
            over = ", ".join(f"{n} {dim}" for dim, n in score.sizes.items())
            raise ValueError(f"the score of {name} has {over}: draw it with bsjax.plots.plot_score_by_time")
    rows = {name: shown(score, level, normalised) for name, score in given.items()}
    row_height = ROW_INCHES * (1.5 if any("\n" in name for name in rows) else 1)
    panel = panel_for(ax, path, 0.7 + row_height * max(len(rows), 3) + (0.2 if title or shared else 0))
    look = look_of(panel)
    for row, found in enumerate(rows.values()):
        _draw_ceiling(panel, row, found)
        _draw_score(panel, row, found)
        write_small(panel, in_words(found), (1, row), (6, 0), panel.get_yaxis_transform(), va="center")
    name_rows(panel, list(rows))
    _leave_room(panel, rows)
    scales = {words_of_scale(score, level, normalised) for score in given.values()}
    scale = scales.pop() if len(scales) == 1 else f"score, {100 * level:g} % intervals"
    panel.set_xlabel(scale, color=look.ink)
    marked = [found.ceiling for found in rows.values() if not math.isnan(found.ceiling)]
    if marked:
        above = panel.get_xaxis_transform()
        write_small(panel, "ceiling", (marked[0], 1), (0, 2), above, ha="center", va="bottom")
    finish(panel, title=title or shared, above=bool(marked), grid="x", spines=("bottom",))
    return saved(panel, path)


def _named(scores: Any) -> tuple[dict[str, Score], str]:
    """Label -> score, and the common benchmark of several scores, which is then not part of the labels."""
    if isinstance(scores, Grid):
        scores = scores.scores()
    given = list(scores.items()) if isinstance(scores, Mapping) else _by_provenance(scores)
    wrong = [type(score).__name__ for _, score in given if not isinstance(score, Score)]
    if wrong or not given:
        raise ValueError(f"expected scores to draw, got {wrong[0] if wrong else 'none'}")
    benchmarks = {name[1] if isinstance(name, tuple) else "" for name, _ in given}
    if len(given) > 1 and len(benchmarks) == 1 and benchmarks != {""}:
        return {name[0]: score for name, score in given}, benchmarks.pop()
    return {"\n".join(name) if isinstance(name, tuple) else str(name): score for name, score in given}, ""


def _by_provenance(scores: Score | Iterable[Score]) -> list[tuple[Any, Score]]:
    """Scores with unique names: model and benchmark, or the metric if neither is known."""
    found: list[tuple[Any, Score]] = []
    seen: Counter[tuple[str, ...]] = Counter()
    for score in [scores] if isinstance(scores, Score) else scores:
        made = score.provenance
        said = tuple(filter(None, (made.model, made.benchmark))) or (made.metric or "score",)
        seen[said] += 1
        first, *rest = said
        first += f" {seen[said]}" if seen[said] > 1 else ""
        found.append(((first, *rest) if rest else first, score))
    return found


def _draw_ceiling(panel: Any, row: int, found: Shown) -> None:
    if math.isnan(found.ceiling):
        return
    if found.ceiling_high > found.ceiling_low:
        panel.fill_betweenx(
            [row - 0.4, row + 0.4], found.ceiling_low, found.ceiling_high, color=LINE, alpha=0.4, linewidth=0, zorder=1
        )
    panel.plot([found.ceiling] * 2, [row - 0.4, row + 0.4], color=LINE, linewidth=2, zorder=2)


def _draw_score(panel: Any, row: int, found: Shown) -> None:
    if math.isnan(found.value):
        return
    known = not math.isnan(found.low)
    if known:
        panel.hlines(row, found.low, found.high, color=VALUE, linewidth=1.6, zorder=3)
    face = VALUE if known else panel.get_facecolor()
    panel.plot(found.value, row, "o", markersize=4.5, markerfacecolor=face, markeredgecolor=VALUE, zorder=4)


def in_words(found: Shown) -> str:
    """Format a value and its interval with two decimals."""
    if math.isnan(found.value):
        return "undefined"
    if math.isnan(found.low):
        return f"{found.value:z.2f}, no interval"
    value, low, high = (f"{number:z.2f}" for number in found[:3])
    return f"{value} [{low}, {high}]"


def _leave_room(panel: Any, rows: Mapping[str, Shown]) -> None:
    """Set the limits of the score axis to include 0 and all values."""
    numbers = np.array([tuple(found) for found in rows.values()], float)
    numbers = numbers[np.isfinite(numbers)]
    low, high = min(0.0, numbers.min(initial=0.0)), numbers.max(initial=0.0)
    high = high if high > low else low + 1.0
    margin = 0.04 * (high - low)
    panel.set_xlim(low - (margin if low < 0 else 0), high + margin)
