"""Scores for code written for Brain-Score: mutable arrays with attributes."""

import warnings
from typing import Any, Self

import xarray as xr

from bsjax.compat.assemblies import DataAssembly, merge_data_arrays

_RAW = "raw"


class Score(DataAssembly):
    """A score as an array, either a single number or with dimensions such as ``split``, with its origin in ``attrs``.

    Selections from a score also apply to its ``attrs["raw"]``; a mean leaves the raw values unchanged.
    """

    __slots__ = ()

    RAW_VALUES_KEY = _RAW

    def isel(self, *args: Any, _apply_raw: bool = True, **kwargs: Any) -> Self:
        """As in xarray; also applied to raw values that have these dimensions."""
        return self._with_raw(super().isel(*args, **kwargs), "isel", _apply_raw, args, kwargs)

    def sel(self, *args: Any, _apply_raw: bool = True, **kwargs: Any) -> Self:
        """As for assemblies; also applied to raw values that have these names."""
        return self._with_raw(super().sel(*args, **kwargs), "sel", _apply_raw, args, kwargs)

    def squeeze(self, *args: Any, _apply_raw: bool = True, **kwargs: Any) -> Self:
        """As in xarray; also applied to raw values that have these dimensions."""
        return self._with_raw(super().squeeze(*args, **kwargs), "squeeze", _apply_raw, args, kwargs)

    def expand_dims(self, *args: Any, _apply_raw: bool = True, **kwargs: Any) -> Self:
        """As in xarray; also applied to raw values."""
        return self._with_raw(super().expand_dims(*args, **kwargs), "expand_dims", _apply_raw, args, kwargs)

    def reduce(self, *args: Any, _apply_raw: bool = False, **kwargs: Any) -> Self:
        """As in xarray; the raw values are unchanged."""
        return self._with_raw(super().reduce(*args, **kwargs), "reduce", _apply_raw, args, kwargs)

    def __setitem__(self, key: Any, value: Any, _apply_raw: bool = True) -> None:
        super().__setitem__(key, value)
        for raw in _raw_values(self).values() if _apply_raw else ():
            try:
                raw[key] = value
            except Exception:  # the raw values have other dimensions
                continue

    @classmethod
    def merge(cls, *scores: xr.DataArray, exception_handling: str = "ignore") -> Any:
        """Merge scores by their coordinates, and their raw values if possible.

        Args:
            *scores: the scores; attributes other than raw values are dropped.
            exception_handling: reaction to raw values that cannot be merged: ``"ignore"``, ``"warn"`` or ``"raise"``.

        Raises:
            ValueError: ``exception_handling`` has another value.
        """
        if exception_handling not in ("ignore", "warn", "raise"):
            raise ValueError(f"exception_handling must be 'ignore', 'warn' or 'raise', got {exception_handling!r}")
        merged = merge_data_arrays(scores)
        for name in _raw_values(scores[0]):
            try:
                merged.attrs[name] = cls.merge(*(score.attrs[name] for score in scores))
            except Exception as error:
                if exception_handling == "raise":
                    raise
                if exception_handling == "warn":
                    warnings.warn(f"the raw values of scores cannot be merged: {error}", stacklevel=2)
        return merged

    def _with_raw(self, result: Self, method: str, apply: bool, args: Any, kwargs: Any) -> Self:
        for name, raw in _raw_values(self).items():
            if apply:
                try:
                    raw = getattr(raw, method)(*args, **kwargs)
                except Exception:  # the raw values have other dimensions
                    pass
            result.attrs[name] = raw
        return result


def _raw_values(score: xr.DataArray) -> dict[Any, Any]:
    return {name: value for name, value in score.attrs.items() if _RAW in str(name)}


class Metric:
    """Base class of metrics: ``metric(assembly1, assembly2) -> Score``."""

    def __call__(self, assembly1: DataAssembly, assembly2: DataAssembly) -> Score:
        """The similarity of two sets of data."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__(assembly1, assembly2)")


class Ceiling:
    """Base class of ceilings: ``ceiling(assembly) -> Score``."""

    def __call__(self, assembly: DataAssembly) -> Score:
        """The similarity of data to repeated measurements of themselves."""
        raise NotImplementedError(f"{type(self).__name__} has no __call__(assembly)")
