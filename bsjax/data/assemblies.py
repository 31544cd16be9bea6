"""Assemblies: labelled arrays of recordings, behaviour, and properties.

They are plain xarray with ordinary coordinates on each dimension and no MultiIndex, so that every coordinate
keeps its name, also when it is the only one on its dimension.
"""

from collections.abc import Hashable, Mapping
from typing import Any, Self

import numpy as np
import pandas as pd
import xarray as xr

from bsjax.data.selection import position_indexers
from bsjax.data.wording import some


class DataAssembly(xr.DataArray):
    """An array with named dimensions and coordinates, selected by coordinate.

    Args:
        data: the values.
        coords: name -> (dimension, values), as many as wanted on each dimension.
        dims: names of the dimensions of ``data``, in order.
        name: a name for the array.
        attrs: anything else; ``stimulus_set`` and ``stimulus_set_identifier`` are the ones bsjax looks for.

    Raises:
        ValueError: dimensions and coordinates do not fit the data; one message names every coordinate that
            does not.

    Example:
        >>> assembly = DataAssembly([[1., 2.], [3., 4.]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"]), "region": ("neuroid", ["V4", "IT"])})
        >>> assembly.sel(region="IT").values.tolist()
        [[2.0], [4.0]]
        >>> assembly.sel(neuroid=assembly["region"] == "V4").mean("presentation").values.tolist()
        [2.0]
    """

    __slots__ = ()

    def __init__(
        self,
        data: Any = np.nan,
        coords: Any = None,
        dims: Any = None,
        name: Hashable | None = None,
        attrs: Mapping[Any, Any] | None = None,
        **internal: Any,  # what xarray itself passes when it makes a new array from this one
    ) -> None:
        if not internal.get("fastpath") and not isinstance(data, xr.DataArray):
            problems = _construction_problems(data, coords, dims)
            if problems:
                raise ValueError(f"cannot build a {type(self).__name__}: " + "; ".join(problems))
        super().__init__(data, coords, dims, name, attrs, **internal)

    def problems(self) -> list[str]:
        """What keeps this assembly from following its data standard, one line each; empty if nothing does."""
        return []

    def validate(self) -> None:
        """Check the data standard.

        Raises:
            ValueError: one message that lists every problem.
        """
        problems = self.problems()
        if problems:
            raise ValueError(f"not a valid {type(self).__name__}: " + "; ".join(problems))

    def sel(
        self,
        indexers: Mapping[Any, Any] | None = None,
        method: str | None = None,
        tolerance: Any = None,
        drop: bool = False,
        **indexers_kwargs: Any,
    ) -> Self:
        """Select by dimension, as in xarray, or by any coordinate.

        ``sel(region="IT")`` on a coordinate keeps all rows that match, in their order, and keeps the
        dimension. A list keeps the rows with any of its values; a slice those from start to stop, both
        included. Dimensions take what xarray takes, and boolean masks over them:
        ``sel(neuroid=assembly["region"] == "IT")``.

        Raises:
            KeyError: a name that is neither dimension nor coordinate (lists those present), or a value that
                no row has.
            ValueError: a mask that does not fit its dimension.
        """
        wanted = {**(indexers or {}), **indexers_kwargs}
        rows, labels = position_indexers(self, wanted)
        selected = self.isel(rows, drop=drop) if rows else self
        # Labels last: they may remove a dimension that a mask refers to.
        return super(DataAssembly, selected).sel(labels, method=method, tolerance=tolerance, drop=drop)

    def identical(self, other: Any) -> bool:
        """Same values, name, coordinates and attributes (tables among the attributes are compared whole)."""
        if not isinstance(other, xr.DataArray):
            return False
        mine, theirs = _split_tables(self.attrs), _split_tables(other.attrs)
        same_tables = mine[1].keys() == theirs[1].keys() and all(
            table.equals(theirs[1][key]) for key, table in mine[1].items()
        )
        bare_self = self.copy(deep=False)
        bare_other = other.copy(deep=False)
        bare_self.attrs, bare_other.attrs = mine[0], theirs[0]
        return same_tables and xr.DataArray.identical(bare_self, bare_other)

    # xarray returns a bare DataArray from these; the assembly keeps its class.
    def where(self, *args: Any, **kwargs: Any) -> Self:
        """As in xarray; keeps the class."""
        return self._keep_class(super().where(*args, **kwargs))

    def astype(self, *args: Any, **kwargs: Any) -> Self:
        """As in xarray; keeps the class."""
        return self._keep_class(super().astype(*args, **kwargs))

    def fillna(self, *args: Any, **kwargs: Any) -> Self:
        """As in xarray; keeps the class."""
        return self._keep_class(super().fillna(*args, **kwargs))

    def clip(self, *args: Any, **kwargs: Any) -> Self:
        """As in xarray; keeps the class."""
        return self._keep_class(super().clip(*args, **kwargs))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self._keep_class(super().__array_ufunc__(ufunc, method, *inputs, **kwargs))

    def _keep_class(self, result: Any) -> Any:
        return type(self)(result) if type(result) is xr.DataArray else result


