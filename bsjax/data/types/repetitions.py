"""Averaging over the repetitions of stimuli."""

from typing import Any, TypeVar

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.data.types.array_blocks import blocks
from bsjax.data.types.plain import without_levels

Assembly = TypeVar("Assembly", bound=xr.DataArray)


def average_repetition(assembly: Assembly) -> Assembly:
    """Average over repetitions: one row per distinct combination of the other presentation coordinates.

    A lazily read assembly (``read_assembly(..., chunks=...)``) is processed block by block. Memory holds the means, one
    block, and sums that take at most a quarter of the whole.

    Missing values (NaN) are left out of the mean; a cell without any value is NaN. Missing coordinate values (NaN,
    None) form a combination of their own. Sums run in float64; floating-point values keep their dtype, and integers
    become float64.

    Args:
        assembly: any assembly with a dimension ``presentation``; further dimensions may be in any order.

    Returns:
        An assembly of the same class, name, attributes and order of dimensions, without the coordinate ``repetition``.
        Rows are sorted by the tuple of presentation coordinates, in the coordinates' order, as in Brain-Score. A
        coordinate of mixed types is sorted as strings; missing values come last. Stacked trials (an xarray MultiIndex)
        keep the order of the stacked dimensions, and get plain coordinates.

    Raises:
        ValueError: the dimension ``presentation`` is missing, it has no coordinate that distinguishes stimuli, a
            coordinate is on it and another dimension, or values are not numbers.

    Example:
        >>> from bsjax.data import NeuroidAssembly
        >>> recording = NeuroidAssembly([[3.], [1.], [5.]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["b", "a", "b"]), "repetition": ("presentation", [0, 0, 1])})
        >>> mean = average_repetition(recording)
        >>> mean["stimulus_id"].values.tolist(), mean.values.tolist()
        (['a', 'b'], [[1.0], [4.0]])
    """
    levels = assembly.indexes.get("presentation")
    assembly = without_levels(assembly)
    _check(assembly)
    on_rows = [
        _codes_of_level(levels, name) if isinstance(levels, pd.MultiIndex) and name in levels.names else coord.values
        for name, coord in assembly.coords.items()
        if coord.dims == ("presentation",) and name != "repetition"
    ]
    order, starts = _groups(on_rows)
    axis = assembly.dims.index("presentation")
    group = np.empty(len(order), dtype=np.int64)  # the result row of each row
    group[order] = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(order)))
    means = _means(assembly.variable, group, len(starts), axis)
    # Select coordinates only: the values are not needed, and may not be in memory.
    coords = assembly.coords.to_dataset().isel(presentation=order[starts]).drop_vars("repetition", errors="ignore")
    averaged = xr.DataArray(means, coords.coords, assembly.dims, assembly.name, assembly.attrs)
    return type(assembly)(averaged)


def _codes_of_level(levels: pd.MultiIndex, name: Any) -> np.ndarray:
    """A level's values as numbers that sort in the level's own order, with NaN for missing ones."""
    codes = np.asarray(levels.codes[levels.names.index(name)], float)
    return np.where(codes < 0, np.nan, codes)


def _check(assembly: xr.DataArray) -> None:
    if "presentation" not in assembly.dims:
        raise ValueError(f"average_repetition needs a dimension 'presentation', got {list(assembly.dims)}")
    if assembly.dtype.kind not in "biuf":
        raise ValueError(f"average_repetition needs numbers, got values of dtype {assembly.dtype}")
    on_rows = {name: coord.dims for name, coord in assembly.coords.items() if "presentation" in coord.dims}
    wide = [str(name) for name, dims in on_rows.items() if len(dims) > 1]
    if wide:
        raise ValueError(
            f"average_repetition: {', '.join(wide)} vary over presentation and another dimension, and have "
            f"no value after averaging; drop them first: assembly.drop_vars({wide})"
        )
    if not set(on_rows) - {"repetition"}:
        raise ValueError(
            "average_repetition needs a coordinate on 'presentation' that tells the stimuli apart, such as "
            f"'stimulus_id'; coordinates there: {', '.join(map(str, on_rows)) or 'none'}"
        )


def _groups(columns: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The stable order that sorts rows by their tuples, and the start of each distinct tuple in it."""
    key = np.zeros(len(columns[0]), dtype=np.int64)
    for column in columns:
        codes, n = _sorted_codes(column)
        # Compression after each column keeps the key below rows x values, so that it cannot overflow.
        key = np.unique(key * n + codes, return_inverse=True)[1].reshape(-1)
    order = np.argsort(key, kind="stable")
    return order, np.flatnonzero(np.diff(key[order], prepend=-1))


def _sorted_codes(column: np.ndarray) -> tuple[np.ndarray, int]:
    """Rank of each value among the distinct ones (missing last), and the number of distinct values."""
    values = column.astype(object) if column.dtype.kind == "U" else column
    codes, distinct = pd.factorize(values, use_na_sentinel=True)
    rank = np.empty(len(distinct) + 1, dtype=np.int64)
    rank[_sorting_order(list(distinct))] = np.arange(len(distinct))
    rank[-1] = len(distinct)  # factorize codes missing values as -1, which selects this last entry
    return rank[codes], len(distinct) + 1


def _sorting_order(values: list[Any]) -> list[int]:
    try:
        return sorted(range(len(values)), key=values.__getitem__)
    except TypeError:  # types that cannot be compared
        return sorted(range(len(values)), key=lambda position: str(values[position]))


def _means(variable: xr.Variable, group: np.ndarray, n_groups: int, axis: int) -> np.ndarray:
    """NaN-skipping mean over the rows of each group along ``axis``, computed block by block."""
    dtype = variable.dtype if variable.dtype.kind == "f" else np.dtype(np.float64)
    shape = list(variable.shape)
    shape[axis] = n_groups
    means = np.empty(shape, dtype)
    for columns, rows in blocks(variable, axis, n_groups):
        sums = np.zeros(means[columns].shape)
        counts: Any = np.zeros([n_groups if dim == axis else 1 for dim in range(variable.ndim)], dtype=np.int32)
        for part in rows:
            inside = tuple(part if dim == axis else each for dim, each in enumerate(columns))
            counts = _add(np.asarray(variable[inside].values), group[part], axis, sums, counts)
        with np.errstate(invalid="ignore", over="ignore"):  # 0 / 0 gives the NaN of a cell without any value
            np.divide(sums, counts, out=sums)
            means[columns] = sums
    return means


def _add(values: np.ndarray, group: np.ndarray, axis: int, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Add rows to the sums of their groups, in place, and return the counts, broadcast only if necessary."""
    if (group[1:] < group[:-1]).any():
        order = np.argsort(group, kind="stable")
        values, group = np.take(values, order, axis=axis), group[order]
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    into = tuple(group[starts] if dim == axis else slice(None) for dim in range(values.ndim))
    missing = np.isnan(values) if values.dtype.kind == "f" else None
    if missing is not None and missing.any():
        values = np.where(missing, 0, values)
        if counts.shape != sums.shape:
            counts = np.broadcast_to(counts, sums.shape).copy()
        counts[into] += np.add.reduceat(~missing, starts, axis=axis, dtype=np.int32)
    else:
        lengths = np.diff(starts, append=len(group))
        counts[into] += lengths.reshape([-1 if dim == axis else 1 for dim in range(values.ndim)]).astype(np.int32)
    with np.errstate(over="ignore"):
        sums[into] += np.add.reduceat(values, starts, axis=axis, dtype=np.float64)
    return counts
