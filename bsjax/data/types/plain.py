"""Plain arrays and plain coordinates of what pandas and xarray keep in arrays and indexes of their own."""

from typing import Any, TypeVar

import numpy as np
import pandas as pd
import xarray as xr
from xarray.core.indexes import PandasMultiIndex

Array = TypeVar("Array", bound=xr.DataArray)


def plain_values(values: Any) -> Any:
    """Text, nullable numbers and categories of pandas as NumPy arrays, NaN for what is missing; all else as it is.

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
        if any(int(float(number)) != number for number in numbers):  # NaN would make floats of them
            options["dtype"] = object
    return column.to_numpy(**options)


def without_levels(array: Array) -> Array:
    """The same array, with plain coordinates in the place of an index of several (a MultiIndex, as of ``stack``).

    Example:
        >>> cube = xr.DataArray([[1, 2]], {"stimulus_id": ["a"], "repetition": [0, 1]}, ["stimulus_id", "repetition"])
        >>> stacked = cube.stack(presentation=["stimulus_id", "repetition"])
        >>> list(without_levels(stacked).coords), without_levels(stacked)["stimulus_id"].dims
        (['stimulus_id', 'repetition'], ('presentation',))
    """
    stacked = [
        dim for dim, index in array.xindexes.items() if dim in array.dims and isinstance(index, PandasMultiIndex)
    ]
    # By xarray's own method: classes for plugins make an index of their coordinates whenever they are asked for one.
    plain: Any = xr.DataArray.reset_index(array, stacked) if stacked else array
    return plain
