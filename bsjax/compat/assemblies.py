"""Assemblies for code written for Brain-Score: bsjax's own, with the behaviour of Brain-Score's MultiIndex.

In Brain-Score, the coordinates of a dimension are the levels of one MultiIndex. Here they are plain coordinates, and an
index is built from them on request.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
import xarray as xr

from bsjax import data
from bsjax.core.messages import some
from bsjax.data.types.assembly_base import reordered


class Levels(xr.DataArray):
    """A DataArray that offers an index on each dimension, with its coordinates as levels.

    Arithmetic matches two arrays by these levels. Results of arithmetic and of reductions have no attributes. Both are
    as in the xarray version that Brain-Score requires.
    """

    __slots__ = ()

    @property
    def indexes(self) -> Any:
        """Dimension -> the index formed by its coordinates."""
        return {dim: self.get_index(dim) for dim in self.dims if level_names(self, dim)}

    def get_index(self, key: Hashable) -> pd.Index:
        """The index of a dimension; a range if it has no coordinates."""
        names = level_names(self, key)
        if not names:
            return pd.RangeIndex(self.sizes[key], name=key)
        if len(names) == 1:
            return pd.Index(self.coords[names[0]].values, name=names[0])
        return pd.MultiIndex.from_arrays([self.coords[name].values for name in names], names=names)

    def reset_index(self, dims_or_levels: Any, drop: bool = False) -> Self:
        """The same array, whose coordinates are already plain; without them if ``drop``."""
        names = [dims_or_levels] if isinstance(dims_or_levels, str) else list(dims_or_levels)
        gone = [level for name in names for level in (level_names(self, name) if name in self.dims else [name])]
        return self.drop_vars(gone) if drop else self.copy(deep=False)

    def set_index(self, indexes: Any = None, append: bool = False, **indexes_kwargs: Any) -> Self:
        """The same array; a coordinate named like a dimension is dropped unless it is a level.

        Raises:
            ValueError: a level is not a coordinate.
        """
        found = self.copy(deep=False)
        for dim, names in {**(indexes or {}), **indexes_kwargs}.items():
            levels = [names] if isinstance(names, str) else list(names)
            missing = [level for level in levels if level not in self.coords]
            if missing:
                raise ValueError(f"no coordinate {some(missing)} to index by; there are: {some(self.coords, 20)}")
            if dim in found.coords and dim not in levels and not append:
                found = found.drop_vars(dim)
        return found

    def stack(
        self, dim: Any = None, create_index: bool | None = True, index_cls: Any = None, **dim_kwargs: Any
    ) -> Self:
        """As in xarray; the new dimension has the coordinates of the stacked dimensions."""
        found = self
        for new, parts in {**(dim or {}), **dim_kwargs}.items():
            found = _stacked(found, new, list(parts))
        return found

    def sel(
        self,
        indexers: Mapping[Any, Any] | None = None,
        method: str | None = None,
        tolerance: Any = None,
        drop: bool = False,
        **indexers_kwargs: Any,
    ) -> Self:
        """As bsjax's assemblies; a dimension also takes tuples of level values, or a mapping of level to value.

        Selecting a value of one of a dimension's two levels renames the dimension to the other level, as in
        Brain-Score.
        """
        wanted: dict[Any, Any] = {}
        rows: dict[Any, Any] = {}
        for name, value in {**(indexers or {}), **indexers_kwargs}.items():
            levels = level_names(self, name) if name in self.dims and name not in self._coords else []
            if isinstance(value, Mapping):
                wanted |= value
            elif isinstance(value, tuple) and len(levels) == len(value) > 1:
                (rows[name],) = _rows_of(self, name, levels, [value])
            elif isinstance(value, list) and value and all(isinstance(each, tuple) for each in value):
                rows[name] = _rows_of(self, name, levels, value)
            else:
                wanted[name] = value
        selected = self.isel(rows, drop=drop) if rows else self
        found = super(Levels, selected).sel(wanted, method=method, tolerance=tolerance, drop=drop)
        return _named_by_the_level_left(found, self, wanted)

    def multisel(self, method: str | None = None, tolerance: Any = None, drop: bool = False, **indexers: Any) -> Self:
        """Select values of coordinates and keep all dimensions; ``sel`` would drop those with a single row.

        Args:
            method, tolerance, drop: must be None and False.
            **indexers: coordinate -> its value, or several values.

        Raises:
            KeyError: no row matches, or the coordinate does not exist.
            ValueError: ``method``, ``tolerance`` or ``drop`` is given.
        """
        if method is not None or tolerance is not None or drop:
            raise ValueError("multisel selects exact values and drops nothing: use sel for method, tolerance and drop")
        found = self
        for name, value in indexers.items():
            (dim,) = found.coords[name].dims
            found = found.isel({dim: np.flatnonzero(np.isin(found.coords[name].values, value))})
        if 0 in found.shape:
            raise KeyError(
                f"the assembly has nothing with {', '.join(f'{name}={value}' for name, value in indexers.items())}"
            )
        return found

    def reduce(self, func: Any, dim: Any = None, *, keep_attrs: bool | None = None, **kwargs: Any) -> Self:
        """As in xarray; attributes are kept only if requested."""
        return super().reduce(func, dim, keep_attrs=bool(keep_attrs), **kwargs)

    # xarray calls this to look up a coordinate, as an item, an attribute or in ``coords``.
    def _getitem_coord(self, key: Any) -> Any:
        if key in self.dims and key not in self._coords and level_names(self, key):
            return indexed(self, key).coords[key]
        return super()._getitem_coord(key)

    def _binary_op(self, other: Any, f: Any, reflexive: bool = False) -> Any:
        result = super()._binary_op(_matched(other, self), f, reflexive)
        if isinstance(result, xr.DataArray):
            result.attrs = {}
        return result


def for_bsjax(assembly: Any) -> Any:
    """A plugin's assembly in bsjax's own class, with bsjax's rules of selection; other objects are unchanged."""
    return _in_class(assembly, _OWN_CLASSES)


