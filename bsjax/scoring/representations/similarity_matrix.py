"""``similarity_matrix``: a metric of all pairs of many representations."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import xarray as xr

from bsjax.scoring.arrays import assemblies_of, by_name, loaded
from bsjax.scoring.display.bars import shown

if TYPE_CHECKING:
    from bsjax.labelled import Score


def similarity_matrix(
    representations: Mapping[str, Any],
    metric: str | Callable[..., Score] = "cka",
    *,
    progress: bool | None = None,
    **metric_kwargs: Any,
) -> xr.DataArray:
    """Compare all pairs of many representations of the same stimuli, such as layers, models, regions or subjects.

    CKA and RDMs are computed once for each representation; other metrics score each pair, and symmetric ones in one
    order only. Rows of labelled representations are matched by label, as in :func:`bsjax.score_arrays`.

    Args:
        representations: name -> responses, ``(stimuli, units)``: arrays, tables or assemblies, of any numbers of units.
        metric: a name of :func:`bsjax.list_metrics` that compares two assemblies, or a metric object.
        progress: True shows progress, False hides it. By default it is shown on a terminal and in notebooks.
        **metric_kwargs: further arguments of the metric, e.g. ``dtype``.

    Returns:
        ``(source, target)`` with the names as coordinates. A regression predicts the target from the source. Undefined
        similarities are NaN. ``attrs`` holds the identifier of the metric and its ``settings``, as JSON.
        :func:`bsjax.plots.plot_similarity_matrix` plots it.

    Raises:
        KeyError: the metric is unknown.
        ValueError: there are fewer than two representations, they have different stimuli, or the metric refuses them.

    Example:
        >>> import numpy as np
        >>> import bsjax
        >>> rng = np.random.default_rng(0)
        >>> brain = rng.normal(size=(60, 10))
        >>> layers = {"early": rng.normal(size=(60, 5)), "late": brain[:, :4], "brain": brain}
        >>> found = bsjax.similarity_matrix(layers, metric="procrustes")
        >>> bool(found.sel(source="late", target="brain") > found.sel(source="early", target="brain"))
        True
    """
    named = by_name(representations, "representations")
    if len(named) < 2:
        raise ValueError(f"a matrix needs at least two representations, got {len(named)}")
    made, names = loaded(metric, None, metric_kwargs, interval=False), list(named)
    sides = assemblies_of(named)
    with shown(progress=progress):
        values = made.all_pairs(sides)
    settings = json.dumps(made.own_settings() if made.identifier else {})
    attrs = {"metric": made.identifier, "settings": settings}  # text, which can be written to any file
    return xr.DataArray(values, {"source": names, "target": names}, ("source", "target"), made.identifier, attrs)
