"""Anything that a score may hold, as strict JSON and back."""

import enum
import json
import math
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bsjax import Score
from bsjax.core.files import as_json
from bsjax.labelled.plain_values import from_plain, labelled_from_plain, labelled_to_plain, to_plain
from tests.support.plain_assemblies import assert_equal_values, assert_same_score


def written_and_read(value):
    return from_plain(json.loads(as_json(to_plain(value, "value"))))


VALUES = {
    "numbers of NumPy": [np.float32(0.1), np.float64(math.nan), np.int64(2**62), np.bool(True), np.uint8(3)],
    "array": np.array([[0.1, math.nan], [-0.0, math.inf]], np.float32),
    "array of other byte order": np.array([1, 2], ">i4"),
    "moment of NumPy": np.datetime64("2024-01-02T03:04:05.123456789"),
    "span of NumPy": np.timedelta64(5, "ms"),
    "array of objects": np.array([None, "a", (1, 2), math.nan, [3]], object),
    "dates": [date(2024, 2, 29), datetime(2024, 1, 2, 3, 4, 5, 6), datetime(2024, 1, 2, tzinfo=UTC)],
    "time of a zone": datetime(2024, 1, 2, tzinfo=timezone(timedelta(hours=2))),
    "keys like those of kinds": {"$float": "nan", "plain": {"$tuple": [1]}, "": {}},
    "half a pair of surrogates": "image_\udcff.png",
    "labelled": xr.DataArray([1, 2], dims=["x"], coords={"x": ["a", "b"]}, name="n", attrs={"unit": ("ms",)}),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_whatever_a_provenance_may_hold_comes_back(value):
    assert_equal_values(value, written_and_read(value))
    score = Score(0.5, provenance={"deep": [{"er": (value,)}], "top": value})
    again = Score.from_dict(json.loads(as_json(score.to_dict())))
    assert_equal_values(score.provenance, again.provenance)


def test_enumerations_of_text_and_numbers_are_what_they_stand_for():
    colours, sizes = enum.StrEnum("Colour", {"red": "r"}), enum.IntEnum("Size", {"small": 1})
    assert written_and_read([colours.red, sizes.small]) == ["r", 1]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"layers": [1, Path("a")]}, r"value\['layers'\]\[1\] is a P\w+Path, which cannot be written as JSON"),
        (np.ma.masked_array([1.0], [True]), "value has the type MaskedArray"),
        (np.longdouble("0.1"), "the type ndarray and the dtype float128, which cannot be written"),
        (np.array([len], object), r"value\[0\] is a builtin_function_or_method"),
    ],
)
def test_what_cannot_be_written_is_refused_with_its_place(value, message):
    with pytest.raises(ValueError, match=message):
        to_plain(value, "value")


NAMES = st.sampled_from(["time_bin", "split", "neuroid", "$float", "a b", "ä"])
ARRAYS = hnp.arrays(
    st.one_of(
        hnp.boolean_dtypes() | hnp.integer_dtypes() | hnp.unsigned_integer_dtypes(),
        hnp.floating_dtypes(sizes=(16, 32, 64)),
        hnp.unicode_string_dtypes(max_len=5) | hnp.byte_string_dtypes(max_len=5),
        hnp.datetime64_dtypes(max_period="ms") | hnp.timedelta64_dtypes(max_period="ms"),
    ),
    hnp.array_shapes(min_dims=0, min_side=0, max_dims=2, max_side=3),
)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.dates(), st.datetimes(timezones=st.just(UTC))
)
PLAIN = st.recursive(
    SCALARS | ARRAYS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3) | NAMES, inner, max_size=3),
        st.dictionaries(st.integers() | st.booleans() | st.tuples(st.integers()), inner, max_size=2),
    ),
    max_leaves=8,
)


@st.composite
def labelled(draw, of_numbers=False, least=0):
    """A labelled array, its coordinates on its dimensions, beside them, and on none."""
    shape = draw(hnp.array_shapes(min_dims=0, min_side=least, max_dims=2, max_side=3))
    dims = draw(st.lists(NAMES, min_size=len(shape), max_size=len(shape), unique=True))
    dtypes = hnp.floating_dtypes(endianness="<", sizes=(32, 64)) | hnp.integer_dtypes(endianness="<")
    dtypes = dtypes if of_numbers else dtypes | hnp.boolean_dtypes()
    others = st.one_of(dtypes, hnp.unicode_string_dtypes(endianness="<", max_len=4), st.just(np.dtype("M8[ns]")))
    coords = {}
    for name in draw(st.lists(NAMES | st.just("depth"), max_size=3, unique=True)):
        own = [name] if name in dims else draw(st.lists(st.sampled_from(dims), unique=True)) if dims else []
        sizes = tuple(shape[dims.index(dim)] for dim in own)
        objects = hnp.arrays(np.dtype(object), sizes, elements=st.none() | st.integers() | st.text() | st.floats())
        coords[name] = (own, draw(objects if name not in dims and draw(st.booleans()) else hnp.arrays(others, sizes)))
    values = draw(hnp.arrays(dtypes, shape))
    return xr.DataArray(values, coords, dims, draw(st.none() | NAMES), draw(st.dictionaries(NAMES, PLAIN, max_size=1)))


@st.composite
def scores(draw, depth=1):
    value = draw(st.floats() | labelled(of_numbers=True, least=1))
    of_value = abs(value.astype(float)) if isinstance(value, xr.DataArray) else abs(draw(st.floats()))
    nested = st.none() if not depth else st.none() | scores(depth - 1)
    return Score(
        value,
        error=draw(st.sampled_from([None, of_value])),
        error_kind=draw(st.text()),
        raw=draw(st.none() | labelled()),
        unceiled=draw(nested),
        ceiling=draw(nested),
        formula=draw(st.text()),
        n_units=draw(st.none() | st.integers(0)),
        n_undefined=draw(st.integers(0)),
        provenance=draw(st.dictionaries(st.text(max_size=3) | NAMES, PLAIN, max_size=3)),
    )


@pytest.mark.slow
@given(scores())
@example(Score(0.5, provenance={"jax": None, "metric": 3, "seed": None}))  # named as fields, and none of their values
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_score_is_strict_json_and_comes_back(score):
    assert_same_score(score, Score.from_dict(json.loads(as_json(score.to_dict()))))
    assert repr(score).startswith("Score(") and score._repr_html_()


def test_several_levels_on_one_dimension_come_back():
    levels = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["object", "repetition"])
    array = xr.DataArray(np.arange(4.0), dims=["presentation"], coords={"presentation": levels})
    again = labelled_from_plain(json.loads(as_json(labelled_to_plain(array, "raw"))), "raw")
    xr.testing.assert_identical(again, array)
    assert again.sel(object="b").values.tolist() == [2.0, 3.0]


def test_attributes_that_json_cannot_hold_are_not_written():
    array = xr.DataArray([1.0], dims=["x"], attrs={"stimulus_set": pd.DataFrame({"a": [1]}), "unit": "Hz"})
    array["x"] = ("x", ["a"], {"made_by": len})
    again = Score.from_dict(json.loads(as_json(Score(0.5, raw=array).to_dict()))).raw
    assert again.attrs == {"unit": "Hz"} and again["x"].attrs == {}


def test_a_width_of_text_that_no_text_needs_takes_no_memory():
    plain = labelled_to_plain(xr.DataArray(["a", "b"], dims=["x"]), "raw") | {"dtype": "<U100000000"}
    assert labelled_from_plain(plain, "raw").values.tolist() == ["a", "b"]
