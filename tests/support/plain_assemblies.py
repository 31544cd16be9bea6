"""Whether two values are the same, NaN, signs of zero, types and dtypes included."""

import math
from collections.abc import Mapping

import numpy as np
import xarray as xr


def assert_equal_values(a, b):
    """NumPy's numbers count as Python's of the same value, which is what JSON gives back."""
    if isinstance(a, xr.DataArray):
        xr.testing.assert_identical(a.drop_attrs(), b.drop_attrs())
        for one, two in [(a, b), *((coord, b[name]) for name, coord in a.coords.items())]:
            assert one.dtype == two.dtype
            assert_equal_values(one.attrs, two.attrs)
        return
    if isinstance(a, np.generic) and a.dtype.kind in "biufU":
        a = a.item()
    assert type(a) is type(b), (a, b)
    if isinstance(a, Mapping):
        assert list(a) == list(b) or any(key != key for key in a)
        for one, two in zip(a.items(), b.items(), strict=True):
            assert_equal_values(one, two)
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b)
        for one, two in zip(a, b, strict=True):
            assert_equal_values(one, two)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape
        for one, two in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True):
            assert_equal_values(one, two)
    elif isinstance(a, float):
        assert (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    else:
        assert a == b or (a != a and b != b)


def assert_same_score(a, b):
    for name in ("value", "error", "error_kind", "raw", "formula", "n_units", "n_undefined", "provenance"):
        assert_equal_values(getattr(a, name), getattr(b, name))
    for name in ("unceiled", "ceiling"):
        one, two = getattr(a, name), getattr(b, name)
        assert (one is None) == (two is None)
        if one is not None:
            assert_same_score(one, two)
