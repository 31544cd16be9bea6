"""Plot of accuracy by condition, for models and each person."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.labelled.align import listed
from bsjax.labelled.behaviour.error_patterns import accuracy_by_condition
from bsjax.plots.observers import PEOPLE_FAINT, Choices, check_experiments
from bsjax.plots.style import QUIET, draw_grid, look_of, panel_grid, save, shortened, styles

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS, _PANEL_INCHES = 4, (2.25, 2.0)
_LONG_NAMES = 22  # total letters of the condition names of a panel, beyond which they are rotated


def plot_condition_curves(
    models: Mapping[str, Choices],
    people: Choices,
    path: str | Path | None = None,
    *,
    axes: Mapping[str, str] | None = None,
    title: str = "",
) -> Figure:
    """Plot accuracy by condition, with a panel for each experiment.

    A band shows the range over people, thin lines each person, and a thick line their mean. Each model is a line with
    markers. The dotted line is chance level, one over the number of objects. Conditions are ordered by the numbers in
    their names.

    Args:
        models: model -> experiment -> choices, with ``stimulus_id``, ``truth`` and ``condition``.
        people: experiment -> choices, also with ``subject``.
        path: output file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``; by default none is written.
        axes: experiment -> label of its conditions, with the unit: ``{"contrast": "contrast (%)"}``; by default
            ``condition``.
        title: title of the figure.

    Returns:
        The figure, which a notebook shows.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown; there are no experiments, or they differ between models and people; or
            ``axes`` names other experiments.

    Example:
        >>> import xarray as xr
        >>> shown = {"stimulus_id": [1, 2], "truth": ["cat", "dog"], "condition": ["0.1", "0.2"], "subject": ["A", "A"]}
        >>> coords = {name: ("presentation", values) for name, values in shown.items()}
        >>> choices = {"uniform-noise": xr.DataArray(["cat", "cat"], coords, ["presentation"])}
        >>> figure = plot_condition_curves({"mine": choices}, choices)
    """
    check_experiments(models, people)
    unknown = sorted({*(axes or {})} - {*people})
    if unknown:
        raise ValueError(f"axes names experiments that are not there: {listed(unknown, 'of them')}")
    figure, panels, first = panel_grid(path, len(people), _COLUMNS, _PANEL_INCHES, (0.5, 0.45), title, sharey=True)
    look = styles(list(models))
    for panel, experiment in zip(panels, people, strict=True):
        of_people = accuracy_by_condition(people[experiment])
        _draw_people(panel, of_people)
        for model, style in look.items():
            choices = models[model][experiment].drop_vars("subject", errors="ignore")
            accuracy = accuracy_by_condition(choices).reindex(condition=of_people["condition"])
            panel.plot(accuracy.values[:, 0], markersize=4, linewidth=1.4, label=shortened(model), zorder=4, **style)
        chance = 1 / len(np.unique(people[experiment]["truth"].values.astype(str)))
        panel.axhline(chance, color=QUIET, linewidth=0.9, linestyle=":", label="chance")
        _finish(panel, experiment, of_people["condition"].values.astype(str).tolist())
        panel.set_xlabel((axes or {}).get(experiment, "condition"), fontsize=8)
    for panel in first:
        panel.set_ylabel("accuracy", fontsize=8)
    entries, ncols = panels[0].get_legend_handles_labels(), len(people) if len(people) < 3 else 4
    figure.legend(*entries, loc="outside lower left", ncols=ncols, fontsize=8, frameon=False)
    return save(figure, path)


def _draw_people(panel: Axes, accuracy: xr.DataArray) -> None:
    values = accuracy.transpose("condition", "subject").values
    places, ink = np.arange(len(values)), look_of(panel).ink
    if len(values) == 1:
        panel.errorbar(
            places, values.mean(1), yerr=[values.mean(1) - values.min(1), values.max(1) - values.mean(1)],
            color=ink, ecolor=PEOPLE_FAINT, elinewidth=5, marker="_", markersize=11, markeredgewidth=2, linestyle="",
            label="people: mean and range",
        )  # fmt: skip
        return
    panel.fill_between(
        places, np.nanmin(values, axis=1), np.nanmax(values, axis=1), color=PEOPLE_FAINT, alpha=0.45, linewidth=0
    )
    panel.plot(places, values, color=PEOPLE_FAINT, linewidth=0.7)
    panel.plot(places, np.nanmean(values, axis=1), color=ink, linewidth=2, label="people: mean, individuals and range")


def _finish(panel: Axes, experiment: str, conditions: list[str]) -> None:
    turned = sum(map(len, conditions)) > _LONG_NAMES
    how: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if turned else {}
    panel.set_xticks(range(len(conditions)), conditions, fontsize=7.5, **how)
    panel.set_xlim(-0.35, len(conditions) - 0.65) if len(conditions) > 1 else panel.set_xlim(-1, 1)
    panel.set_ylim(0, 1.02)
    panel.set_title(experiment, fontsize=9, loc="left")
    draw_grid(panel, "y")
    panel.tick_params(axis="y", labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
