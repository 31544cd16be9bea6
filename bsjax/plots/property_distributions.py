"""Plot of the distributions of single-neuron properties in models and recordings."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.core.extras import import_extra
from bsjax.plots.scores import in_words, shown
from bsjax.plots.style import COLOURS, QUIET, draw_grid, panel_grid, save, shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bsjax.labelled import Score

# Line styles, used in turn when there are more models than colours.
_DASHES = ("-", (0, (4, 1.5)), (0, (1, 1)))
_RECORDED = "#c3cad1"
_COLUMNS = 4
_PANEL_INCHES, _LINE_INCHES, _LETTER_INCHES, _ROW_INCHES = (2.45, 1.45), 0.135, 0.053, 0.78
_LONGEST_MODEL = 24
_OCTAVES = 2.0**8  # range beyond which ticks are powers of ten
_CAPTION = "next to each model: its score with 95 % interval, and the number of its units with a value"
_FEW_BINS = 4


def plot_property_distributions(
    scores: Iterable[Score | None], path: str | Path | None = None, *, title: str = ""
) -> Figure:
    """Plot the distributions behind scores of single-neuron properties, with a panel for each benchmark.

    The recorded distribution is gray, and that of each model is a line. Both are shares of the neurons with a defined
    value. The legend gives the score of each model with its 95 % interval, and the number of units with a value. Axes
    are logarithmic if the bins of the recording are.

    Args:
        scores: scores of any models on any benchmarks, also read from JSON. Scores without a distribution, from other
            kinds of benchmarks, are ignored.
        path: output file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``; by default none is written.
        title: title of the figure.

    Returns:
        The figure, which a notebook shows.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, or no score has a distribution.

    Example:
        >>> from bsjax.labelled import Score
        >>> distribution = {"property": "peak_spatial_frequency", "unit": "cycles per degree", "bins": [1, 2, 4, 8],
        ...                 "recorded": [4, 9, 2], "recorded_undefined": 0, "model": [1, 2, 4], "model_undefined": 3}
        >>> made = {"model": "mine", "benchmark": "Mine2026-peak_sf", "distribution": distribution}
        >>> figure = plot_property_distributions([Score(0.5, error=0.1, provenance=made)])
    """
    given = [score for score in scores if score is not None and "distribution" in score.provenance.details]
    if not given:
        raise ValueError(
            "nothing to draw: no score has the distribution of a property; those of PropertiesBenchmark have, "
            "e.g. of Marques2020_DeValois1982-peak_sf"
        )
    benchmarks: dict[str, list[Score]] = {}
    for score in given:
        benchmarks.setdefault(str(score.provenance.benchmark), []).append(score)
    models = list(dict.fromkeys(str(score.provenance.model) for score in given))
    styles = {
        model: {"color": COLOURS[n % len(COLOURS)], "linestyle": _DASHES[n // len(COLOURS) % len(_DASHES)]}
        for n, model in enumerate(models)
    }
    # Panels are large enough for the legend and the distributions.
    longest = max(len(shortened(model, _LONGEST_MODEL)) for model in models)
    panel_width, height = max(_PANEL_INCHES[0], 0.35 + _LETTER_INCHES * (longest + 33)), _PANEL_INCHES[1]
    height += _LINE_INCHES * (len(models) + 1)
    inches = panel_width, height + _ROW_INCHES
    figure, panels, first = panel_grid(path, len(benchmarks), _COLUMNS, inches, (0.35, 0.1), title)
    for panel, (benchmark, of_benchmark) in zip(panels, benchmarks.items(), strict=True):
        _draw(panel, benchmark, of_benchmark, styles)
        _leave_room(panel, _LINE_INCHES * (len(of_benchmark) + 1.5) / height)
    for panel in first:
        panel.set_ylabel("proportion of neurons", fontsize=8)
    caption = textwrap.fill(_CAPTION, int(figure.get_figwidth() / _LETTER_INCHES))
    figure.supxlabel(caption, fontsize=7, color=QUIET, x=0.01, ha="left")
    return save(figure, path)


def _draw(panel: Axes, benchmark: str, scores: list[Score], styles: Mapping[str, Mapping[str, Any]]) -> None:
    first = scores[0].provenance.details["distribution"]
    edges = np.asarray(first["bins"], float)
    counts = first["recorded"]
    panel.stairs(_shares(counts), edges, fill=True, color=_RECORDED, label=f"recorded, n = {sum(counts)}")
    for score in scores:
        distribution, model = score.provenance.details["distribution"], str(score.provenance.model)
        value = in_words(shown(score, 0.95, normalised=True))
        label = f"{shortened(model, _LONGEST_MODEL)}  {value}, n = {sum(distribution['model'])}"
        # Transparent, so that overlapping lines are visible.
        panel.stairs(
            _shares(distribution["model"]), edges, baseline=None, linewidth=1.5, alpha=0.9, label=label, **styles[model]
        )
    words = first["property"].replace("_", " ")
    panel.set_title(f"{words[:1].upper()}{words[1:]}", fontsize=9, loc="left", pad=14)
    source = panel.annotate(
        shortened(benchmark.partition("-")[0]),
        (0, 1),
        (0, 4),
        "axes fraction",
        "offset points",
        fontsize=7,
        color=QUIET,
    )
    source.set_in_layout(False)
    _label_axis(panel, first, edges)
    legend = panel.legend(
        loc="upper left", fontsize=7, frameon=False, borderaxespad=0, borderpad=0, handlelength=1.4, labelspacing=0.3
    )
    legend.set_in_layout(False)
    panel.spines[["top", "right"]].set_visible(False)
    draw_grid(panel, "y")
    panel.tick_params(labelsize=8)


def _leave_room(panel: Axes, share: float) -> None:
    """Reserve the upper part of a panel for the legend."""
    top = panel.dataLim.ymax
    ticks = import_extra("matplotlib.ticker", "plots").MaxNLocator(4).tick_values(0, top)
    panel.set_yticks([tick for tick in ticks if tick <= top])
    panel.spines["left"].set_bounds(0, top)
    panel.set_ylim(0, top / (1 - share))


def _label_axis(panel: Axes, distribution: Mapping[str, Any], edges: np.ndarray) -> None:
    name, unit = distribution["property"], distribution["unit"]
    panel.set_xlabel(unit or "ratio" * name.endswith("ratio") or "index" * name.endswith("index"), fontsize=8)
    centres = (edges[:-1] + edges[1:]) / 2
    if name.endswith("_selective") and len(centres) == 2:  # 0 or 1
        panel.set_xticks(centres, ["no", "yes"])
    elif is_geometric(edges):
        ticks = _powers(edges[0], edges[-1])
        panel.set_xscale("log")
        panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        panel.set_xticks([], minor=True)
    elif len(centres) <= _FEW_BINS:
        panel.set_xticks(centres)
    panel.set_xlim(edges[0], edges[-1])


def is_geometric(edges: np.ndarray) -> bool:
    """Check whether bin edges form a geometric series, up to the rounding of published edges.

    Example:
        >>> is_geometric(np.array([0.35, 0.5, 0.7, 1.0])), is_geometric(np.array([1.0, 2.0, 3.0, 4.0]))
        (True, False)
    """
    if (edges <= 0).any():
        return False
    ratios = edges[1:] / edges[:-1]
    return bool(ratios.max() < 1.1 * ratios.min())


def _powers(low: float, high: float) -> list[float]:
    """At most six powers of two between the ends, or of ten if the range is wide."""
    base = 2.0 if high / low <= _OCTAVES else 10.0
    first, last = (math.log(end, base) for end in (low, high))
    exponents = list(range(math.ceil(first - 1e-9), math.floor(last + 1e-9) + 1))
    return [base**exponent for exponent in exponents[:: math.ceil(len(exponents) / 6)]]


def _shares(counts: list[int]) -> np.ndarray:
    """Counts as shares of the neurons with a value; zeros if there are none."""
    return np.asarray(counts, float) / max(sum(counts), 1)
