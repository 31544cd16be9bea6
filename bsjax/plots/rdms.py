"""Plots of representational dissimilarity matrices (RDMs): a matrix, a pair, and multidimensional scaling (MDS)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from bsjax.core.extras import import_extra
from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.metrics import compare_rdms
from bsjax.plots.style import (
    COLUMN_INCHES,
    LINE,
    VALUE,
    finish,
    look_of,
    panel_for,
    runs,
    saved,
    shortened,
    styles,
    write_small,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

_COLOURS = "viridis"
# High enough for the widest matrix: matplotlib's layout reserves room for names only if the width limits the size.
_SQUARE_INCHES = 0.86 * COLUMN_INCHES
_LONGEST_GROUP, _MOST_GROUPS = 14, 24
_STARTS = 8
_COMPARISONS = {"spearman": "Spearman's ρ", "corr": "r", "cosine": "cosine", "rho-a": "ρ-a", "tau-a": "τ-a"}


def plot_rdm(
    rdm: ArrayLike,
    ax: Axes | None = None,
    *,
    groups: Sequence[str] | None = None,
    path: str | Path | None = None,
    limits: tuple[float, float] | None = None,
    label: str = "dissimilarity",
    title: str = "",
) -> Axes:
    """Plot a representational dissimilarity matrix.

    Pairs without a dissimilarity are hatched.

    Args:
        rdm: symmetric matrix, ``(stimuli, stimuli)``, as from :func:`bsjax.metrics.rdm`.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        groups: group of each stimulus, such as its object. Stimuli are then sorted by group, in the order in which the
            groups first occur, with lines between the groups and their names on the left.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        limits: dissimilarities at the ends of the colour scale; by default the minimum and maximum over pairs.
        label: label of the colour scale.
        title: title of the axes.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, the matrix is not an RDM, or the number of groups is not that of stimuli.

    Source: Kriegeskorte, Mur & Bandettini 2008.

    Example:
        >>> axes = plot_rdm([[0.0, 0.4], [0.4, 0.0]], groups=["cat", "dog"])
        >>> [text.get_text() for text in axes.get_yticklabels()]
        ['cat', 'dog']
    """
    values, sorted_groups = _by_group(_checked(rdm, "the RDM"), groups)
    pairs = values[np.triu_indices(len(values), 1)]
    if limits is None and np.isfinite(pairs).any():
        limits = float(np.nanmin(pairs)), float(np.nanmax(pairs))
    panel = panel_for(ax, path, _SQUARE_INCHES + (0.2 if title else 0))
    _draw(panel, values, sorted_groups, label, limits)
    finish(panel, title=title, spines=())
    return saved(panel, path)


def plot_rdm_pair(
    below: ArrayLike,
    above: ArrayLike,
    ax: Axes | None = None,
    *,
    names: tuple[str, str] = ("below", "above"),
    groups: Sequence[str] | None = None,
    comparison: str = "spearman",
    path: str | Path | None = None,
) -> Axes:
    """Plot two RDMs of the same stimuli in one matrix: the first below the diagonal, the second above.

    Colours are the ranks of the pairs of stimuli within each RDM, from 0 to 1, so that RDMs of different scales, such
    as of a model and a recording, can be compared. The title gives their similarity.

    Args:
        below, above: symmetric matrices, ``(stimuli, stimuli)``, with the stimuli in the same order.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        names: names of the two RDMs.
        groups: group of each stimulus, as for :func:`plot_rdm`.
        comparison: measure of similarity, as for :func:`bsjax.metrics.compare_rdms`, e.g. ``"tau-a"``.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format or comparison is unknown, a matrix is not an RDM, or the sizes differ.

    Example:
        >>> one, two = np.ones((2, 3, 3)) - np.eye(3)
        >>> one[0, 1] = one[1, 0] = two[0, 2] = two[2, 0] = 0.5
        >>> plot_rdm_pair(one, two, names=("model", "IT")).get_title("left")
        "model and IT: Spearman's ρ = -0.50"
    """
    first, second = (_checked(rdm, f"the RDM of {name}") for rdm, name in zip((below, above), names, strict=True))
    if first.shape != second.shape:
        raise ValueError(
            f"both RDMs must be of the same stimuli in the same order, got {len(first)} and {len(second)} stimuli"
        )
    with precision() as dtype:
        kernel = compiled(compare_rdms, method=comparison)
        similarity = float(kernel(first.astype(dtype), second.astype(dtype)))
    first, sorted_groups = _by_group(first, groups)
    second, _ = _by_group(second, groups)
    whole = np.tril(_ranked(first), -1) + np.triu(_ranked(second), 1)
    np.fill_diagonal(whole, np.nan)
    panel = panel_for(ax, path, _SQUARE_INCHES + 0.35)
    look = look_of(panel)
    _draw(panel, whole, sorted_groups, "rank of the dissimilarity", (0.0, 1.0))
    one, two = (shortened(name, 18) for name in names)
    number = "undefined" if np.isnan(similarity) else f"{similarity:z.2f}"
    finish(panel, title=f"{one} and {two}: {_COMPARISONS.get(comparison, comparison)} = {number}", spines=())
    panel.set_xlabel(f"below the diagonal: {one}; above: {two}", color=look.ink, fontsize=look.small)
    return saved(panel, path)


def plot_mds(
    rdm: ArrayLike,
    ax: Axes | None = None,
    *,
    groups: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    seed: int = 0,
    path: str | Path | None = None,
    title: str = "",
) -> Axes:
    """Plot stimuli in a plane by metric multidimensional scaling (SMACOF): distances approximate dissimilarities.

    The stress, given below the plot, measures the misfit: √(Σ (d - δ)² / Σ δ²), 0 for a perfect fit. The best of eight
    starts is shown, rotated to its principal axes. Stimuli with missing dissimilarities are left out, and their number
    is given.

    Args:
        rdm: symmetric matrix, ``(stimuli, stimuli)``.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        groups: group of each stimulus, shown by colour and marker.
        names: names of the stimuli, written next to the points; for few stimuli.
        seed: random seed of the starts.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        title: title of the axes.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown, the matrix is not an RDM, fewer than three stimuli have all dissimilarities,
            or the number of groups or names is not that of stimuli.

    Source: Borg & Groenen 2005 (scaling by majorisation); Kruskal 1964 (stress).

    Example:
        >>> axes = plot_mds([[0.0, 3.0, 4.0], [3.0, 0.0, 5.0], [4.0, 5.0, 0.0]], names=["a", "b", "c"])
        >>> axes.get_xlabel()
        'stress 0.00'
    """
    values = _checked(rdm, "the RDM")
    labels = None if groups is None else _one_each(groups, len(values), "groups")
    written = None if names is None else _one_each(names, len(values), "names")
    kept = _complete(values)
    if len(kept) < 3:
        raise ValueError(f"a plane takes three stimuli with all their dissimilarities, there are {len(kept)}")
    points, stress = _scaled(values[np.ix_(kept, kept)], seed)
    panel = panel_for(ax, path, 0.85 * COLUMN_INCHES + (0.2 if title else 0))
    look = look_of(panel)
    size = float(np.clip(26 - len(kept) / 10, 6, 22))
    if labels is None:
        panel.scatter(*points.T, s=size, color=VALUE, linewidths=0, zorder=3)
    else:
        of_kept = np.array(labels)[kept]
        for name, style in styles(list(dict.fromkeys(of_kept.tolist()))).items():
            which = of_kept == name
            panel.scatter(*points[which].T, s=size, linewidths=0, label=shortened(name, 18), zorder=3, **style)
        panel.legend(
            loc="upper left", bbox_to_anchor=(1, 1), fontsize=look.small, frameon=False, labelcolor=look.ink,
            borderaxespad=0, handletextpad=0.2,
        )  # fmt: skip
    for place, n in zip(points, kept, strict=True):
        if written is not None:
            write_small(panel, shortened(written[n], 18), place, (3, 2), annotation_clip=False)
    lost = len(values) - len(kept)
    panel.set_xlabel(f"stress {stress:z.2f}" + (f"; {lost} of {len(values)} stimuli left out" if lost else ""))
    panel.xaxis.label.set_color(look.ink)
    panel.set_xticks([])
    panel.set_yticks([])
    panel.set_aspect("equal", adjustable="datalim")
    panel.margins(0.08)
    finish(panel, title=title, spines=("left", "right", "top", "bottom"))
    for spine in panel.spines.values():
        spine.set(color=LINE, linewidth=0.6)
    return saved(panel, path)


def _checked(rdm: Any, what: str) -> np.ndarray:
    """Check that a matrix is an RDM; gives it in float64."""
    values = np.asarray(rdm, float)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or len(values) < 2:
        raise ValueError(
            f"{what} must be a square matrix of at least two stimuli, got the shape {values.shape}; "
            "bsjax.metrics.rdm makes one from responses (stimuli, units)"
        )
    if np.isinf(values).any():
        raise ValueError(f"{what} must be finite or NaN, it holds {np.isinf(values).sum()} infinite values")
    lopsided = ~np.isclose(values, values.T, rtol=1e-4, atol=1e-6, equal_nan=True)
    if lopsided.any():
        row, column = np.argwhere(lopsided)[0]
        raise ValueError(
            f"{what} must be symmetric: at ({row}, {column}) it is {values[row, column]:g}, "
            f"at ({column}, {row}) {values[column, row]:g}"
        )
    return values


def _one_each(given: Sequence[str], n: int, what: str) -> list[str]:
    if len(given) != n:
        raise ValueError(f"{what} must name each of the {n} stimuli, got {len(given)}")
    return [str(each) for each in given]


def _by_group(values: np.ndarray, groups: Sequence[str] | None) -> tuple[np.ndarray, list[str]]:
    """The matrix with its stimuli sorted by group, and the sorted groups."""
    if groups is None:
        return values, []
    named = _one_each(groups, len(values), "groups")
    rank = {name: n for n, name in enumerate(dict.fromkeys(named))}
    order = np.argsort([rank[name] for name in named], kind="stable")
    return values[np.ix_(order, order)], [named[n] for n in order]


def _draw(panel: Any, values: np.ndarray, groups: list[str], label: str, limits: tuple[float, float] | None) -> None:
    look = look_of(panel)
    panel.set_facecolor("none")
    low, high = (0.0, 1.0) if limits is None else limits
    image = panel.imshow(values, cmap=_COLOURS, vmin=low, vmax=high, interpolation="nearest", zorder=2)
    if np.isnan(values[~np.eye(len(values), dtype=bool)]).any():
        rectangle = import_extra("matplotlib.patches", "plots").Rectangle
        panel.add_patch(
            rectangle((0, 0), 1, 1, transform=panel.transAxes, facecolor="none", edgecolor=LINE, hatch="////", zorder=1)
        )
    parts = runs(groups)
    for _, start, _ in parts[1:]:
        panel.axhline(start - 0.5, color="white", linewidth=0.5, zorder=3)
        panel.axvline(start - 0.5, color="white", linewidth=0.5, zorder=3)
    panel.set_xticks([])
    panel.set_yticks([])
    if parts and len(parts) <= _MOST_GROUPS:
        centres = [(start + end - 1) / 2 for _, start, end in parts]
        panel.set_yticks(centres, [shortened(name, _LONGEST_GROUP) for name, _, _ in parts])
    elif not parts:
        panel.set_ylabel(f"{len(values)} stimuli", color=look.ink)
    panel.tick_params(length=0)
    bar = panel.figure.colorbar(image, ax=panel, pad=0.03, fraction=0.046, aspect=22)
    bar.set_label(label, fontsize=look.text, color=look.ink)
    bar.ax.tick_params(labelsize=look.text)
    bar.outline.set_visible(False)


def _ranked(values: np.ndarray) -> np.ndarray:
    """Ranks of the pairs of stimuli, scaled to 0 to 1; NaN for missing dissimilarities."""
    row, column = np.triu_indices(len(values), 1)
    ranks = scipy.stats.rankdata(values[row, column], nan_policy="omit")
    found = np.zeros_like(values)
    found[row, column] = found[column, row] = (ranks - 1) / max(np.isfinite(ranks).sum() - 1, 1)
    return found


def _complete(values: np.ndarray) -> np.ndarray:
    """Stimuli without missing dissimilarities, after repeated removal of the stimulus that lacks most."""
    kept = np.arange(len(values))
    while len(kept):
        lacking = np.isnan(values[np.ix_(kept, kept)]).sum(axis=1)
        if not lacking.any():
            break
        kept = np.delete(kept, int(lacking.argmax()))
    return kept


def _scaled(values: np.ndarray, seed: int) -> tuple[np.ndarray, float]:
    """Points in the plane, in their principal axes, and the stress."""
    from sklearn.manifold import smacof

    symmetric = np.abs(values + values.T) / 2
    np.fill_diagonal(symmetric, 0.0)
    points: Any = smacof(symmetric, metric=True, n_components=2, n_init=_STARTS, random_state=seed)[0]
    points = points - points.mean(axis=0)
    points = points @ np.linalg.svd(points, full_matrices=False)[2].T
    # Mirrored so that the farthest point of each axis is on its positive side: equal RDMs give equal plots.
    points *= np.sign(points[np.abs(points).argmax(axis=0), [0, 1]] + 1e-300)
    row, column = np.triu_indices(len(values), 1)
    wanted = symmetric[row, column]
    left = np.linalg.norm(points[row] - points[column], axis=1) - wanted
    whole = float((wanted**2).sum())
    return points, float(np.sqrt((left**2).sum() / whole)) if whole else 0.0
