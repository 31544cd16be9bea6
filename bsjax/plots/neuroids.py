"""Plots of neuroids: scores relative to their ceilings, and predicted against measured responses."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bsjax.engine.precision import precision
from bsjax.engine.programs.compilation import compiled
from bsjax.labelled.align import aligned, coordinate, listed, two_dimensional
from bsjax.metrics import pearson
from bsjax.plots.scores import limit_of
from bsjax.plots.style import COLUMN_INCHES, LINE, VALUE, finish, look_of, nice_step, panel_for, saved, write_small

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from bsjax.labelled import Score

_NEUROID_ID = "neuroid_id"
_MOST_BINS = 40
_LEAST, _MOST = -0.5, 1.5  # range of score over ceiling; neuroids beyond it are only counted


def plot_neuroid_ceilings(
    score: Score, ax: Axes | None = None, *, path: str | Path | None = None, title: str = ""
) -> Axes:
    """Plot a histogram of neuroid scores relative to their own ceilings.

    The value of a neuroid is its correlation before normalisation divided by the limit that its ceiling sets, both
    averaged over splits: r/√c with reliability c if the formula of the score is r²/c or r/√c, otherwise r/c. The gray
    line is the ceiling, the dashed line the median. The text gives the number of neuroids above their ceiling, of those
    without a value or without a positive ceiling, and of those beyond the axis.

    Args:
        score: normalised score. Its ``raw`` and that of its ceiling have the dimension ``neuroid`` with ``neuroid_id``.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        title: title of the axes; by default the model and benchmark.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format or the formula of the score is unknown; the score or its ceiling has no values of
            neuroids, or their neuroids differ; or no neuroid has both.

    Example:
        >>> from bsjax.labelled import Score
        >>> ids = {"neuroid_id": ("neuroid", ["a", "b"])}
        >>> values, ceilings = (xr.DataArray(each, ids, ["neuroid"]) for each in ([0.3, 0.6], [0.6, 0.8]))
        >>> axes = plot_neuroid_ceilings(Score(0.5, raw=values, ceiling=Score(0.7, raw=ceilings), formula="r/c"))
        >>> axes.texts[0].get_text()
        'median 0.62; 0 of 2 above their ceiling'
    """
    raw = score.raw if score.unceiled is None or score.unceiled.raw is None else score.unceiled.raw
    values = _by_neuroid(raw, "the score")
    ceilings = _by_neuroid(None if score.ceiling is None else score.ceiling.raw, "the ceiling of the score")
    if set(values) != set(ceilings):
        differ = sorted(map(str, set(values) ^ set(ceilings)))
        raise ValueError(f"the score and its ceiling are of other neuroids: {listed(differ, 'on one side')}")
    value, ceiling = (np.array([side[name] for name in values]) for side in (values, ceilings))
    defined = np.isfinite(value) & (ceiling > 0)
    if not defined.any():
        raise ValueError(f"nothing to draw: none of {len(value)} neuroids has a value and a ceiling above 0")
    shares = value[defined] / limit_of(score).before(ceiling[defined])
    panel = panel_for(ax, path, 2.0)
    look = look_of(panel)
    inside = shares[(shares >= _LEAST) & (shares <= _MOST)]
    low, high = min(0.0, inside.min(initial=0.0)), max(1.0, inside.max(initial=1.0))
    step = nice_step(high - low, int(np.clip(2 * np.sqrt(len(shares)), 5, _MOST_BINS)))
    edges = step * np.arange(np.floor(low / step + 1e-9), np.ceil(high / step - 1e-9) + 1)
    counts, _ = np.histogram(inside, edges)
    panel.bar(edges[:-1], counts, np.diff(edges), align="edge", color=VALUE, edgecolor=look.paper, linewidth=0.6)
    median = float(np.median(shares))
    panel.axvline(1.0, color=LINE, linewidth=2, zorder=3)
    panel.axvline(median, color=look.ink, linewidth=0.9, linestyle=(0, (3, 2)), zorder=3)
    panel.set_xlim(edges[0], edges[-1] + 0.02)
    panel.yaxis.get_major_locator().set_params(integer=True)
    said = [f"median {median:z.2f}", f"{(shares > 1).sum()} of {defined.sum()} above their ceiling"]
    more = [(len(value) - defined.sum(), "undefined"), (len(shares) - len(inside), "off the axis")]
    said += [f"{n} {words}" for n, words in more if n]
    write_small(panel, "; ".join(said), (0, 1), (0, 4), "axes fraction", va="bottom")
    panel.set_xlabel(f"score of each neuroid divided by its ceiling, r/{limit_of(score).words}", color=look.ink)
    panel.set_ylabel("neuroids", color=look.ink)
    said_of = score.provenance
    heading = title or ", ".join(str(name) for name in (said_of.model, said_of.benchmark) if name)
    finish(panel, title=heading, above=True, grid="y")
    return saved(panel, path)


def plot_prediction(
    predicted: ArrayLike | xr.DataArray,
    measured: ArrayLike | xr.DataArray,
    ax: Axes | None = None,
    *,
    neuroid: str | None = None,
    path: str | Path | None = None,
    title: str = "",
) -> Axes:
    """Plot predicted against measured responses of one neuroid, with a point for each stimulus.

    The line is the identity. The text above gives the correlation, and the number of stimuli that were left out since
    they lack a value.

    Args:
        predicted, measured: responses of the neuroid. Assemblies (presentation, neuroid) are matched by ``stimulus_id``
            and ``neuroid_id``. Arrays have shape (stimuli,), with the same stimuli in the same order.
        ax: axes to draw into; by default those of a new figure as wide as a journal column, 89 mm.
        neuroid: ``neuroid_id`` of the neuroid, required for assemblies with several.
        path: also write the figure to this file, in the format of its suffix: ``.png``, ``.pdf``, ``.svg``.
        title: title of the axes; by default the neuroid.

    Returns:
        The axes; ``ax.figure`` is the figure.

    Raises:
        ImportError: matplotlib is not installed; the message contains the command to install it.
        ValueError: the format is unknown; there is no such neuroid, or several and none is named; the stimuli differ;
            or no stimulus has both values.

    Example:
        >>> axes = plot_prediction([1.0, 2.0, 3.5], [1.0, 2.5, 3.0])
        >>> axes.texts[0].get_text()
        'r = 0.92, 3 stimuli'
    """
    labelled = [isinstance(side, xr.DataArray) for side in (predicted, measured)]
    if all(labelled):
        x, y = _of_neuroid(predicted, measured, neuroid)
    elif any(labelled):
        raise ValueError("predicted and measured must both be assemblies, or both arrays: one side has no labels")
    else:
        x, y = np.asarray(predicted, float), np.asarray(measured, float)
        if x.ndim != 1 or x.shape != y.shape:
            raise ValueError(
                "predicted and measured must be of one neuroid and the same stimuli, arrays of one axis; "
                f"got the shapes {x.shape} and {y.shape}"
            )
    both = np.isfinite(x) & np.isfinite(y)
    if not both.any():
        raise ValueError(f"nothing to draw: none of {len(x)} stimuli has a value on both sides")
    lost, x, y = int((~both).sum()), x[both], y[both]
    with precision() as dtype:
        r = float(compiled(pearson)(x.astype(dtype), y.astype(dtype)))
    panel = panel_for(ax, path, 0.86 * COLUMN_INCHES)
    look = look_of(panel)
    low, high = (float(bound) for bound in (min(x.min(), y.min()), max(x.max(), y.max())))
    margin = 0.05 * (high - low) or 1.0
    ends = low - margin, high + margin
    panel.plot(ends, ends, color=LINE, linewidth=1, linestyle=(0, (4, 2)), zorder=2)
    panel.scatter(x, y, s=float(np.clip(1500 / len(x), 3, 14)), color=VALUE, alpha=0.65, linewidths=0, zorder=3)
    panel.set(xlim=ends, ylim=ends, aspect="equal")
    said = f"r = {r:z.2f}" if np.isfinite(r) else "r undefined"
    said = f"{said}, {len(x)} stimuli" + (f"; {lost} left out" if lost else "")
    write_small(panel, said, (0, 1), (0, 4), "axes fraction", va="bottom")
    panel.set_xlabel("predicted response", color=look.ink)
    panel.set_ylabel("measured response", color=look.ink)
    finish(panel, title=title or neuroid or "", above=True)
    return saved(panel, path)


def _by_neuroid(raw: xr.DataArray | None, whose: str) -> dict[Any, float]:
    """neuroid_id -> mean of its finite values over all other dimensions."""
    if raw is None or "neuroid" not in raw.dims:
        raise ValueError(
            f"{whose} has no values of neuroids: raw must have the dimension 'neuroid', as those of regressions do"
        )
    names = coordinate(raw, _NEUROID_ID, "neuroid", whose).tolist()
    if len(set(names)) != len(names):
        raise ValueError(f"{whose} has several neuroids of one {_NEUROID_ID}: they cannot be matched")
    means = raw.astype(float).where(np.isfinite(raw)).mean([dim for dim in raw.dims if dim != "neuroid"])
    return dict(zip(names, means.values.tolist(), strict=True))


def _of_neuroid(predicted: Any, measured: Any, neuroid: str | None) -> tuple[np.ndarray, np.ndarray]:
    sides = []
    for assembly, what in ((predicted, "predicted"), (measured, "measured")):
        assembly = two_dimensional(assembly, what)
        if neuroid is None and assembly.sizes["neuroid"] != 1:
            raise ValueError(
                f"{what} has {assembly.sizes['neuroid']} neuroids: name the one to draw, neuroid=..., by its neuroid_id"
            )
        if neuroid is not None:
            ids = coordinate(assembly, _NEUROID_ID, "neuroid", what).tolist()
            if ids.count(neuroid) != 1:
                raise ValueError(
                    f"{what} has {ids.count(neuroid)} neuroids with the neuroid_id {neuroid!r}; "
                    f"there are: {listed(ids, _NEUROID_ID)}"
                )
            assembly = assembly.isel(neuroid=[ids.index(neuroid)])
        sides.append(assembly)
    return aligned(sides[0], sides[1]).values[:, 0].astype(float), sides[1].values[:, 0].astype(float)
