"""Coordinates of assemblies: renaming, filtering and merging, and selection of rows by another assembly."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.compat.assemblies import DataAssembly, level_names, walk_coords

Coords = dict[str, tuple[tuple[str, ...], Any]]


def unique_ordered(a: np.ndarray) -> np.ndarray:
    """Distinct values in the order of their first occurrence.

    Example:
        >>> unique_ordered(np.array([3, 1, 3, 2])).tolist()
        [3, 1, 2]
    """
    return a[np.sort(np.unique(a, return_index=True)[1])]


def merge_dicts(dicts: Iterable[Mapping[Any, Any]]) -> dict[Any, Any]:
    """Merge dicts; later ones take precedence."""
    return {key: value for each in dicts for key, value in each.items()}


def get_modified_coords(assembly: xr.DataArray, modifier: Callable[..., Any] | None = None) -> Coords:
    """Apply ``modifier(name, dims, values) -> (name, (dims, values))`` to all coordinates; None drops one."""
    made = [
        (name, (dims, values)) if modifier is None else modifier(name, dims, values)
        for name, dims, values in walk_coords(assembly)
    ]
    return dict(each for each in made if each is not None)


def filter_coords(coords: Mapping[Any, Any], ignore_dims: Collection[str]) -> dict[Any, Any]:
    """The coordinates that are neither on ignored dimensions nor have the name of one.

    Raises:
        ValueError: a coordinate is on an ignored dimension and on another.
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
    """Append ``-suffix`` to the given names of coordinates and dimensions."""

    def renamed(name: Any) -> str:
        return f"{name}-{suffix}" if name in rename_coords_list else str(name)

    return {renamed(name): (tuple(map(renamed, coord.dims)), coord.values) for name, coord in coords.items()}


def collect_coords(
    assembly: xr.DataArray, ignore_dims: Collection[str], rename_coords_list: Collection[str], kind: str
) -> Coords:
    """Filter coordinates by :func:`filter_coords` and rename them by :func:`rename_coords`."""
    return rename_coords(filter_coords(assembly.coords, ignore_dims), rename_coords_list, kind)


def filter_dims(dims: Iterable[str], ignore_dims: Collection[str]) -> list[str]:
    """The dimensions without the ignored ones."""
    return [dim for dim in dims if dim not in ignore_dims]


def rename_dims(dims: Iterable[str], rename_dims_list: Collection[str], rename_suffix: str) -> list[str]:
    """Append ``-suffix`` to the given names of dimensions."""
    return [f"{dim}-{rename_suffix}" if dim in rename_dims_list else dim for dim in dims]


def collect_dim_shapes(
    assembly: xr.DataArray, rename_dims_list: Collection[str], ignore_dims: Collection[str], kind: str
) -> dict[str, tuple[int, ...]]:
    """Dimension -> its size, without the ignored dimensions, and with some renamed."""
    dims = filter_dims(map(str, assembly.dims), ignore_dims)
    return {
        new: (assembly.sizes[dim],) for new, dim in zip(rename_dims(dims, rename_dims_list, kind), dims, strict=True)
    }


def expand(assembly: xr.DataArray, target_dims: Collection[str]) -> DataAssembly:
    """Turn scalar coordinates, also ``x_source`` and ``x_target``, into dimensions of length one.

    Dimensions are in the order of their coordinates, those without one first.
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
    """Select the rows of one assembly whose coordinate values occur in another.

    Args:
        source_assembly: the assembly to select from.
        target_assembly: the assembly with the wanted values.
        subset_dims: dimensions, of which all coordinates are compared, or coordinates; by default all dimensions.
        dims_must_match: whether to raise an error if the length of the selection differs from the target's.
        repeat: whether a row is repeated as often as it occurs in the target.

    Raises:
        ValueError: there is nothing to compare, or the length differs.
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
    """Rows of a source for the sorted values of a target, repeated as often as they occur in the target.

    Example:
        >>> index_efficient(np.array(["b", "a", "c"]), np.array(["a", "c", "a"]))
        [1, 1, 2]
    """
    by_value = pd.Series(range(len(source_values))).groupby(pd.Index(source_values)).indices
    return [int(row) for value in np.sort(target_values) if value in by_value for row in by_value[value]]


def _stripped(name: str) -> str:
    return name.removesuffix("_source").removesuffix("_target")
