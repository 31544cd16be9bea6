"""From raw values to a score: medians over neuroids, means over splits, and what the error is."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bsjax.labelled.provenance import Provenance
from bsjax.labelled.score import Score

SPLIT, NEUROID = "split", "neuroid"
_BOOTSTRAPS = 200


def over_splits(
    raw: np.ndarray,
    coords: Mapping[str, Any],
    provenance: Provenance,
    *,
    dims: Sequence[str] = (SPLIT, NEUROID),
    formula: str = "r",
) -> Score:
    """Median over neuroids where there are any, then mean over splits; undefined values are left out and counted.

    The error is the standard error over the splits with a value, ``sd / sqrt(splits)`` with the population sd, as in
    Brain-Score; a single split has none. Splits of one data set share stimuli, so that it understates how much the
    score would move with new stimuli.

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
    value = nan_mean(per_split)
    kept = {name: c for name, c in labelled.coords.items() if c.dims and set(c.dims) <= set(left) - {SPLIT}}
    left = [dim for dim in left if dim != SPLIT]
    return Score(
        xr.DataArray(value, dims=left, coords=kept) if left else float(value),
        **(_error_of_each(per_split, left, kept) if left else error_over(per_split, "splits", of_mean=True)),
        raw=labelled,
        formula=formula,
        n_units=raw.shape[dims.index(NEUROID)] if NEUROID in dims else None,
        n_undefined=_count_undefined(raw, dims.index(NEUROID if NEUROID in dims else SPLIT)),
        provenance=provenance,
    )


def over_neuroids(raw: np.ndarray, coords: Mapping[str, Any], provenance: Provenance) -> Score:
    """Median over neuroids of a fixed split, with the standard error of that median by a bootstrap over neuroids."""
    raw = np.asarray(raw, float)
    defined = raw[np.isfinite(raw)]
    draws = np.random.default_rng(0).integers(0, max(len(defined), 1), (_BOOTSTRAPS, len(defined)))
    several = len(defined) > 1
    return Score(
        float(np.median(defined)) if len(defined) else math.nan,
        error=float(np.median(defined[draws], axis=1).std(ddof=1)) if several else None,
        error_kind=f"standard error of the median, {_BOOTSTRAPS} bootstraps over neuroids"
        if several
        else no_error("neuroids", len(defined), len(raw)),
        raw=xr.DataArray(raw, dims=["neuroid"], coords=dict(coords)),
        formula="r",
        n_units=len(raw),
        n_undefined=len(raw) - len(defined),
        provenance=provenance,
    )


def error_over(
    values: np.ndarray, what: str, *, kind: str = "", ddof: int = 0, of_mean: bool = False
) -> dict[str, Any]:
    """The ``error`` and ``error_kind`` of a score that is the mean of values, from how they spread.

    What is undefined is left out, also of their number; of fewer than two values there is no spread.

    Args:
        values: what the score is the mean of.
        what: they are, in the plural.
        kind: of error; by default the standard error, or the population standard deviation.
        ddof: 1 for the spread of what they are drawn from.
        of_mean: the standard error of their mean, in place of their standard deviation.

    Example:
        >>> error_over(np.array([0.25, 0.75, np.nan]), "splits")
        {'error': 0.25, 'error_kind': 'population standard deviation over 2 splits'}
        >>> error_over(np.array([0.25, np.nan]), "splits")
        {'error': None, 'error_kind': 'none: it takes two splits with a value, there is 1 of 2'}
    """
    values = np.ravel(values)
    defined = values[np.isfinite(values)].astype(float)
    n = len(defined)
    if n < 2:
        return {"error": None, "error_kind": no_error(what, n, len(values))}
    kind = kind or ("standard error" if of_mean else "population standard deviation")
    spread = float(defined.std(ddof=ddof))
    return {"error": spread / math.sqrt(n) if of_mean else spread, "error_kind": f"{kind} over {n} {what}"}


def no_error(what: str, defined: int, of: int) -> str:
    """The ``error_kind`` where there are too few values for an error."""
    return f"none: it takes two {what} with a value, there {'is' if defined == 1 else 'are'} {defined} of {of}"


def jackknife_error(without: np.ndarray) -> dict[str, Any]:
    """The ``error`` and ``error_kind`` of a score, from its values without each group of stimuli.

    Source: Quenouille 1956, Biometrika 43.
    """
    groups, defined = len(without), int(np.isfinite(without).sum())
    if groups < 2 or defined < groups:
        return {"error": None, "error_kind": f"none: without one group of stimuli, {defined} of {groups} are defined"}
    return {
        "error": float(np.sqrt((groups - 1) * np.var(without))),
        "error_kind": f"standard error over stimuli, jackknife of {groups} groups",
    }


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


def _error_of_each(per_split: np.ndarray, dims: list[str], coords: Mapping[Any, Any]) -> dict[str, Any]:
    """As ``error_over`` for each value, e.g. of a time bin; NaN for one of fewer than two splits."""
    counts = np.isfinite(per_split).sum(axis=-1)
    if counts.max(initial=0) < 2:
        return {"error": None, "error_kind": no_error("splits", counts.max(initial=0), per_split.shape[-1])}
    error = np.where(counts < 2, np.nan, nan_std(per_split) / np.sqrt(np.maximum(counts, 1)))
    fewest, most = counts.min(), counts.max()
    number = f"{most}" if fewest == most else f"{fewest} to {most}"
    return {
        "error": xr.DataArray(error, dims=dims, coords=coords),
        "error_kind": f"standard error over {number} splits",
    }


def _count_undefined(raw: np.ndarray, axis: int) -> int:
    others = tuple(i for i in range(raw.ndim) if i != axis)
    return int((~np.isfinite(raw)).any(axis=others).sum())
