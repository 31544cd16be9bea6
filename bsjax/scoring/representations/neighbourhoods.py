"""The score of a metric in many neighbourhoods of a recording, by few calls of compiled programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
import xarray as xr

from bsjax.engine.batches import batched_map
from bsjax.engine.sharding import devices_in_use
from bsjax.labelled.aggregate import NEUROID, SPLIT, nan_mean, nan_median
from bsjax.labelled.align import aligned_values
from bsjax.labelled.metric import Metric
from bsjax.metrics.numerics import deviations, rotated_to_few_columns

# Responses that are fitted at once, and correlations that are gathered at once for their medians.
_FITTED, _GATHERED = 1 << 23, 1 << 21


def scores_of_neighbourhoods(
    metric: Metric, source: xr.DataArray, target: xr.DataArray, places: np.ndarray, members: np.ndarray
) -> np.ndarray:
    """The score of a source with every neighbourhood of a target, as of separate calls.

    Where neuroids are fitted alone, all are fitted at once, and a score is the median over its neighbourhood. Other
    comparisons run in one program per width, to which neighbourhoods are padded if zeros change nothing; each is
    gathered when its turn comes, so that memory does not grow with their number. The rest is called for one
    neighbourhood after the other.

    Args:
        metric: compares two assemblies.
        source, target: (presentation, neuroid) with ``stimulus_id``.
        places: the neuroids of each neighbourhood, ``(neighbourhoods, widest)``, padded with any.
        members: False where padded.

    Returns:
        ``(neighbourhoods,)``; NaN where undefined.
    """
    if metric.fits_neuroids_alone:
        return _fitted_at_once(metric, source, target, places, members)
    found, n, features = np.full(len(places), np.nan), len(target), source.sizes[NEUROID]
    of = metric.of_pairs(n, features) if devices_in_use() == 1 else None
    if of is not None:
        widths = members.sum(axis=1)
        if of.may_pad[1]:  # powers of two, so that few programs do no more than twice the work
            widths = np.minimum(places.shape[1], 1 << np.ceil(np.log2(widths)).astype(int))
        x, y = aligned_values(source, target)
        if features > n and metric.depends_on == "inner products":  # once, and not at every centre
            x = metric.run_kernel(_in_few_columns, x, takes=f"a rotation of {n:,} stimuli x {features:,} features")
        for width in np.unique(widths):
            rows = np.flatnonzero(widths == width)
            near = places[rows, :width], members[rows, :width]
            takes = f"{metric.identifier} of {n:,} stimuli at {len(rows):,} centres"
            values = metric.run_kernel(_of_each, x, y, *near, *of.rest, takes=takes, of=of.kernel, **of.settings)
            found[rows] = np.asarray(of.score(values).value, float)
        of.warn(features)
    for row in np.flatnonzero(np.isnan(found)):
        found[row] = float(metric(source, target.isel({NEUROID: places[row, members[row]]})))
    return found


def _fitted_at_once(
    metric: Metric, source: xr.DataArray, target: xr.DataArray, places: np.ndarray, members: np.ndarray
) -> np.ndarray:
    """The means over splits of the medians over the neuroids of each neighbourhood, all of which are fitted once."""
    used = np.unique(places[members])
    parts = np.array_split(used, -(-len(used) * len(target) // _FITTED))
    raws: list[Any] = [metric(source, target.isel({NEUROID: part})).raw for part in parts]
    by_split = np.concatenate([raw.transpose(SPLIT, NEUROID).values for raw in raws], axis=1).astype(float)
    at = np.searchsorted(used, np.where(members, places, used[0]))
    found = np.empty(len(places))
    block = max(1, _GATHERED // (len(by_split) * places.shape[1]))
    for start in range(0, len(places), block):
        rows = slice(start, start + block)
        found[rows] = nan_mean(nan_median(np.where(members[rows], by_split[:, at[rows]], np.nan)).T)
    return found


def _in_few_columns(x: Any) -> Any:
    return rotated_to_few_columns(deviations(x, None, axis=0).values)


def _of_each(x: Any, y: Any, places: Any, members: Any, *rest: Any, of: Callable[..., Any], **settings: Any) -> Any:
    def one(neighbourhood: tuple[Any, Any]) -> Any:
        units, counts = neighbourhood
        return of(x, jnp.where(counts[None], y[:, units], 0.0), *rest, **settings)

    return batched_map(one, (places, members))
