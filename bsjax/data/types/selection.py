"""Selection of an assembly's rows by the values of its coordinates."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.messages import some
from bsjax.core.registry import UnknownIdentifier, hint


def position_indexers(
    assembly: xr.DataArray, indexers: Mapping[Any, Any]
) -> tuple[dict[Any, np.ndarray], dict[Any, Any]]:
    """Split the arguments of ``sel`` into row positions and labels for xarray's own ``sel``.

    Args:
        assembly: the array to select from.
        indexers: dimension or coordinate -> value, list, slice, or boolean mask.

    Returns:
        dimension -> ascending integer positions (from masks and coordinates; several on one dimension are
        intersected), and dimension -> label.

    Raises:
        KeyError: a name is neither a dimension nor a coordinate, or no row has the value.
        ValueError: a mask does not match its dimension, or a coordinate is not one-dimensional.

    Example:
        >>> region = ("neuroid", ["V4", "IT", "V4"])
        >>> array = xr.DataArray([1, 2, 3], coords={"region": region}, dims=["neuroid"])
        >>> position_indexers(array, {"region": "V4"})
        ({'neuroid': array([0, 2])}, {})
    """
    masks: dict[Any, np.ndarray] = {}
    labels: dict[Any, Any] = {}
    for name, wanted in indexers.items():
        if name in assembly.dims:
            values = np.asarray(wanted) if isinstance(wanted, (list, np.ndarray, xr.DataArray, pd.Series)) else None
            if values is None or values.dtype != bool:
                labels[name] = wanted
                continue
            dim, mask = name, _mask_on_dimension(assembly, name, wanted, values)
        elif name in assembly.coords:
            # xarray's rules apply to coordinates that are indexes, except for the levels of a MultiIndex.
            if name in assembly.indexes and not isinstance(assembly.indexes[name], pd.MultiIndex):
                labels[name] = wanted
                continue
            coord = assembly.coords[name]
            if coord.ndim != 1:
                kind = f"has the dimensions {list(coord.dims)}" if coord.ndim else f"is one value, {coord.item()!r}"
                raise ValueError(
                    f"cannot select by {name!r}, which {kind}: use a boolean mask over a dimension instead"
                )
            dim, mask = coord.dims[0], _mask_on_coordinate(coord, wanted)
        else:
            raise _unknown_name(assembly, name)
        masks[dim] = masks[dim] & mask if dim in masks else mask
    return {dim: np.flatnonzero(mask) for dim, mask in masks.items()}, labels


def _unknown_name(assembly: xr.DataArray, name: Any) -> UnknownIdentifier:
    on: dict[str, list[str]] = {str(dim): [] for dim in assembly.dims}
    for key, coord in assembly.coords.items():
        on.setdefault(" x ".join(map(str, coord.dims)) or "one value", []).append(str(key))
    listing = "; ".join(f"{dims}: {', '.join(names) or 'none'}" for dims, names in on.items())
    near = hint(name, [*assembly.dims, *assembly.coords])
    return UnknownIdentifier(f"no dimension or coordinate {name!r}{near}; coordinates present: {listing}")


def _mask_on_dimension(assembly: xr.DataArray, dim: Any, wanted: Any, values: np.ndarray) -> np.ndarray:
    on = wanted.dims if isinstance(wanted, xr.DataArray) else (dim,)
    if on != (dim,) or values.shape != (assembly.sizes[dim],):
        raise ValueError(
            f"the mask for {dim!r} must be one-dimensional along it with {assembly.sizes[dim]} values, "
            f"got dims {list(on)} and shape {values.shape}"
        )
    return values


def _mask_on_coordinate(coord: xr.DataArray, wanted: Any) -> np.ndarray:
    values = coord.values
    if isinstance(wanted, slice):
        return _mask_between(coord, wanted)
    if isinstance(wanted, (np.ndarray, pd.Index, pd.Series, xr.DataArray)):
        choices = list(np.asarray(wanted).ravel())
    elif isinstance(wanted, (list, tuple, set, frozenset)):
        choices = list(wanted)
    else:
        choices = [wanted]
    # Compare as objects, so that 1 never matches "1". Times are converted.
    kind = None if values.dtype.kind in "mM" else object
    labels, asked = pd.Index(values, dtype=kind), pd.Index(choices, dtype=kind or values.dtype)
    absent = asked[~asked.isin(labels)]
    if len(absent):
        lacking = (value.item() if isinstance(value, np.generic) else value for value in absent[:10])
        there = some(labels.unique(), 10)
        raise UnknownIdentifier(f"no row has {coord.name} {', '.join(map(repr, lacking))}; values there: {there}")
    return np.asarray(labels.isin(asked))


def _mask_between(coord: xr.DataArray, wanted: slice) -> np.ndarray:
    values = coord.values
    if wanted.step is not None:
        raise ValueError(f"a slice of values of {coord.name!r} takes no step, got {wanted}")
    mask = np.ones(values.shape, dtype=bool)
    try:
        if wanted.start is not None:
            mask &= values >= wanted.start
        if wanted.stop is not None:
            mask &= values <= wanted.stop
    except TypeError as error:
        raise ValueError(f"cannot compare the values of {coord.name!r} (dtype {values.dtype}) with {wanted}") from error
    return mask
