"""From raw values to a score: medians over neuroids, means over splits, and what the error is."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
import xarray as xr

from bsjax.labelled.score import Score

SPLIT, NEUROID = "split", "neuroid"
_BOOTSTRAPS = 200


def over_splits(
    raw: np.ndarray,
    coords: Mapping[str, Any],
    provenance: dict[str, Any],
    *,
    dims: Sequence[str] = (SPLIT, NEUROID),
    formula: str = "r",
) -> Score:
    """Median over neuroids where there are any, then mean over splits; undefined values are left out and counted.

    The error is the standard error over splits, ``sd / sqrt(splits)`` with the population sd, as in Brain-Score. Splits
    of one data set share stimuli, so that it understates how much the score would move with new stimuli.

    Args:
        raw: one value per split, and per neuroid and time bin where ``dims`` says so.
        coords: coordinates of its dimensions.
        dims: its dimensions; those that are neither split nor neuroid stay in the score.
    """
    raw = np.asarray(raw, float)
    dims = list(dims)[: raw.ndim]
    splits = raw.shape[dims.index(SPLIT)]
    labelled = xr.DataArray(raw, dims=dims, coords={SPLIT: np.arange(splits), **coords})
    per_split, left = raw, dims
    if NEUROID in dims:
        per_split = nan_median(np.moveaxis(raw, dims.index(NEUROID), -1))
        left = [dim for dim in dims if dim != NEUROID]
    per_split = np.moveaxis(per_split, left.index(SPLIT), -1)
    value, spread = nan_mean(per_split), nan_std(per_split)
    kept = {name: c for name, c in labelled.coords.items() if c.dims and set(c.dims) <= set(left) - {SPLIT}}
    left = [dim for dim in left if dim != SPLIT]
    return Score(
        xr.DataArray(value, dims=left, coords=kept) if left else float(value),
        error=xr.DataArray(spread, dims=left, coords=kept) / math.sqrt(splits)
        if left
        else float(spread / math.sqrt(splits)),
        error_kind=f"standard error over {splits} splits",
        raw=labelled,
        formula=formula,
        n_units=raw.shape[dims.index(NEUROID)] if NEUROID in dims else None,
        n_undefined=_count_undefined(raw, dims.index(NEUROID)) if NEUROID in dims else 0,
        provenance=provenance,
    )


def over_neuroids(raw: np.ndarray, coords: Mapping[str, Any], provenance: dict[str, Any]) -> Score:
    """Median over neuroids of a fixed split, with the standard error of that median by a bootstrap over neuroids."""
    raw = np.asarray(raw, float)
    defined = raw[np.isfinite(raw)]
    value = error = math.nan
    if len(defined):
        value = float(np.median(defined))
        draws = np.random.default_rng(0).integers(0, len(defined), (_BOOTSTRAPS, len(defined)))
        error = float(np.median(defined[draws], axis=1).std(ddof=1))
    return Score(
        value,
        error=error,
        error_kind=f"standard error of the median, {_BOOTSTRAPS} bootstraps over neuroids",
        raw=xr.DataArray(raw, dims=["neuroid"], coords=dict(coords)),
        formula="r",
        n_units=len(raw),
        n_undefined=len(raw) - len(defined),
        provenance=provenance,
    )


def nan_median(values: np.ndarray) -> np.ndarray:
    """Median over the last axis of what is finite; NaN where nothing is (without a warning)."""
    return _of_finite(np.nanmedian, values)


def nan_mean(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis of what is finite; NaN where nothing is."""
    return _of_finite(np.nanmean, values)


def nan_std(values: np.ndarray) -> np.ndarray:
    """Population standard deviation over the last axis of what is finite; NaN where nothing is."""
    return _of_finite(np.nanstd, values)


def _of_finite(reduce: Callable[..., np.ndarray], values: np.ndarray) -> np.ndarray:
    finite = np.where(np.isfinite(values), values, np.nan)
    empty = np.asarray(np.isnan(finite).all(axis=-1))
    return np.where(empty, np.nan, reduce(np.where(empty[..., None], 0.0, finite), axis=-1))


def coords_on(assembly: xr.DataArray, *dims: str) -> dict[str, tuple[str, np.ndarray]]:
    """The coordinates that lie on one of these dimensions."""
    return {
        str(n): (str(c.dims[0]), c.values) for n, c in assembly.coords.items() if c.dims and set(c.dims) <= set(dims)
    }


def neuroid_coords(assembly: xr.DataArray) -> dict[str, tuple[str, np.ndarray]]:
    """The coordinates on the neuroid dimension."""
    return coords_on(assembly, NEUROID)


def provenance(metric: str, dtype: np.dtype, **more: Any) -> dict[str, Any]:
    """Where a number comes from: the metric, how it was computed, and with what."""
    from bsjax import __version__

    device = jax.devices()[0]
    return {
        "metric": metric,
        "dtype": dtype.name,
        "device": getattr(device, "device_kind", device.platform),
        "bsjax": __version__,
        "jax": jax.__version__,
        **more,
    }


def _count_undefined(raw: np.ndarray, axis: int) -> int:
    others = tuple(i for i in range(raw.ndim) if i != axis)
    return int((~np.isfinite(raw)).any(axis=others).sum())
