"""Fields of a score that are none are refused by name; numbers of any library and files of earlier versions, read."""

import json
import math

import numpy as np
import pytest
import xarray as xr

from bsjax import Score
from bsjax.core.files import as_json

TIMES = xr.DataArray(
    [0.1, math.nan], dims=["time_bin"], coords={"time_bin": [70, 170], "label": ("time_bin", ["early", "late"])}
)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": None}, "value must be a number or a labelled array of numbers, got the NoneType None"),
        ({"value": 10**400}, "value must be a number that a float can hold"),
        ({"value": xr.DataArray(["a"])}, "value must hold numbers, got 1 values of dtype <U1"),
        ({"value": 0.5, "error": TIMES}, r"error must have the shape of value, which is a number, got {'time_bin': 2}"),
        ({"value": 0.5, "formula": 3}, "formula must be a str, got the int 3"),
        ({"value": 0.5, "raw": xr.DataArray([1j])}, "raw has .* the dtype complex128, which cannot be written"),
        ({"value": 0.5, "unceiled": [0.5]}, "unceiled must be a"),
        ({"value": 0.5, "n_units": -1}, "n_units is the int -1: Expected `int` >= 0"),
        ({"value": 0.5, "provenance": {1: 2}}, "provenance must be a dict with keys of text, got the dict {1: 2}"),
        ({"value": 0.5, "provenance": {"by": [len]}}, r"provenance\['by'\]\[0\] is a builtin.* cannot be written"),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(fields, message):
    with pytest.raises(ValueError, match=message):
        Score(**fields)


def test_what_holds_itself_is_refused():
    plain: dict = {"value": 0.5}
    plain["ceiling"] = plain
    with pytest.raises(ValueError, match="provenance holds itself, or is nested more deeply"):
        Score(0.5, provenance=plain)
    with pytest.raises(ValueError, match="nested more deeply than can be read"):
        Score.from_dict(plain)


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.array(0.5), np.float16(0.5)], ids=repr)
def test_numbers_of_numpy_are_numbers(number):
    score = Score(number, error=number, n_units=np.int64(3), n_undefined=np.int32(1))
    assert type(score.value) is float and type(score.n_units) is int
    assert json.loads(as_json(score.to_dict()))["value"] == 0.5
    assert repr(score) == "Score(0.5000 ± 0.5000)"


def test_an_array_without_dimensions_is_a_number_with_labels():
    value = xr.DataArray(0.5, coords={"time_bin": 70})
    score = Score(value, error=0.1)
    assert repr(score) == "Score(0.5000 ± 0.1000)" and float(score) == 0.5
    xr.testing.assert_identical(Score.from_dict(json.loads(as_json(score.to_dict()))).value, value)


def test_a_file_of_an_earlier_version_is_read():
    array = {
        "dims": ["split", "neuroid"],
        "shape": [1, 2],
        "dtype": "float64",
        "values": [0.5, "nan"],
        "coords": {
            "split": {"dims": ["split"], "dtype": "int64", "values": [0]},
            "neuroid_id": {"dims": ["neuroid"], "dtype": "object", "values": ["a", "b"]},
            "good": {"dims": ["neuroid"], "dtype": "bool", "values": [True, False]},
            "day": {"dims": ["neuroid"], "dtype": "datetime64[ns]", "values": [1704153600000000000, -(2**63)]},
        },
    }
    nested = {"value": "nan", "error": None, "raw": None, "provenance": {}}
    plain = {"value": 0.5, "error": "inf", "error_kind": "", "raw": array, "unceiled": nested, "ceiling": nested}
    plain |= {"formula": "r", "n_units": None, "n_undefined": 0, "provenance": {"level": "nan", "bins": [[70, 170]]}}
    score = Score.from_dict(json.loads(json.dumps(plain)))
    assert score == 0.5 and score.error == math.inf and math.isnan(score.ceiling)
    assert score.provenance == {"level": "nan", "bins": [[70, 170]]}
    assert score.raw["neuroid_id"].values.tolist() == ["a", "b"] and np.isnan(score.raw.values[0, 1])
    assert str(score.raw["day"].values[0]).startswith("2024-01-02") and np.isnat(score.raw["day"].values[1])
