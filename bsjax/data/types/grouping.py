"""Grouping of an assembly by several coordinates, with Brain-Score's names and rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.data.types.plain import without_levels

_NUMBER = "multi_group"


def walk_coords(assembly: xr.DataArray) -> Iterator[tuple[str, tuple[str, ...], np.ndarray]]:
    """Iterate over the name, dimensions and values of each coordinate.

    Example:
        >>> assembly = xr.DataArray([1.0, 2.0], {"stimulus_id": ("presentation", ["a", "b"])}, ["presentation"])
        >>> [(name, dims, values.tolist()) for name, dims, values in walk_coords(assembly)]
        [('stimulus_id', ('presentation',), ['a', 'b'])]
    """
    for name, coord in assembly.coords.items():
        yield str(name), tuple(map(str, coord.dims)), coord.values


def group_by(assembly: xr.DataArray, names: Sequence[str]) -> Any:
    """Group by equal values of coordinates on one dimension, sorted by the tuples of values.

    Args:
        assembly: any assembly.
        names: names of the coordinates. A single name works like ``assembly.groupby``, with a further group for
            missing values.

    Returns:
        The groups, used like the result of ``groupby`` (``mean``, ``median``, ``std``, ``map``, ``groups``, iteration
        over keys and parts, ...). A result has one row per group on the dimension of the coordinates, and keeps no
        other coordinates of that dimension. Missing values (NaN, None) form a group of their own, the last.

    Raises:
        ValueError: there are no names, a name is not a coordinate, or the coordinates are not on one dimension.

    Example:
        >>> coords = {"object": ("presentation", ["dog", "dog", "car"]), "size": ("presentation", [1, 1, 2])}
        >>> assembly = xr.DataArray([1.0, 3.0, 5.0], coords, ["presentation"])
        >>> mean = group_by(assembly, ["object", "size"]).mean()
        >>> mean["object"].values.tolist(), mean["size"].values.tolist(), mean.values.tolist()
        (['car', 'dog'], [2, 1], [5.0, 2.0])
    """
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        raise ValueError("groups need the name of a coordinate at least")
    dims = {dim for name in names for dim in _coordinate(assembly, name).dims}
    on = {name: _coordinate(assembly, name).dims for name in names}
    if len(dims) != 1 or any(len(each) != 1 for each in on.values()):
        raise ValueError(f"coordinates to group by must lie on the same single dimension, got {on}")
    assembly = without_levels(assembly)
    if len(names) == 1 and not pd.isna(assembly[names[0]].values).any():
        return assembly.groupby(names[0])
    dim = names[0] if len(names) == 1 else next(iter(dims))
    table = pd.DataFrame({name: assembly[name].values for name in names})
    number = table.groupby(names, sort=True, dropna=False).ngroup().to_numpy()
    keys = table.iloc[np.unique(number, return_index=True)[1]]
    grouped = assembly.assign_coords({_NUMBER: (*dims, number)}).groupby(_NUMBER)
    return _Groups(grouped, str(dim), {name: keys[name].to_numpy() for name in names})


def apply_to_cells(assembly: xr.DataArray, groups: Sequence[str], function: Callable[..., Any]) -> np.ndarray:
    """Apply ``function`` to each cell, i.e. to the values at each combination of distinct coordinate values.

    Args:
        assembly: any assembly.
        groups: names of coordinates, one for each dimension.
        function: ``(values, **coords) -> values``. ``values`` is an array with the dimensions of the assembly, or a
            number if there is only one. Each coordinate is passed as its distinct values in the cell, or as a single
            value.

    Returns:
        The results of the function in place of the values, in float64.

    Raises:
        ValueError: a name is not a coordinate, or there is not exactly one for each dimension.
    """
    assembly = without_levels(assembly)
    on = {name: _coordinate(assembly, name).dims for name in groups}
    if sorted(on.values()) != sorted((dim,) for dim in assembly.dims):
        raise ValueError(f"groups need one coordinate for each dimension {list(assembly.dims)}, got {on}")
    by_dim = [next(name for name, dims in on.items() if dims == (dim,)) for dim in assembly.dims]
    places = [_places(assembly[name].values)[0] for name in by_dim]
    coords = [(name, dims, values) for name, dims, values in walk_coords(assembly) if len(dims) <= 1]
    values, result = assembly.values, np.zeros(assembly.shape)
    for rows in itertools.product(*places):
        cell = np.ix_(*rows)
        of_dim = dict(zip(map(str, assembly.dims), rows, strict=True))
        passed = {
            name: _simple(_places(along[of_dim[dims[0]]])[1] if dims else np.asarray(along))
            for name, dims, along in coords
        }
        result[cell] = function(_simple(values[cell]), **passed)
    return result


class _Groups:
    """xarray's groups by a group number, with the original coordinates restored in every result."""

    def __init__(self, grouped: Any, dim: str, keys: dict[str, np.ndarray]) -> None:
        self._grouped, self._dim, self._keys = grouped, dim, keys

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._grouped, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._with_keys(found(*args, **kwargs))

        return call

    def __len__(self) -> int:
        return len(self._grouped)

    @property
    def groups(self) -> dict[Any, Any]:
        """The rows of each group, by its key."""
        return {self._key(number): rows for number, rows in self._grouped.groups.items()}

    def __iter__(self) -> Iterator[tuple[Any, xr.DataArray]]:
        for number, part in self._grouped:
            yield self._key(number), part.drop_vars(_NUMBER)

    def _key(self, number: Any) -> Any:
        key = [values[int(number)] for values in self._keys.values()]
        return tuple(key) if len(key) > 1 else key[0]

    def _with_keys(self, result: Any) -> Any:
        if not isinstance(result, xr.DataArray):
            return result
        if _NUMBER not in result.dims:  # the result has one row per original row, as from ``map``
            return result.drop_vars(_NUMBER, errors="ignore")
        coords = {name: (self._dim, values) for name, values in self._keys.items()}
        return result.rename({_NUMBER: self._dim}).drop_vars(self._dim, errors="ignore").assign_coords(coords)


def _coordinate(assembly: xr.DataArray, name: str) -> xr.DataArray:
    if name not in assembly.coords:
        raise ValueError(
            f"there is no coordinate {name!r}; there are: {', '.join(map(str, assembly.coords)) or 'none'}"
        )
    return assembly.coords[name]


def _places(values: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """Positions of each distinct value, and the sorted distinct values, a missing one last."""
    codes, distinct = pd.factorize(values, sort=True, use_na_sentinel=False)
    return [np.flatnonzero(codes == code) for code in range(len(distinct))], np.asarray(distinct)


def _simple(values: np.ndarray) -> Any:
    return values.item() if values.size == 1 else values
