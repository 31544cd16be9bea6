"""Plot of models in comparison with people: accuracy and error consistency by experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bsjax.labelled.behaviour.agreement import ErrorConsistency
from bsjax.labelled.behaviour.error_patterns import accuracy_by_condition
from bsjax.plots.observers import PEOPLE_FAINT, Choices, check_experiments
from bsjax.plots.style import QUIET, check_format, draw_grid, look_of, new_figure, save, shortened, styles

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW_INCHES = 0.24
_PEOPLE = "people; right panel: consistency among people, the ceiling"
_CAPTION = "means over conditions; bars and lines: range over people or pairs of people"


def plot_model_vs_human(
    models: Mapping[str, Choices], people: Choices, path: str | Path | None = None, *, title: str = ""
) -> Figure:
    """Plot the accuracy and error consistency of models and people by experiment.

    All values are means over conditions. Accuracy is shown for each model and for people, with a bar for the range over
    people. Error consistency is shown for each model with people, with a line for the range over people, and for people
    with each other, which is the ceiling. The last row contains the means over experiments.

    Args:
        models: model -> experiment -> choices, in the format of the ``source`` of
            :class:`~bsjax.labelled.behaviour.agreement.ErrorConsistency`.
        people: experiment -> choices, in the format of its ``target``.
        path: output file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``; by default none is written.
        title: title of the figure.

    Returns:
        The figure, which a notebook shows.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, or there are no experiments, or they differ between models and people.

    Source: Geirhos et al. 2021.

    Example:
        >>> import xarray as xr
        >>> def choices(answers, subject):
        ...     shown = {"stimulus_id": [1, 2] * 2, "truth": ["dog", "car"] * 2, "condition": ["0"] * 4,
        ...              "subject": subject}
        ...     coords = {name: ("presentation", values[: len(answers)]) for name, values in shown.items()}
        ...     return xr.DataArray(answers, coords, ["presentation"])
        >>> people = {"sketch": choices(["dog", "cat", "dog", "dog"], ["A", "A", "B", "B"])}
        >>> models = {"mine": {"sketch": choices(["dog", "dog"], ["mine"] * 2)}}
        >>> figure = plot_model_vs_human(models, people)
    """
    check_format(path)
    check_experiments(models, people)
    experiments = [*people, "mean"]
    accuracy = {"": _with_mean([_of_subjects(people[e]) for e in people])}
    metric = ErrorConsistency()
    kappa = {"": _with_mean([_pooled(metric.ceiling(people[e]).raw) for e in people])}
    for model, choices in models.items():
        accuracy[model] = _with_mean([_of_subjects(choices[e].drop_vars("subject", errors="ignore")) for e in people])
        kappa[model] = _with_mean([_pooled(metric(choices[e], people[e]).raw) for e in people])

    figure = new_figure(7.4, 1.25 + _ROW_INCHES * len(experiments) + (0.3 if title else 0), title)
    panels: Any = figure.subplots(1, 2, sharey=True)
    _draw(panels[0], accuracy, "Accuracy")
    _draw(panels[1], kappa, "Error consistency with people (κ)")
    panels[0].set_xlim(0, 1)
    panels[1].axvline(0, color=QUIET, linewidth=0.8, zorder=1)
    panels[0].set_yticks(range(len(experiments)), experiments, fontsize=8)
    panels[0].get_yticklabels()[-1].set_fontweight("bold")
    panels[0].set_ylim(len(experiments) - 0.4, -0.6)
    for panel in panels:
        panel.axhline(len(experiments) - 1.5, color=QUIET, linewidth=0.8)
    figure.legend(
        *panels[0].get_legend_handles_labels(),
        loc="outside lower left",
        ncols=3,
        fontsize=8,
        frameon=False,
        title=_CAPTION,
        title_fontproperties={"size": 7.5},
        alignment="left",
    )
    return save(figure, path)


def _draw(panel: Axes, values: Mapping[str, np.ndarray], heading: str) -> None:
    rows = np.arange(values[""].shape[1])
    low, mean, high = values[""]
    panel.barh(rows, high - low, left=low, height=0.62, color=PEOPLE_FAINT, linewidth=0, zorder=2)
    panel.plot(
        mean, rows, linestyle="", marker="|", markersize=9, markeredgewidth=2, color=look_of(panel).ink, label=_PEOPLE
    )
    style = styles([model for model in values if model])
    for n, (model, look) in enumerate(style.items()):
        low, mean, high = values[model]
        shift = 0.0 if len(style) == 1 else 0.36 * (n / (len(style) - 1) - 0.5)
        panel.hlines(rows + shift, low, high, color=look["color"], linewidth=1.1, zorder=3)
        panel.plot(mean, rows + shift, linestyle="", markersize=4.5, zorder=4, label=shortened(model), **look)
    panel.set_title(heading, fontsize=9, loc="left")
    draw_grid(panel, "x")
    panel.tick_params(axis="y", length=0)
    panel.tick_params(axis="x", labelsize=8)
    panel.spines[["top", "right", "left"]].set_visible(False)


def _of_subjects(choices: Any) -> np.ndarray:
    """The minimum, mean and maximum over subjects of the accuracy, averaged over conditions."""
    return _range(np.nanmean(accuracy_by_condition(choices).values, axis=0))


def _pooled(raw: Any) -> np.ndarray:
    """The minimum, mean and maximum over subjects of values averaged over conditions, without undefined subjects."""
    values = raw.transpose("condition", "subject").values
    defined = ~np.isnan(values).all(axis=0)
    return _range(np.nanmean(values[:, defined], axis=0)) if defined.any() else np.full(3, np.nan)


def _range(values: np.ndarray) -> np.ndarray:
    return np.array([values.min(), values.mean(), values.max()])


def _with_mean(rows: list[np.ndarray]) -> np.ndarray:
    """An array (minimum, mean, maximum) x experiments, with the mean over experiments, without a range, appended."""
    values = np.array(rows).T
    return np.concatenate([values, np.full((3, 1), np.nanmean(values[1]))], axis=1)
