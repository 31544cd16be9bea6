"""Metrics for each slice of assemblies, and regressions over all time bins, for metrics of plugins."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bsjax.compat.assemblies import level_names


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


class PerTime:
    """Applies a function to each time bin; those for which it returns None are left out.

    Args:
        callable: function of time bins of assemblies.
        time_dim: the dimension of time.
        check_coord: coordinate to sort assemblies by, which must have the same values in all.
    """

    def __init__(
        self, callable: Callable[..., Any], time_dim: str = "time_bin", check_coord: str = "time_bin_start"
    ) -> None:
        self.callable, self.time_dim, self.check_coord = callable, time_dim, check_coord

    def __call__(self, *asms: Any) -> Any:
        """The results, joined along time.

        Raises:
            ValueError: the values of ``check_coord`` differ between the assemblies.
        """
        first, *others = asms = tuple(assembly.sortby(self.check_coord) for assembly in asms)
        if any(not np.array_equal(each[self.check_coord].values, first[self.check_coord].values) for each in others):
            raise ValueError(f"all assemblies must have the same values of {self.check_coord!r}")
        results = {}
        for number in range(first.sizes[self.time_dim]):
            result = self.callable(*(assembly.isel({self.time_dim: number}) for assembly in asms))
            if result is not None:
                results[number] = result
        return _along(self.time_dim, first.isel({self.time_dim: [*results]}), [*results.values()]) if results else None


def _in_one(assembly: Any) -> Any:
    """The assembly, in the rows of one time bin after those of the other."""
    plain = xr.DataArray(assembly.variable, {name: coord.variable for name, coord in assembly.coords.items()})
    plain = plain.rename({"time_bin": "time_bin_", "presentation": "presentation_"})
    stacked = plain.stack({"presentation": ["time_bin_", "presentation_"]}, create_index=False)
    return type(assembly)(stacked.transpose("presentation", ...))


class SpanTimeRegression:
    """A regression with weights shared by all time bins.

    Args:
        regression: has ``fit(source, target)`` and ``predict(source)``.
    """

    def __init__(self, regression: Any) -> None:
        self._regression = regression

    def fit(self, source: Any, target: Any) -> None:
        """Fit all time bins together.

        Raises:
            ValueError: the time bins differ.
        """
        if not np.array_equal(source["time_bin"].values, target["time_bin"].values):
            raise ValueError("source and target must have the same time bins")
        self._regression.fit(_in_one(source), _in_one(target))

    def predict(self, source: Any) -> Any:
        """Predictions in each time bin."""
        return PerTime(self._regression.predict)(source)
