"""Plot of the images on which a model and people differ most."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bsjax.data.files.choice_tables import image_name
from bsjax.data.files.images import load_image
from bsjax.labelled.behaviour.error_patterns import divergence
from bsjax.plots.style import COLOURS, FAINT, QUIET, check_format, look_of, new_figure, save, shortened

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from bsjax.data import StimulusSet

_CELL, _IMAGE, _HEADING, _ABOVE, _BELOW = 1.5, 1.34, 0.32, 0.2, 0.5  # inches
_LONGEST_ID = 20
_GROUPS = "Most people are correct, {} is wrong", "{} is correct, most people are wrong"


def plot_divergent_images(
    model: xr.DataArray,
    people: xr.DataArray,
    path: str | Path | None = None,
    *,
    stimuli: StimulusSet | None = None,
    name: str = "the model",
    most: int = 6,
    title: str = "",
) -> Figure:
    """Show the images that most people classify correctly and a model does not, and below, the converse.

    In each row images are sorted by the size of the difference, the largest first. Ties alternate between objects.

    Each image is shown, or its name if its file is not available, with the object, the response of the model, the share
    of people who are right, and their most frequent response if it is wrong.

    Args:
        model: choices of the model, as for :func:`~bsjax.labelled.behaviour.error_patterns.divergence`.
        people: choices of people, likewise.
        path: output file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``; by default none is written.
        stimuli: stimulus set with the image files.
        name: name of the model.
        most: largest number of images per row.
        title: title of the figure.

    Returns:
        The figure, which a notebook shows.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, there is no image to show, or the choices cannot be compared.

    Example:
        >>> import xarray as xr
        >>> shown = {"stimulus_id": ("presentation", [1, 2]), "truth": ("presentation", ["cat", "dog"])}
        >>> mine, theirs = (xr.DataArray(said, shown, ["presentation"]) for said in (["dog", "dog"], ["cat", "cow"]))
        >>> figure = plot_divergent_images(mine, theirs)
    """
    check_format(path)
    if most < 1:
        raise ValueError(f"most must be at least 1, got {most}")
    apart = divergence(model, people)
    right, people_right = apart["response"].values == apart["truth"].values, apart["people_right"].values >= 0.5
    chosen = zip(_GROUPS, (~right & people_right, right & ~people_right), strict=True)
    groups = {words.format(shortened(name)): _spread(apart.isel(presentation=which), most) for words, which in chosen}
    if not any(group.size for group in groups.values()):
        raise ValueError("nothing to draw: the model is right where most people are, and wrong where most are")
    several = "condition" in apart.coords and len(np.unique(apart["condition"].values.astype(str))) > 1
    row = _HEADING + _ABOVE + _IMAGE + _BELOW
    width = 0.1 + _CELL * max(3, *(group.size for group in groups.values()))
    height = 0.05 + 2 * row + (0.32 if title else 0)
    figure = new_figure(width, height, layout=None)
    if title:
        figure.suptitle(title, fontsize=11, y=1 - 0.08 / height, va="top")
    for n, (heading, group) in enumerate(groups.items()):
        bottom = 0.05 + (1 - n) * row
        words = heading if group.size else f"{heading}: no images"
        at = (bottom + row - 0.22) / height
        figure.text(0.1 / width, at, words, fontsize=9.5, fontweight="bold")
        for column, image in enumerate(group):
            left = 0.1 + column * _CELL
            place = (left / width, (bottom + _BELOW) / height, _IMAGE / width, _IMAGE / height)
            _draw(figure.add_axes(place), image, stimuli, name, several)
    return save(figure, path)


def _spread(apart: xr.DataArray, most: int) -> xr.DataArray:
    """The first images; ties alternate between objects."""
    table = pd.DataFrame({"far": -np.abs(apart.values), "truth": apart["truth"].values})
    table["turn"] = table.groupby(["far", "truth"]).cumcount()
    return apart.isel(presentation=table.sort_values(["far", "turn"], kind="stable").index[:most])


def _draw(panel: Axes, image: xr.DataArray, stimuli: StimulusSet | None, name: str, several: bool) -> None:
    stimulus = image["stimulus_id"].item()
    path = None if stimuli is None else stimuli.stimulus_paths.get(stimulus)
    panel.set_xticks([])
    panel.set_yticks([])
    if path is not None and Path(path).is_file():
        pixels = load_image(path)
        height, width = pixels.shape[:2]
        side = max(height, width)
        panel.imshow(pixels, aspect="auto")  # on a square panel, so that images are not stretched
        panel.set_xlim((width - side) / 2 - 0.5, (width + side) / 2 - 0.5)
        panel.set_ylim((height + side) / 2 - 0.5, (height - side) / 2 - 0.5)
    else:
        panel.set_facecolor(FAINT)
        panel.text(
            0.5, 0.5, textwrap.fill(shortened(image_name(stimulus), 3 * _LONGEST_ID), _LONGEST_ID), ha="center",
            va="center", fontsize=7, color=QUIET, transform=panel.transAxes,
        )  # fmt: skip
    for spine in panel.spines.values():
        spine.set_color(FAINT)
    ink = look_of(panel).ink
    condition = f", {image['condition'].item()}" if several else ""
    panel.set_title(f"{image['truth'].item()}{condition}", fontsize=8.5, pad=3)
    lines = {
        f"{shortened(name, 14)}: {image['response'].item()}": COLOURS[0],
        f"people: {100 * image['people_right'].item():.0f} % correct": ink,
    }
    if image["people_response"].item() != image["truth"].item():
        lines[f"most of them: {image['people_response'].item()}"] = ink
    for n, (line, colour) in enumerate(lines.items()):
        panel.annotate(
            line, (0.5, 0), (0, -4 - 9.5 * n), "axes fraction", "offset points", ha="center", va="top", fontsize=7,
            color=colour,
        )  # fmt: skip