class NeuroidAssembly(DataAssembly):
    """Recordings of neuroids (neurons, sites, voxels, model units): presentation x neuroid, or x time_bin as
    well.

    Coordinates that the data standard asks for: ``stimulus_id`` on presentation, ``neuroid_id`` on neuroid.

    Example:
        >>> NeuroidAssembly([[1., float("nan")]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a"]), "neuroid_id": ("neuroid", [7, 8])}).validate()
        Traceback (most recent call last):
        ...
        ValueError: not a valid NeuroidAssembly: 1 of 2 values is NaN, first at stimulus_id a, neuroid_id 8
    """

    __slots__ = ()

    def problems(self) -> list[str]:
        """What keeps this assembly from following the data standard of neuroid assemblies."""
        problems = []
        if set(self.dims) not in ({"presentation", "neuroid"}, {"presentation", "neuroid", "time_bin"}):
            got = ", ".join(map(str, self.dims))
            problems.append(f"expected the dimensions presentation, neuroid[, time_bin], got {got}")
        for name, dim in (("stimulus_id", "presentation"), ("neuroid_id", "neuroid")):
            problems += _identifier_problems(self, name, dim, unique=name == "neuroid_id")
        problems += [f"dimension {dim} is empty" for dim, size in self.sizes.items() if size == 0]
        if self.dtype.kind not in "biuf":
            problems.append(f"expected numbers, got values of dtype {self.dtype}")
        elif self.dtype.kind == "f":
            problems += _nan_problem(self)
        return problems + _stimulus_set_problems(self)


class BehavioralAssembly(DataAssembly):
    """Behavioural responses: one row a trial on presentation, alone or by choice.

    Example:
        >>> BehavioralAssembly(["dog", "car"], dims=["presentation"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"])}).sel(stimulus_id="b").values.tolist()
        ['car']
    """

    __slots__ = ()


class PropertyAssembly(DataAssembly):
    """Measured properties of neuroids (orientation selectivity, receptive-field size, ...): neuroid x
    property.

    Example:
        >>> PropertyAssembly([[0.5]], coords={"neuroid_property": ("neuroid_property", ["osi"])},
        ...                  dims=["neuroid", "neuroid_property"]).dims
        ('neuroid', 'neuroid_property')
    """

    __slots__ = ()


