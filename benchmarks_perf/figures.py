"""The picture of ``docs/performance.md``: the times of every row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bsjax.core.extras import import_extra
from bsjax.plots.style import COLOURS, FAINT, MARKERS, QUIET, save

Result = Mapping[str, Any]

# Contestants in their order, and what they are called.
_NAMES = {
    **{"bsjax float64": "bsjax", "bsjax float32": "bsjax float32", "brainscore-vision": "Brain-Score"},
    **{name: name for name in ("scikit-learn", "ikpls", "himalaya", "rsatoolbox")},
    **{"scipy": "SciPy", "single calls": "single calls"},
}
_OURS = "#d55e00"
_ROW_INCHES = 0.42


def style(name: str) -> dict[str, Any]:
    """Colour and marker of a contestant: bsjax stands out, its peers are told apart by both."""
    if name.startswith("bsjax"):
        return {"color": _OURS, "marker": "o", "markerfacecolor": _OURS if name.endswith("64") else "white"}
    n = list(_NAMES).index(name) - 1
    colours, markers = [*COLOURS[1:], "black", QUIET], [*MARKERS, "X"]
    return {"color": colours[n - 1], "marker": markers[n % len(markers)]}


def times(rows: Mapping[str, Result], path: Path) -> None:
    """A line for each row, a mark for each contestant's median, on a logarithmic axis of seconds."""
    figure = import_extra("matplotlib.figure", "plots").Figure(
        figsize=(9.6, 1.1 + _ROW_INCHES * len(rows)), layout="constrained"
    )
    panel: Any = figure.subplots()
    for at, result in enumerate(rows.values()):
        medians = {name: line["median_s"] for name, line in result["contestants"].items()}
        panel.plot([min(medians.values()), max(medians.values())], [at, at], color=FAINT, linewidth=2.5, zorder=1)
        for name, seconds in medians.items():
            panel.plot(seconds, at, linestyle="", markersize=6.5, zorder=3, **style(name))
        others = sorted((name for name in medians if not name.startswith("bsjax")), key=lambda name: -medians[name])
        ratios = {name: times_as_text(medians[name] / medians["bsjax float64"]) for name in others}
        said = ", ".join(f"{_NAMES[name]} {ratio}" for name, ratio in ratios.items())
        panel.text(1.02, at, said, transform=panel.get_yaxis_transform(), va="center", fontsize=8.5, color=QUIET)
    panel.set_xscale("log")
    panel.set_yticks(range(len(rows)), list(rows), fontsize=9)
    panel.set_ylim(len(rows) - 0.5, -0.6)
    panel.set_xlabel("seconds of a later call (median)", fontsize=9)
    panel.text(1.02, -0.75, "bsjax is faster than", transform=panel.get_yaxis_transform(), fontsize=9, color=QUIET)
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(axis="x", labelsize=8)
    panel.set_axisbelow(True)
    panel.grid(axis="x", color=FAINT, linewidth=0.7)
    names = [name for name in _NAMES if any(name in result["contestants"] for result in rows.values())]
    for name in names:
        panel.plot([], [], linestyle="", markersize=6.5, label=_NAMES[name], **style(name))
    figure.legend(
        loc="outside upper left", ncols=len(names), fontsize=8.5, frameon=False, columnspacing=1.2, handletextpad=0.2
    )
    save(figure, path)


def times_as_text(times: float) -> str:
    """Two digits, and those of whole numbers.

    Examples:
        >>> times_as_text(1.084), times_as_text(41.2), times_as_text(538.7)
        ('1.1×', '41×', '539×')
    """
    return f"{times:.2g}×" if times < 100 else f"{times:.0f}×"
