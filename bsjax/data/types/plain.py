"""Conversion of pandas extension arrays and xarray MultiIndexes to plain arrays and coordinates."""

from typing import Any, TypeVar

import numpy as np
import pandas as pd
import xarray as xr
from xarray.core.indexes import PandasMultiIndex

Array = TypeVar("Array", bound=xr.DataArray)


def plain_values(values: Any) -> Any:
    """Convert pandas text, nullable numbers and categories to NumPy arrays, with NaN for missing; others are unchanged.

    Example:
        >>> plain_values(pd.array([1, None], dtype="Int64")), plain_values([1, 2])
        (array([ 1., nan]), [1, 2])
    """
    if not pd.api.types.is_extension_array_dtype(getattr(values, "dtype", None)):
        return values
    column = pd.Series(values)
    options: dict[str, Any] = {"na_value": np.nan} if column.hasnans else {}
    if column.hasnans and pd.api.types.is_integer_dtype(column.dtype):
        numbers = [int(number) for number in column.dropna()]
        if any(int(float(number)) != number for number in numbers):  # would lose digits as floats with NaN
            options["dtype"] = object
    return column.to_numpy(**options)


def without_levels(array: Array) -> Array:
    """Replace a MultiIndex, as made by ``stack``, by plain coordinates.

    Example:
        >>> cube = xr.DataArray([[1, 2]], {"stimulus_id": ["a"], "repetition": [0, 1]}, ["stimulus_id", "repetition"])
        >>> stacked = cube.stack(presentation=["stimulus_id", "repetition"])
        >>> list(without_levels(stacked).coords), without_levels(stacked)["stimulus_id"].dims
        (['stimulus_id', 'repetition'], ('presentation',))
    """
    stacked = [
        dim for dim, index in array.xindexes.items() if dim in array.dims and isinstance(index, PandasMultiIndex)
    ]
    # Call xarray's own method, because classes for plugins build an index from coordinates on request.
    plain: Any = xr.DataArray.reset_index(array, stacked) if stacked else array
    return plain