def _lies_elsewhere(coord: Any, dims: set[Any]) -> bool:
    return isinstance(coord, xr.DataArray) and not set(coord.dims) <= dims


def level_names(array: xr.DataArray, dim: Hashable) -> list[str]:
    """The coordinates on one dimension only, which are the levels of its index in Brain-Score."""
    return [str(name) for name, coord in array.coords.items() if coord.dims == (dim,)]


def indexed(array: xr.DataArray, *dims: Hashable) -> xr.DataArray:
    """A plain DataArray with an index of the coordinates of the given dimensions, by default all."""
    plain = xr.DataArray(array.variable, {name: coord.variable for name, coord in array.coords.items()})
    for dim in [str(dim) for dim in plain.dims if dim in plain.coords and len(level_names(plain, dim)) > 1]:
        plain = plain.assign_coords({f"{dim}_level_0": (dim, plain[dim].values)}).drop_vars(dim)
    levels = {dim: level_names(plain, dim) for dim in dims or plain.dims}
    return plain.set_index({dim: names for dim, names in levels.items() if names and names != [dim]})


def _matched(other: Any, mine: xr.DataArray) -> Any:
    """Reorder another array's rows to match mine, by the coordinates that both have.

    Raises:
        ValueError: one array has rows that the other lacks.
    """
    if not isinstance(other, xr.DataArray):
        return other
    for dim in [dim for dim in other.dims if dim in mine.dims]:
        shared = [name for name in level_names(mine, dim) if name in level_names(other, dim)]
        ours, theirs = (pd.DataFrame({name: one.coords[name].values for name in shared}) for one in (mine, other))
        if not shared or ours.equals(theirs):
            continue
        other = reordered(other, mine, str(dim), shared)
    return other


def _rows_of(array: xr.DataArray, dim: Hashable, levels: Sequence[str], wanted: Sequence[tuple[Any, ...]]) -> list[int]:
    index = pd.MultiIndex.from_arrays([array.coords[level].values for level in levels])
    rows = index.get_indexer(pd.MultiIndex.from_tuples(wanted)) if index.is_unique else np.array([-1])
    if (rows < 0).any():
        names = ", ".join(levels)
        raise KeyError(
            f"each of {some(list(wanted))} must be that of one {dim}, by {names}; there are {some(index, 5)}"
        )
    return rows.tolist()


def _named_by_the_level_left(selected: Any, array: xr.DataArray, wanted: Mapping[Any, Any]) -> Any:
    for name, value in wanted.items():
        dims = array.coords[name].dims if name in array.coords and name not in array.dims else ()
        for dim in dims:
            others = [level for level in level_names(array, dim) if level != name]
            if len(others) == 1 and np.isscalar(value) and dim in selected.dims:
                selected = selected.drop_vars(name).swap_dims({dim: others[0]})
    return selected


def _stacked(array: Any, new: str, parts: list[Any]) -> Any:
    if len(parts) == 1 and parts[0] in array.dims:
        return array.swap_dims({parts[0]: new})  # its coordinate becomes the only level of the new dimension
    if all(part not in array.dims for part in parts):  # levels of one dimension, which may have lost other levels
        return array
    plain = xr.DataArray(array.variable, {name: coord.variable for name, coord in array.coords.items()})
    for part in parts:
        if part not in plain.coords:
            plain = plain.assign_coords({part: np.arange(plain.sizes[part])})
    return type(array)(plain.stack({new: parts}).reset_index(new))


