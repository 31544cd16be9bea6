"""Selection of the rows of an assembly by the coordinates of another."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.compat.assemblies import level_names


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
