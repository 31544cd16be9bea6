"""Coordinates of assemblies, taken apart and put together; rows of one assembly that another has."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.compat.assemblies import DataAssembly, level_names, walk_coords

Coords = dict[str, tuple[tuple[str, ...], Any]]


def unique_ordered(a: np.ndarray) -> np.ndarray:
    """Distinct values in the order in which they come first.

    Example:
        >>> unique_ordered(np.array([3, 1, 3, 2])).tolist()
        [3, 1, 2]
    """
    return a[np.sort(np.unique(a, return_index=True)[1])]


def merge_dicts(dicts: Iterable[Mapping[Any, Any]]) -> dict[Any, Any]:
    """Several dicts as one; later ones count."""
    return {key: value for each in dicts for key, value in each.items()}


def get_modified_coords(assembly: xr.DataArray, modifier: Callable[..., Any] | None = None) -> Coords:
    """Coordinates as ``modifier(name, dims, values)`` gives them, ``(name, (dims, values))``; None leaves one out."""
    made = [
        (name, (dims, values)) if modifier is None else modifier(name, dims, values)
        for name, dims, values in walk_coords(assembly)
    ]
    return dict(each for each in made if each is not None)


def filter_coords(coords: Mapping[Any, Any], ignore_dims: Collection[str]) -> dict[Any, Any]:
    """The coordinates that neither lie on dimensions to ignore nor are named as them.

    Raises:
        ValueError: one lies on a dimension to ignore and on another.
    """
    kept = {}
    for name, coord in coords.items():
        ignored = [dim in ignore_dims for dim in coord.dims]
        if any(ignored) and not all(ignored):
            raise ValueError(f"coordinate {name!r} lies on {coord.dims}, of which only some are to be ignored")
        if name not in ignore_dims and not any(ignored):
            kept[name] = coord
    return kept


def rename_coords(coords: Mapping[Any, Any], rename_coords_list: Collection[str], suffix: str) -> Coords:
    """Coordinates, and the dimensions of these names, with ``-suffix`` after some names."""

    def renamed(name: Any) -> str:
        return f"{name}-{suffix}" if name in rename_coords_list else str(name)

    return {renamed(name): (tuple(map(renamed, coord.dims)), coord.values) for name, coord in coords.items()}


def collect_coords(
    assembly: xr.DataArray, ignore_dims: Collection[str], rename_coords_list: Collection[str], kind: str
) -> Coords:
    """Coordinates without those of some dimensions, some of them renamed."""
    return rename_coords(filter_coords(assembly.coords, ignore_dims), rename_coords_list, kind)


def filter_dims(dims: Iterable[str], ignore_dims: Collection[str]) -> list[str]:
    """The dimensions that are not to be ignored."""
    return [dim for dim in dims if dim not in ignore_dims]


def rename_dims(dims: Iterable[str], rename_dims_list: Collection[str], rename_suffix: str) -> list[str]:
    """Dimensions, with ``-suffix`` after some names."""
    return [f"{dim}-{rename_suffix}" if dim in rename_dims_list else dim for dim in dims]


def collect_dim_shapes(
    assembly: xr.DataArray, rename_dims_list: Collection[str], ignore_dims: Collection[str], kind: str
) -> dict[str, tuple[int, ...]]:
    """Dimension -> its size, without some, and with some renamed."""
    dims = filter_dims(map(str, assembly.dims), ignore_dims)
    return {
        new: (assembly.sizes[dim],) for new, dim in zip(rename_dims(dims, rename_dims_list, kind), dims, strict=True)
    }


def expand(assembly: xr.DataArray, target_dims: Collection[str]) -> DataAssembly:
    """An assembly with dimensions of length one that it has as single coordinates, ``x_source`` and ``x_target`` too.

    Dimensions come in the order of their coordinates, those without one first.
    """
    names = [str(name) for name in assembly.coords if _stripped(str(name)) in target_dims]
    single = {name: np.atleast_1d(assembly.coords[name].values) for name in names if not assembly.coords[name].dims}
    dims = [dim for dim in assembly.dims if dim not in names]
    expanded = DataAssembly(assembly).drop_vars(list(single)).expand_dims(single)
    return expanded.transpose(*dims, *(name for name in names if name in expanded.dims)).drop_attrs()


def subset(
    source_assembly: xr.DataArray,
    target_assembly: xr.DataArray,
    subset_dims: Sequence[str] | None = None,
    dims_must_match: bool = True,
    repeat: bool = False,
) -> Any:
    """The rows of one assembly whose coordinates another has.

    Args:
        source_assembly: to select from.
        target_assembly: whose values count.
        subset_dims: dimensions, all of whose coordinates are compared, or coordinates; all dimensions if not given.
        dims_must_match: whether to refuse a selection of another length than the target's.
        repeat: whether a row is given as often as the target has it.

    Raises:
        ValueError: nothing to compare by, or another length.
    """
    for name in subset_dims or list(map(str, target_assembly.dims)):
        levels = level_names(target_assembly, name) if name in target_assembly.dims else [name]
        shared = [level for level in levels or [name] if level in source_assembly.coords]
        if not shared:
            raise ValueError(f"both assemblies must have {name!r}, or a coordinate of it, to select by")
        for level in shared:
            (dim,) = source_assembly.coords[level].dims
            wanted, there = target_assembly.coords[level].values, source_assembly.coords[level].values
            rows = index_efficient(there, wanted) if repeat else np.flatnonzero(pd.Index(there).isin(wanted))
            source_assembly = source_assembly.isel({dim: rows})
        if dims_must_match and target_assembly[name].size != source_assembly[name].size:
            raise ValueError(
                f"{source_assembly[name].size} rows have the values of {name!r} of the {target_assembly[name].size} "
                "that are wanted: each must be there once"
            )
    return source_assembly


def index_efficient(source_values: np.ndarray, target_values: np.ndarray) -> list[int]:
    """Rows of a source for the values of a target, in the order of the values, as often as the target has them.

    Example:
        >>> index_efficient(np.array(["b", "a", "c"]), np.array(["a", "c", "a"]))
        [1, 1, 2]
    """
    by_value = pd.Series(range(len(source_values))).groupby(pd.Index(source_values)).indices
    return [int(row) for value in np.sort(target_values) if value in by_value for row in by_value[value]]


def _stripped(name: str) -> str:
    return name.removesuffix("_source").removesuffix("_target")