def _construction_problems(data: Any, coords: Any, dims: Any) -> list[str]:
    """The mistakes in ``coords`` and ``dims`` that xarray would report one at a time."""
    coords = {} if coords is None else coords
    if not isinstance(coords, Mapping) or dims is None or isinstance(data, (pd.Series, pd.DataFrame)):
        return []  # other ways to build one: xarray reports on those
    dims = (dims,) if isinstance(dims, str) else tuple(dims)
    shape = np.shape(data)
    if shape == ():  # a scalar fills the shape that the coordinates give
        sizes = dict.fromkeys(dims)
    elif len(shape) != len(dims):
        return [f"data of shape {shape} need {len(shape)} dims, got {list(dims)}"]
    else:
        sizes = dict(zip(dims, shape, strict=True))
    problems = []
    for name, coord in coords.items():
        if isinstance(coord, (xr.DataArray, xr.Variable)):
            on, lengths = coord.dims, coord.shape
        elif isinstance(coord, tuple) and len(coord) >= 2:
            on = (coord[0],) if isinstance(coord[0], str) else tuple(coord[0])
            lengths = np.shape(coord[1])
        else:
            continue
        unknown = [dim for dim in on if dim not in sizes]
        if unknown:
            lost = ", ".join(map(repr, unknown))
            problems.append(f"coordinate {name!r} lies on {lost}, which is not among dims {list(dims)}")
            continue
        if len(on) != len(lengths):
            problems.append(f"coordinate {name!r} has shape {lengths} but lies on {len(on)} dimension(s) {list(on)}")
            continue
        problems += [
            f"coordinate {name!r} has {length} values on {dim!r}, where the data have {sizes[dim]}"
            for dim, length in zip(on, lengths, strict=True)
            if sizes[dim] is not None and sizes[dim] != length
        ]
    return problems


def _identifier_problems(assembly: xr.DataArray, name: str, dim: str, unique: bool) -> list[str]:
    if name not in assembly.coords:
        present = ", ".join(map(str, assembly.coords)) or "none"
        return [f"no coordinate {name!r} on {dim} (coordinates present: {present})"]
    coord = assembly.coords[name]
    if coord.dims != (dim,):
        return [f"coordinate {name!r} lies on {', '.join(map(str, coord.dims)) or 'no dimension'}, expected {dim}"]
    values = pd.Index(coord.values)
    problems = []
    if values.hasnans:
        problems.append(f"coordinate {name!r} is missing in {int(values.isna().sum())} of {len(values)} rows")
    repeated = values[values.duplicated()].unique() if unique else []
    if len(repeated):
        problems.append(f"coordinate {name!r} repeats {some(repeated)}")
    return problems


def _nan_problem(assembly: xr.DataArray) -> list[str]:
    missing = np.argwhere(np.isnan(assembly.values))
    if not len(missing):
        return []
    where = []
    for dim, position in zip(assembly.dims, missing[0], strict=True):
        name = {"presentation": "stimulus_id", "neuroid": "neuroid_id"}.get(str(dim), str(dim))
        known = name in assembly.coords and assembly.coords[name].dims == (dim,)
        where.append(f"{name} {assembly.coords[name].values[position]}" if known else f"{dim} number {position}")
    verb = "is" if len(missing) == 1 else "are"
    return [f"{len(missing)} of {assembly.size} values {verb} NaN, first at {', '.join(where)}"]


def _stimulus_set_problems(assembly: xr.DataArray) -> list[str]:
    stimulus_set = assembly.attrs.get("stimulus_set")
    if not isinstance(stimulus_set, pd.DataFrame) or "stimulus_id" not in stimulus_set:
        return []
    if "stimulus_id" not in assembly.coords:
        return []
    absent = pd.Index(assembly["stimulus_id"].values).unique().difference(pd.Index(stimulus_set["stimulus_id"]))
    return [f"{len(absent)} stimulus ids are not in its stimulus_set: {some(absent)}"] if len(absent) else []


def _split_tables(attrs: Mapping[Any, Any]) -> tuple[dict[Any, Any], dict[Any, pd.DataFrame]]:
    """Attributes that compare to a truth value, and those that are tables and do not."""
    tables = {key: value for key, value in attrs.items() if isinstance(value, pd.DataFrame)}
    return {key: value for key, value in attrs.items() if key not in tables}, tables
