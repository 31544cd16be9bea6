"""Metrics for each slice of assemblies, and regressions over all time bins, for metrics of plugins."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bsjax.compat.assemblies import level_names


def apply_over_dims(callable: Callable[..., Any], *asms: Any, dims: Sequence[str], njobs: int = -1) -> Any:
    """Apply a function to every slice of assemblies along some dimensions, and join the results along these.

    Args:
        callable: function of slices; slices for which it returns None are dropped.
        *asms: assemblies with these dimensions.
        dims: dimensions to iterate over.
        njobs: ignored; slices are processed one after the other.
    """
    dim, *others = dims
    results = []
    for number in range(asms[0].sizes[dim]):
        slices = [assembly.isel({dim: number}) for assembly in asms]
        results.append(apply_over_dims(callable, *slices, dims=others) if others else callable(*slices))
    rows = [number for number, result in enumerate(results) if result is not None]
    if not rows:
        return None
    return _along(dim, asms[0].isel({dim: rows}), [results[row] for row in rows])


def _along(dim: str, like: xr.DataArray, parts: Sequence[Any]) -> Any:
    """Join results along a dimension with the coordinates of ``like``, and their array attributes likewise.

    Other attributes are kept if all results have the same object; otherwise they become lists.
    """
    names = level_names(like, dim)
    bare = [part.drop_vars([name for name in (*names, dim) if name in part.coords]) for part in parts]
    joined = xr.concat(bare, dim=dim, coords="different", compat="equals", combine_attrs="drop")
    joined = joined.assign_coords({name: (dim, like.coords[name].values) for name in names})
    for name, value in parts[0].attrs.items():
        given = [part.attrs.get(name) for part in parts]
        if all(isinstance(each, xr.DataArray) for each in given):
            joined.attrs[name] = _along(dim, like, given)
        else:
            joined.attrs[name] = value if all(each is value for each in given) else given
    return joined


class PerOps:
    """Applies a function to every slice along dimensions.

    Args:
        callable: function of slices.
        dims: dimensions to iterate over.
        check_coords: coordinates to sort assemblies by, which must have the same values in all.
    """

    def __init__(self, callable: Callable[..., Any], dims: Sequence[str], check_coords: Sequence[str] = ()) -> None:
        self.callable, self.dims, self.check_coords = callable, dims, check_coords

    def __call__(self, *asms: Any) -> Any:
        """The results, joined along the dimensions.

        Raises:
            ValueError: the values of ``check_coords`` differ between the assemblies.
        """
        for name in self.check_coords:
            asms = tuple(assembly.sortby(name) for assembly in asms)
            if any(not np.array_equal(assembly[name].values, asms[0][name].values) for assembly in asms):
                raise ValueError(f"all assemblies must have the same values of {name!r}")
        return apply_over_dims(self.callable, *asms, dims=self.dims)


class PerTime(PerOps):
    """Applies a function to each time bin."""

    def __init__(
        self, callable: Callable[..., Any], time_dim: str = "time_bin", check_coord: str = "time_bin_start"
    ) -> None:
        super().__init__(callable, [time_dim], [check_coord])


class SpanTime:
    """Applies a function to assemblies with all time bins stacked into presentations."""

    def __init__(self, callable: Callable[..., Any]) -> None:
        self.callable = callable

    def __call__(self, *asms: Any) -> Any:
        """The result of the function."""
        return self.callable(*map(_in_one, asms))


def _in_one(assembly: Any) -> Any:
    """The assembly, in the rows of one time bin after those of the other."""
    plain = xr.DataArray(assembly.variable, {name: coord.variable for name, coord in assembly.coords.items()})
    plain = plain.rename({"time_bin": "time_bin_", "presentation": "presentation_"})
    stacked = plain.stack({"presentation": ["time_bin_", "presentation_"]}, create_index=False)
    return type(assembly)(stacked.transpose("presentation", ...))


class SpanTimeRegression:
    """A regression with weights shared by all time bins.

    Args:
        regression: a regression of assemblies without time.
    """

    def __init__(self, regression: Any) -> None:
        self._regression = regression

    def fit(self, source: Any, target: Any) -> None:
        """Fit all time bins together.

        Raises:
            ValueError: source and target have different time bins.
        """
        if not np.array_equal(source["time_bin"].values, target["time_bin"].values):
            raise ValueError("source and target must have the same time bins")
        SpanTime(self._regression.fit)(source, target)

    def predict(self, source: Any) -> Any:
        """Predictions in each time bin."""
        return PerTime(self._regression.predict)(source)
