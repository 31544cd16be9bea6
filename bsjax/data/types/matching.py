"""Arithmetic of assemblies by identifier, never by position."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.core.messages import some
from bsjax.data.types.assembly_checks import IDENTIFIERS
from bsjax.data.types.plain import without_levels


def in_order_of(mine: xr.DataArray, other: Any) -> Any:
    """Another array with its presentations and neuroids in the order of mine; what has no identifiers as it is.

    Repeated presentations of a stimulus are told apart by ``repetition``.

    Raises:
        ValueError: one of them has rows that the other has not, or they repeat.

    Example:
        >>> one, other = (xr.DataArray(list(v), {"stimulus_id": ("presentation", list(v))}, ["presentation"])
        ...               for v in ("ab", "ba"))
        >>> in_order_of(one, other).values.tolist()
        ['a', 'b']
    """
    if not isinstance(other, xr.DataArray):
        return other
    other = without_levels(other)  # xarray itself matches indexes, and leaves out what one of them has not
    for dim, name in IDENTIFIERS.items():
        if not all(name in one.coords and one.coords[name].dims == (dim,) for one in (mine, other)):
            continue
        ours, theirs = (pd.Index(one.coords[name].values) for one in (mine, other))
        if ours.equals(theirs):
            continue
        told_apart = not ours.is_unique and "repetition" in mine.coords and "repetition" in other.coords
        other = reordered(other, mine, dim, [name, "repetition"] if told_apart else [name])
    return other


def reordered(other: xr.DataArray, mine: xr.DataArray, dim: str, names: Sequence[str]) -> xr.DataArray:
    """Another array with its rows in the order of mine, by the coordinates ``names`` of ``dim``, which both have.

    Raises:
        ValueError: one of them has rows that the other has not, or they repeat.
    """
    here, there = (
        pd.MultiIndex.from_frame(pd.DataFrame({name: one.coords[name].values for name in names}))
        for one in (mine, other)
    )
    rows = there.get_indexer(here) if there.is_unique and here.is_unique else np.array([-1])
    if len(here) != len(there) or (rows < 0).any():
        raise ValueError(
            f"arithmetic of two arrays whose {dim!r} differ in {some(names)}: {len(here)} and {len(there)} rows, which "
            "are not the same, or repeat; select those that both have before, and average repetitions"
        )
    return other.isel({dim: rows})
