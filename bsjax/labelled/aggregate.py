"""From raw values to a score: medians over neuroids, means over splits, and what the error is."""

import math
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import xarray as xr

from bsjax.labelled.score import Score

_BOOTSTRAPS = 200


def over_splits(
    raw: np.ndarray,
    coords: Mapping[str, tuple[str, np.ndarray]],
    provenance: dict[str, Any],
    *,
    formula: str = "r",
) -> Score:
    """Median over neuroids where there are any, then mean over splits; undefined values are left out and counted.

    The error is the standard error over splits, ``sd / sqrt(splits)`` with the population sd, as in Brain-Score. Splits
    of one data set share stimuli, so that it understates how much the score would move with new stimuli.

    Args:
        raw: ``(splits, neuroids)`` or ``(splits,)``.
        coords: coordinates of the neuroids.
    """
    raw = np.asarray(raw, float)
    per_split = nan_median(raw) if raw.ndim == 2 else raw
    defined = per_split[np.isfinite(per_split)]
    splits = raw.shape[0]
    return Score(
        float(defined.mean()) if len(defined) else math.nan,
        error=float(defined.std() / math.sqrt(splits)) if len(defined) else math.nan,
        error_kind=f"standard error over {splits} splits",
        raw=xr.DataArray(raw, dims=["split", "neuroid"][: raw.ndim], coords={"split": np.arange(splits), **coords}),
        formula=formula,
        n_units=raw.shape[1] if raw.ndim == 2 else None,
        n_undefined=_count_undefined(raw) if raw.ndim == 2 else 0,
        provenance=provenance,
    )


def over_neuroids(raw: np.ndarray, coords: Mapping[str, tuple[str, np.ndarray]], provenance: dict[str, Any]) -> Score:
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
    """Median over the last axis of what is defined; NaN where nothing is (without a warning)."""
    empty = np.atleast_1d(~np.isfinite(values).any(axis=-1))
    return np.where(empty, np.nan, np.nanmedian(np.where(empty[..., None], 0.0, values), axis=-1))


def neuroid_coords(assembly: xr.DataArray) -> dict[str, tuple[str, np.ndarray]]:
    """The coordinates on the neuroid dimension."""
    return {str(name): ("neuroid", c.values) for name, c in assembly.coords.items() if c.dims == ("neuroid",)}


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


def _count_undefined(raw: np.ndarray) -> int:
    return int((~np.isfinite(raw)).any(axis=0).sum())
