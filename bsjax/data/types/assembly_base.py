"""The base class of assemblies: xarray arrays with selection by coordinate and validation, which keep their class.

They are plain xarray with ordinary coordinates on each dimension and no MultiIndex, so every coordinate keeps its name,
even if it is the only one on its dimension.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import xarray as xr

# The readers are looked up by their public names when needed, because types do not depend on files.
from bsjax import data
from bsjax.core.given_arrays import widened
from bsjax.core.messages import some
from bsjax.data.types.assembly_checks import IDENTIFIERS, Standard, problems_of
from bsjax.data.types.grouping import apply_to_cells, group_by
from bsjax.data.types.plain import plain_values, without_levels
from bsjax.data.types.repetitions import average_repetition
from bsjax.data.types.selection import position_indexers


def in_order_of(mine: xr.DataArray, other: Any) -> Any:
    """Reorder another array's presentations and neuroids to match mine; anything without identifiers is unchanged.

    Repeated presentations of a stimulus are distinguished by ``repetition``.

    Raises:
        ValueError: one array has rows that the other lacks, or rows repeat.

    Example:
        >>> one, other = (xr.DataArray(list(v), {"stimulus_id": ("presentation", list(v))}, ["presentation"])
        ...               for v in ("ab", "ba"))
        >>> in_order_of(one, other).values.tolist()
        ['a', 'b']
    """
    if not isinstance(other, xr.DataArray):
        return other
    other = without_levels(other)  # xarray would match the indexes and drop rows that one of them lacks
    for dim, name in IDENTIFIERS.items():
        if not all(name in one.coords and one.coords[name].dims == (dim,) for one in (mine, other)):
            continue
        ours, theirs = (pd.Index(one.coords[name].values) for one in (mine, other))
        told_apart = not ours.is_unique and "repetition" in mine.coords and "repetition" in other.coords
        names = [name, "repetition"] if told_apart else [name]
        # Stimuli in one order may stand beside other repetitions; those that only one array has cannot be matched.
        if ours.equals(theirs) and not (told_apart and _are_permuted(mine, other, names)):
            continue
        other = reordered(other, mine, dim, names)
    return other


def _are_permuted(mine: xr.DataArray, other: xr.DataArray, names: Sequence[str]) -> bool:
    """Whether two arrays have the same rows by these coordinates, each once, in another order."""
    here, there = (_rows(one, names) for one in (mine, other))
    return not here.equals(there) and here.is_unique and here.sort_values().equals(there.sort_values())


def _rows(one: xr.DataArray, names: Sequence[str]) -> pd.MultiIndex:
    return pd.MultiIndex.from_frame(pd.DataFrame({name: one.coords[name].values for name in names}))


def reordered(other: xr.DataArray, mine: xr.DataArray, dim: str, names: Sequence[str]) -> xr.DataArray:
    """Reorder another array's rows to match mine, by the coordinates ``names`` of ``dim``, which both have.

    Raises:
        ValueError: one array has rows that the other lacks, or rows repeat.
    """
    here, there = (_rows(one, names) for one in (mine, other))
    rows = there.get_indexer(here) if there.is_unique and here.is_unique else np.array([-1])
    if len(here) != len(there) or (rows < 0).any():
        raise ValueError(
            f"arithmetic of two arrays whose {dim!r} differ in {some(names)}: {len(here)} and {len(there)} rows, which "
            "are not the same, or repeat; select those that both have before, and average repetitions"
        )
    return other.isel({dim: rows})


class DataAssembly(xr.DataArray):
    """An array with named dimensions and coordinates, selected by coordinate.

    Args:
        data: the values.
        coords: name -> (dimension, values), any number on each dimension.
        dims: names of the dimensions of ``data``, in order.
        name: a name for the array.
        attrs: further attributes; bsjax uses ``stimulus_set`` and ``stimulus_set_identifier``.

    Raises:
        ValueError: dimensions or coordinates do not match the data; one message lists all mismatched coordinates.

    Example:
        >>> assembly = DataAssembly([[1., 2.], [3., 4.]], dims=["presentation", "neuroid"], coords={
        ...     "stimulus_id": ("presentation", ["a", "b"]), "region": ("neuroid", ["V4", "IT"])})
        >>> assembly.sel(region="IT").values.tolist()
        [[2.0], [4.0]]
        >>> assembly.sel(neuroid=assembly["region"] == "V4").mean("presentation").values.tolist()
        [2.0]
    """

    __slots__ = ()

    standard: ClassVar[Standard] = Standard()
    """The data standard of the class."""

    merges_stimulus_set: ClassVar[bool] = True
    """Whether ``from_files`` turns every column of the stimulus set into a coordinate."""

    reads_groups: ClassVar[bool] = False
    """Whether a file of this class holds further arrays, which become attributes of the assembly."""

    def __init__(
        self,
        data: Any = np.nan,
        coords: Any = None,
        dims: Any = None,
        name: Hashable | None = None,
        attrs: Mapping[Any, Any] | None = None,
        **internal: Any,  # arguments that xarray passes when it makes a new array from this one
    ) -> None:
        if not internal.get("fastpath") and not isinstance(data, xr.DataArray):
            data = data if isinstance(data, np.ndarray) and data.dtype.kind == "f" else widened(data)
            data, coords = plain_values(data), _plain_coords(coords)
        try:
            super().__init__(data, coords, dims, name, attrs, **internal)
        except ValueError as error:
            problems = _problems_of_each(data, coords, dims) or [str(error)]
            raise ValueError(f"cannot build a {type(self).__name__}: {'; '.join(problems)}") from error

    @classmethod
    def from_files(
        cls,
        file_path: str | Path,
        stimulus_set: pd.DataFrame | None = None,
        stimulus_set_identifier: str | None = None,
        group: str | None = None,
        chunks: Any = None,
    ) -> Self:
        """Read an assembly from a netCDF file, as ``bsjax.data.read_assembly`` does.

        Args:
            file_path: the file.
            stimulus_set: the stimuli of the recording. They become the attribute ``stimulus_set``, and their columns
                become coordinates on presentation (except for classes that only refer to their stimuli: properties,
                metadata and spike times).
            stimulus_set_identifier: name of the stimulus set; by default that of ``stimulus_set``.
            group: the group of the file to read; by default its root.
            chunks: read lazily, in blocks of this size; see ``read_assembly``.

        Raises:
            FileNotFoundError: the file is missing.
            ValueError: the file is not an assembly, or the stimulus set does not match it.
        """
        assembly = data.read_assembly(file_path, cls, group=group, chunks=chunks)
        if stimulus_set is not None:
            assembly = data.attach_stimulus_set(assembly, stimulus_set)
        if stimulus_set_identifier is not None:
            assembly.attrs["stimulus_set_identifier"] = stimulus_set_identifier
        return assembly

    def problems(self) -> list[str]:
        """Violations of the data standard, one line each; empty if there are none."""
        return problems_of(self, self.standard)

    def validate(self) -> None:
        """Verify that the assembly follows its data standard.

        Raises:
            ValueError: it does not; one message lists all problems.
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

        ``sel(region="IT")`` on a coordinate keeps all matching rows, in their order, and keeps the dimension. A list
        keeps the rows with any of its values; a slice keeps those from start to stop, both included. Dimensions accept
        everything that xarray accepts, and boolean masks over them: ``sel(neuroid=assembly["region"] == "IT")``.

        Raises:
            KeyError: a name is neither dimension nor coordinate (the message lists the existing ones), or no row has
                the value.
            ValueError: a mask does not match its dimension.
        """
        wanted = {**(indexers or {}), **indexers_kwargs}
        rows, labels = position_indexers(self, wanted)
        selected = self.isel(rows, drop=drop) if rows else self
        # Labels last, because they may remove a dimension that a mask refers to.
        return super(DataAssembly, selected).sel(labels, method=method, tolerance=tolerance, drop=drop)

    def mean(
        self, dim: Any = None, *, skipna: bool | None = None, keep_attrs: bool | None = None, **kwargs: Any
    ) -> Self:
        """As in xarray; ``mean("repetition")`` on a coordinate works like ``average_repetition``.

        Raises:
            ValueError: as ``average_repetition``, or with ``skipna=False``, which it does not support.
        """
        repetitions = [dim] == ["repetition"] or (isinstance(dim, (list, tuple)) and list(dim) == ["repetition"])
        if repetitions and "repetition" not in self.dims and "repetition" in self.coords:
            if skipna is False or kwargs:
                raise ValueError("the mean over the coordinate 'repetition' leaves out NaN and takes no other options")
            averaged = average_repetition(self)
            if keep_attrs is False:
                averaged.attrs = {}
            return averaged
        return super().mean(dim, skipna=skipna, keep_attrs=keep_attrs, **kwargs)

    def multi_groupby(self, group_coord_names: Sequence[str]) -> Any:
        """Group by several coordinates of one dimension; see :func:`~bsjax.data.types.grouping.group_by`.

        Raises:
            ValueError: a name is not a coordinate, or the coordinates are on several dimensions.

        Example:
            >>> trials = DataAssembly([1.0, 3.0, 5.0], dims=["presentation"], coords={
            ...     "stimulus_id": ("presentation", ["a", "a", "b"]), "size": ("presentation", [1, 1, 2])})
            >>> trials.multi_groupby(["stimulus_id", "size"]).mean().values.tolist()
            [2.0, 5.0]
        """
        return group_by(self, group_coord_names)

    def multi_dim_apply(self, groups: Sequence[str], apply: Callable[..., Any]) -> Self:
        """Apply a function to each cell of a grid of coordinates, one per dimension.

        Args:
            groups: the coordinates.
            apply: ``(values, **coords) -> values``; see :func:`~bsjax.data.types.grouping.apply_to_cells`.

        Returns:
            The results in place of the values, with the coordinates of the assembly.

        Raises:
            ValueError: a name is not a coordinate, or there is not exactly one for each dimension.

        Example:
            >>> shares = DataAssembly([[0.2, 0.8]], dims=["presentation", "choice"], coords={
            ...     "truth": ("presentation", ["dog"]), "choice": ["dog", "cat"]})
            >>> shares.multi_dim_apply(["truth", "choice"], lambda p, truth, choice: p * (truth == choice)).values
            array([[0.2, 0. ]])
        """
        return self.copy(data=apply_to_cells(self, groups, apply))

    def identical(self, other: Any) -> bool:
        """Whether values, name, coordinates and attributes, including tables and arrays among these, are equal."""
        if not isinstance(other, xr.DataArray) or self.attrs.keys() != other.attrs.keys():
            return False
        mine, theirs = self.copy(deep=False), other.copy(deep=False)
        for key in self.attrs:
            if any(isinstance(value, (pd.DataFrame, xr.DataArray)) for value in (self.attrs[key], other.attrs[key])):
                if not _same(mine.attrs.pop(key), theirs.attrs.pop(key)):
                    return False
        return xr.DataArray.identical(mine, theirs)

    # xarray returns a bare DataArray from these methods; the assembly keeps its class.
    def where(self, *args: Any, **kwargs: Any) -> Self:
        """As in xarray; keeps the class."""
        return self._keep_class(super().where(*self._matched(args), **self._matched(kwargs)))

    def astype(self, *args: Any, **kwargs: Any) -> Self:
        """As in xarray; keeps the class."""
        return self._keep_class(super().astype(*args, **kwargs))

    def fillna(self, *args: Any, **kwargs: Any) -> Self:
        """As in xarray; keeps the class."""
        return self._keep_class(super().fillna(*self._matched(args), **self._matched(kwargs)))

    def clip(self, *args: Any, **kwargs: Any) -> Self:
        """As in xarray; keeps the class."""
        return self._keep_class(super().clip(*self._matched(args), **self._matched(kwargs)))

    def dot(self, other: Any, *args: Any, **kwargs: Any) -> Any:
        """As in xarray, matched by identifier."""
        return super().dot(in_order_of(self, other), *args, **kwargs)

    def __rmatmul__(self, other: Any) -> Any:
        return xr.dot(in_order_of(self, other), self)

    def assign_coords(self, coords: Any = None, **coords_kwargs: Any) -> Self:
        """As in xarray; pandas columns become plain arrays."""
        return super().assign_coords(_plain_coords(coords), **_plain_coords(coords_kwargs))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return self._keep_class(super().__array_ufunc__(ufunc, method, *self._matched(inputs), **kwargs))

    # Arithmetic matches rows by identifier.
    def _binary_op(self, other: Any, f: Any, reflexive: bool = False) -> Any:
        return super()._binary_op(in_order_of(self, other), f, reflexive)

    def _inplace_binary_op(self, other: Any, f: Any) -> Self:
        return super()._inplace_binary_op(in_order_of(self, other), f)

    def _matched(self, values: Any) -> Any:
        if isinstance(values, dict):
            return {name: in_order_of(self, value) for name, value in values.items()}
        return [in_order_of(self, value) for value in values]

    def _keep_class(self, result: Any) -> Any:
        return type(self)(result) if type(result) is xr.DataArray else result


# With a plain array on the left, Python tries this class first only if it defines the operators itself.
for _operator in "add sub mul truediv floordiv mod pow and xor or".split():
    _inherited = getattr(xr.DataArray, f"__r{_operator}__")
    setattr(DataAssembly, f"__r{_operator}__", lambda self, other, _f=_inherited: _f(self, other))


def _problems_of_each(data: Any, coords: Any, dims: Any) -> list[str]:
    """What xarray says of each coordinate alone; of several it names the first that does not fit."""
    problems: dict[str, None] = {}
    for name, coord in coords.items() if isinstance(coords, Mapping) and np.ndim(data) else ():
        try:
            xr.DataArray(data, {name: coord}, dims)
        except ValueError as error:
            problems[" ".join(str(error).split())[:200]] = None
    return list(problems)


def _plain_coords(coords: Any) -> Any:
    """Coordinates with pandas extension arrays, which xarray accepts but cannot select from, as plain arrays."""
    if not isinstance(coords, Mapping) or isinstance(coords, xr.Coordinates):
        return coords
    return {
        name: (coord[0], plain_values(coord[1]), *coord[2:])
        if isinstance(coord, tuple) and len(coord) >= 2
        else plain_values(coord)
        for name, coord in coords.items()
    }


def _same(one: Any, other: Any) -> bool:
    """Whether two tables, or two labelled arrays, are equal; xarray compares neither among attributes."""
    if isinstance(one, pd.DataFrame):
        return isinstance(other, pd.DataFrame) and one.equals(other)
    return isinstance(one, xr.DataArray) and isinstance(other, xr.DataArray) and one.identical(other)
