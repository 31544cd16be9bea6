"""pandas and xarray, imported on first use: scores that are read back mostly need neither."""

from importlib import import_module
from typing import TYPE_CHECKING, Any


class _Library:
    """A library that is imported when one of its names is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, wanted: str) -> Any:
        value = getattr(import_module(self._name), wanted)
        setattr(self, wanted, value)
        return value


if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
else:
    pd, xr = _Library("pandas"), _Library("xarray")
