"""Metrics in each time bin, stimulus or neuroid, and regressions over time, for metrics of plugins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from bsjax.compat.assemblies import level_names
from bsjax.compat.score import Score


def recursive_op(*arrs: Any, op: Callable[..., Any] = lambda x: x) -> Any:
    """What an operation makes of arrays, and of the arrays in their attributes likewise."""
    result = op(*arrs)
    for name, value in arrs[0].attrs.items():
        inner = isinstance(value, xr.DataArray)
        result.attrs[name] = recursive_op(*(each.attrs[name] for each in arrs), op=op) if inner else value
    return result


def apply_over_dims(callable: Callable[..., Any], *asms: Any, dims: Sequence[str], njobs: int = -1) -> Any:
    """A function of every slice of assemblies along some dimensions, its results along these dimensions.

    Args:
        callable: of slices; where it gives None, there is no result.
        *asms: assemblies with these dimensions.
        dims: to go along.
        njobs: nothing depends on it; slices follow each other.
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
    """Results side by side, with the coordinates that an assembly has on this dimension, and so their attributes.

    An attribute that is no array is kept where all results have the same, and is a list of theirs where they differ.
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
    """A function of every slice along dimensions.

    Args:
        callable: of slices.
        dims: to go along.
        check_coords: coordinates that assemblies are sorted by, and must share.
    """

    def __init__(self, callable: Callable[..., Any], dims: Sequence[str], check_coords: Sequence[str] = ()) -> None:
        self.callable, self.dims, self.check_coords = callable, dims, check_coords

    def __call__(self, *asms: Any) -> Any:
        """Results along the dimensions.

        Raises:
            ValueError: the assemblies do not share the coordinates.
        """
        for name in self.check_coords:
            asms = tuple(assembly.sortby(name) for assembly in asms)
            if any(not np.array_equal(assembly[name].values, asms[0][name].values) for assembly in asms):
                raise ValueError(f"all assemblies must have the same values of {name!r}")
        return apply_over_dims(self.callable, *asms, dims=self.dims)


class PerTime(PerOps):
    """A function of each time bin."""

    def __init__(
        self,
        callable: Callable[..., Any],
        time_dim: str = "time_bin",
        check_coord: str = "time_bin_start",
        **kwargs: Any,
    ) -> None:
        self.time_bin = time_dim
        super().__init__(callable, [time_dim], [check_coord], **kwargs)


class PerPresentation(PerOps):
    """A function of each presentation."""

    def __init__(
        self,
        callable: Callable[..., Any],
        presentation_dim: str = "presentation",
        check_coord: str = "stimulus_id",
        **kwargs: Any,
    ) -> None:
        self.presentation_dim = presentation_dim
        super().__init__(callable, [presentation_dim], [check_coord], **kwargs)


class PerNeuroid(PerOps):
    """A function of each neuroid."""

    def __init__(
        self, callable: Callable[..., Any], neuroid_dim: str = "neuroid", check_coord: str = "neuroid_id", **kwargs: Any
    ) -> None:
        self.neuroid_dim = neuroid_dim
        super().__init__(callable, [neuroid_dim], [check_coord], **kwargs)


class SpanOps:
    """A function of assemblies with several dimensions as one.

    Args:
        callable: of the assemblies.
        source_dims: that become one.
        aggregated_dim: that one.
        resample: whether to draw as many rows as the dimension had, at random.
    """

    def __init__(
        self, callable: Callable[..., Any], source_dims: Sequence[str], aggregated_dim: str, resample: bool = False
    ) -> None:
        self.callable, self.source_dims, self.aggregated_dim = callable, source_dims, aggregated_dim
        self.resample = resample

    def __call__(self, *asms: Any) -> Any:
        """What the function gives."""
        return self.callable(*map(self._stack, asms))

    def _stack(self, assembly: Any) -> Any:
        size = assembly.sizes[self.aggregated_dim]
        plain = xr.DataArray(assembly.variable, {name: coord.variable for name, coord in assembly.coords.items()})
        plain = plain.rename({dim: f"{dim}_" for dim in self.source_dims})
        stacked = plain.stack({self.aggregated_dim: [f"{dim}_" for dim in self.source_dims]}, create_index=False)
        if self.resample:
            rows = np.random.randint(0, stacked.sizes[self.aggregated_dim], size)
            stacked = stacked.isel({self.aggregated_dim: rows})
        return type(assembly)(stacked.transpose(self.aggregated_dim, ...))


class SpanTime(SpanOps):
    """A function of all time bins as presentations."""

    def __init__(
        self,
        callable: Callable[..., Any],
        time_dim: str = "time_bin",
        presentation_dim: str = "presentation",
        resample: bool = False,
    ) -> None:
        self.time_dim = time_dim
        super().__init__(callable, [time_dim, presentation_dim], presentation_dim, resample=resample)


class SpanTimeRegression:
    """A regression whose weights all time bins share.

    Args:
        regression: of assemblies without time.
    """

    def __init__(self, regression: Any) -> None:
        self._regression = regression

    def fit(self, source: Any, target: Any) -> None:
        """Fit all time bins at once."""
        _check_same_bins(source, target)
        SpanTime(self._regression.fit)(source, target)

    def predict(self, source: Any) -> Any:
        """Predictions in each time bin."""
        return PerTime(self._regression.predict)(source)


class PerTimeRegression:
    """A regression with weights of its own in each time bin.

    Args:
        regression: of assemblies without time; it is fitted again for each bin.
    """

    def __init__(self, regression: Any) -> None:
        self._regression = regression
        self._train: tuple[Any, Any] | None = None

    def fit(self, source: Any, target: Any) -> None:
        """Take these to fit to; that is done where it is predicted."""
        _check_same_bins(source, target)
        self._train = source, target

    def predict(self, source: Any) -> Any:
        """Predictions in each time bin.

        Raises:
            ValueError: nothing was given to fit to.
        """
        if self._train is None:
            raise ValueError("call fit(source, target) before predict(source)")

        def fitted(train_source: Any, train_target: Any, test_source: Any) -> Any:
            self._regression.fit(train_source, train_target)
            return self._regression.predict(test_source)

        return PerTime(fitted)(*self._train, source)


def average_over_presentation(score: Score) -> Score:
    """The mean over presentations, with what it is of in ``attrs["raw"]``."""
    mean = score.mean("presentation")
    mean.attrs["raw"] = score
    return mean


def _check_same_bins(source: Any, target: Any) -> None:
    if not np.array_equal(source["time_bin"].values, target["time_bin"].values):
        raise ValueError("source and target must have the same time bins")