class DataAssembly(Levels, data.DataAssembly):
    """bsjax's class, for code written for Brain-Score."""

    __slots__ = ()

    def __init__(self, data: Any = np.nan, coords: Any = None, dims: Any = None, *args: Any, **kwargs: Any) -> None:
        if isinstance(coords, Mapping) and dims is not None:
            # Drop coordinates of another assembly on dimensions that this one lacks. In Brain-Score these are levels
            # of such a dimension's index, which code that copies ``coords.items()`` skips by name.
            own = {dims} if isinstance(dims, str) else set(dims)
            coords = {name: coord for name, coord in coords.items() if not _lies_elsewhere(coord, own)}
        super().__init__(data, coords, dims, *args, **kwargs)


class BehavioralAssembly(DataAssembly, data.BehavioralAssembly):
    """bsjax's class, for code written for Brain-Score."""

    __slots__ = ()


class NeuroidAssembly(DataAssembly, data.NeuroidAssembly):
    """bsjax's class, for code written for Brain-Score."""

    __slots__ = ()


class NeuronRecordingAssembly(NeuroidAssembly, data.NeuronRecordingAssembly):
    """bsjax's class, for code written for Brain-Score."""

    __slots__ = ()


class ModelFeaturesAssembly(NeuroidAssembly, data.ModelFeaturesAssembly):
    """bsjax's class, for code written for Brain-Score."""

    __slots__ = ()


class PropertyAssembly(DataAssembly, data.PropertyAssembly):
    """bsjax's class, for code written for Brain-Score."""

    __slots__ = ()


class SpikeTimesAssembly(NeuronRecordingAssembly, data.SpikeTimesAssembly):
    """bsjax's class, for code written for Brain-Score."""

    __slots__ = ()


class MetadataAssembly(DataAssembly, data.MetadataAssembly):
    """bsjax's class, for code written for Brain-Score."""

    __slots__ = ()


# The classes above, mapped to bsjax's own.
_OWN_CLASSES = {
    cls: getattr(data, name)
    for name, cls in list(globals().items())
    if isinstance(cls, type) and issubclass(cls, DataAssembly)
}
_CLASSES = {own: cls for cls, own in _OWN_CLASSES.items()}


def for_plugins(assembly: Any) -> Any:
    """A bsjax assembly in the class known to plugins; other objects are unchanged."""
    return _in_class(assembly, _CLASSES)


def _in_class(assembly: Any, classes: Mapping[type, type]) -> Any:
    cls = classes.get(type(assembly))
    if cls is None:
        return assembly
    made = cls(assembly)
    made.attrs = {name: _in_class(value, classes) for name, value in assembly.attrs.items()}
    return made


def walk_coords(assembly: xr.DataArray) -> Iterator[tuple[str, tuple[str, ...], np.ndarray]]:
    """Iterate over name, dimensions and values of each coordinate, without MultiIndexes."""
    for name, coord in assembly.coords.items():
        if not isinstance(coord.variable, xr.IndexVariable) or coord.variable.level_names is None:
            yield str(name), tuple(map(str, coord.dims)), coord.values


def merge_data_arrays(data_arrays: Sequence[xr.DataArray]) -> Any:
    """Merge arrays by the levels of each dimension; rows of all arrays are kept, with NaN for missing values.

    The result has the class of the first array.

    Raises:
        ValueError: two arrays have different values at the same place.
    """
    first, *_ = data_arrays
    merged = xr.merge([indexed(array).rename("z") for array in data_arrays], join="outer", compat="no_conflicts")["z"]
    several = [dim for dim in merged.dims if isinstance(merged.get_index(dim), pd.MultiIndex)]
    merged = merged.rename(None).reset_index(several)
    for dim in map(str, merged.dims):
        names = level_names(first, dim)
        if len(names) == 1 and dim not in (*names, *several):  # a single-level index is named like its dimension
            merged = merged.assign_coords({names[0]: (dim, merged[dim].values)}).drop_vars(dim)
    return type(first)(merged.drop_attrs())


def array_is_element(arr: Sequence[Any], element: object) -> bool:
    """Whether a sequence, such as the dimensions of a coordinate, consists of this one element.

    Example:
        >>> array_is_element(("neuroid",), "neuroid"), array_is_element(("neuroid", "time_bin"), "neuroid")
        (True, False)
    """
    return len(arr) == 1 and arr[0] == element


def fix_timebin_naming(assembly: Any) -> Any:
    """Return the assembly unchanged; in bsjax, a dimension's only coordinate keeps its name."""
    return assembly
