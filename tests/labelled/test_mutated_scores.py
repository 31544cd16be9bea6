"""Dicts that a score was written as, damaged at random: read in full, or refused by a clear error."""

import copy
import json
import math
import random

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bsjax import Score
from bsjax.core.files import as_json
from bsjax.scoring import Outcome, legend, table

MUTANTS = 3_000
TIMES = xr.DataArray(
    [0.1, math.nan], dims=["time_bin"], coords={"time_bin": [70, 170], "label": ("time_bin", ["early", "late"])}
)
RAW = xr.DataArray(
    np.array([[0.1, math.nan], [0.3, -math.inf]], np.float32),
    dims=["split", "neuroid"],
    coords={
        "split": np.arange(2),
        "neuroid_id": ("neuroid", np.array(["001", "b"], object)),
        "region": ("neuroid", ["V1", "V2"]),
        "depth": ("neuroid", [1.5, math.nan]),
        "good": ("neuroid", [True, False]),
        "mixed": ("neuroid", np.array([None, (1, "a")], object)),
        "day": ("split", np.array(["2024-01-02", "NaT"], "datetime64[ns]")),
        "lag": ("split", np.array([1, 2], "timedelta64[ms]")),
        "animal": "Tito",
    },
    attrs={"unit": "Hz"},
)
LEVELS = pd.MultiIndex.from_product([["a", "b"], [1, 2]], names=["object", "repetition"])
SCORES = [
    Score(0.5, error=0.1, error_kind="standard error", formula="r", n_units=2, n_undefined=1, raw=RAW),
    Score(
        0.7,
        unceiled=Score(0.6, raw=RAW, provenance={"metric": "pls"}),
        ceiling=Score(math.nan, error=math.inf, provenance={"metric": "internal_consistency"}),
        formula="r²/c",
        provenance={
            "dtype": "float64",
            "device": "cpu",
            "seed": 2**60,
            "task": "choose",
            "nested": {"bins": (70, 170), "thresholds": [math.nan, {"least": -math.inf}]},
            "counts": np.array([[1, 2], [3, 4]]),
            "$odd": {1: np.datetime64("2024-01-02")},
        },
    ),
    Score(TIMES, error=TIMES * 2, ceiling=Score(TIMES, raw=RAW.isel(split=0)), provenance={"reason": "none"}),
    Score(1.0, raw=xr.DataArray(np.arange(4.0), dims=["presentation"], coords={"presentation": LEVELS})),
]
JUNK = [
    *[None, True, False, 0, 1, -1, 3, 2**31, 2**63, -(2**70), 10**400, 0.5, -0.0, 1e308, 1e400, math.nan],
    *["", "nan", "inf", "x", "NaT", "V1", "split", "neuroid", "\udcff", "$tuple", "value", "dims", "0.5"],
    *[
        "float64",
        "float16",
        "int8",
        "uint64",
        "bool",
        "object",
        "<U1",
        "<U90000000",
        ">f8",
        "|S2",
        "complex128",
        "f8,f8",
    ],
    *["datetime64[ns]", "timedelta64[0s]", "M8[x]", "datetime64", "V5", "O", "a3", "(2,", "{"],
    *[[], [[]], [None], ["a"], [1, 2], [2, 2], ["split"], ["split", "split"], [0, 10**30], [math.nan, "nan"], {}],
    *[{"a": 1}, {"$tuple": 3}, {"$array": {}}, {"$float": "x"}, {"$dict": [[[], 1]]}, {"$dict": [[1]]}, {"$date": "x"}],
    *[{"$scalar": {"shape": [2], "dtype": "int8", "values": [1, 300]}}, {"$datetime": 5}, {"$labelled": {"dims": []}}],
    *[{"value": 1.0}, {"value": {"value": 1.0}}, {"dims": ["x"], "shape": [1], "dtype": "bool", "values": [True]}],
]


def places(plain, above=()):
    """The path to everything in it."""
    inside = plain.items() if isinstance(plain, dict) else enumerate(plain) if isinstance(plain, list) else ()
    for key, value in inside:
        yield (*above, key)
        yield from places(value, (*above, key))


def mutated(plain, rng):
    """A copy that one to three things are wrong with."""
    plain = copy.deepcopy(plain)
    for _ in range(rng.randint(1, 3)):
        path = rng.choice(list(places(plain)) or [()])
        if not path:
            return plain
        parent = plain
        for key in path[:-1]:
            parent = parent[key]
        old, how = parent[path[-1]], rng.randrange(6)
        if how == 0:
            del parent[path[-1]]
        elif how == 1 and isinstance(parent, dict):
            parent[rng.choice([x for x in JUNK if isinstance(x, str)])] = parent.pop(path[-1])
        elif how == 2 and isinstance(old, list) and old:
            old.append(copy.deepcopy(rng.choice([old[0], *JUNK])))
        elif how == 3 and isinstance(old, (int, float)):
            parent[path[-1]] = rng.choice([old + 1, -old, str(old), old * 1e300 if abs(old) < 1e8 else 0, [old]])
        elif how == 4:
            other = plain
            for key in rng.choice(list(places(plain))):
                other = other[key]
            parent[path[-1]] = copy.deepcopy(other)
        else:
            parent[path[-1]] = copy.deepcopy(rng.choice(JUNK))
    return plain


def test_a_damaged_dict_is_read_in_full_or_refused():
    rng, read = random.Random(0), 0
    originals = [score.to_dict() for score in SCORES]
    for _ in range(MUTANTS):
        plain = mutated(rng.choice(originals), rng)
        try:
            score = Score.from_dict(plain)
        except (ValueError, TypeError, KeyError):
            continue
        read += 1
        again = json.loads(as_json(score.to_dict()))
        assert as_json(Score.from_dict(again).to_dict()) == as_json(score.to_dict())
        assert repr(score) and score._repr_html_() and hash(score) is not None and score.to_xarray() is not None
        outcomes = [Outcome("model", "benchmark", score, None, 1.0)]
        assert table(outcomes) and legend(outcomes)
    assert MUTANTS / 20 < read < MUTANTS / 2  # both happen often


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"value": None}, "value must be a number or a labelled array of numbers, got the NoneType None"),
        ({"value": True}, "value must be a number .*, got the bool True"),
        ({"value": "0.5"}, "value must be a number"),
        ({"value": np.array([0.5, 1.0])}, "value must be a number or a labelled array"),
        ({"value": 10**400}, "value must be a number that a float can hold"),
        ({"value": xr.DataArray(["a"])}, "value must hold numbers, got 1 values of dtype <U1"),
        ({"value": TIMES[:0]}, "value must hold numbers, got 0 values"),
        ({"value": 0.5, "error": TIMES}, r"error must have the shape of value, which is a number, got {'time_bin': 2}"),
        ({"value": TIMES, "error": 0.1}, r"which is {'time_bin': 2}, got a number"),
        ({"value": TIMES, "error": TIMES[:1]}, r"which is {'time_bin': 2}, got {'time_bin': 1}"),
        ({"value": 0.5, "error_kind": None}, "error_kind must be a str, got the NoneType None"),
        ({"value": 0.5, "formula": 3}, "formula must be a str, got the int 3"),
        ({"value": 0.5, "raw": [0.5]}, "raw must be a DataArray, got the list"),
        ({"value": 0.5, "raw": xr.DataArray([1j])}, "raw has .* the dtype complex128, which cannot be written"),
        ({"value": 0.5, "raw": xr.DataArray([1.0], dims=[3])}, "must have names of text, got 3"),
        ({"value": 0.5, "ceiling": "0.5"}, "ceiling must be a"),
        ({"value": 0.5, "unceiled": [0.5]}, "unceiled must be a"),
        ({"value": 0.5, "n_units": -1}, "n_units is the int -1: Expected `int` >= 0"),
        ({"value": 0.5, "n_units": 1.0}, "n_units is the float 1.0: Expected `int`"),
        ({"value": 0.5, "n_undefined": True}, "n_undefined is the bool True: Expected `int`"),
        ({"value": 0.5, "provenance": None}, "provenance must be a dict with keys of text, got the NoneType None"),
        ({"value": 0.5, "provenance": {1: 2}}, "provenance must be a dict with keys of text, got the dict {1: 2}"),
        ({"value": 0.5, "provenance": {"by": [len]}}, r"provenance\['by'\]\[0\] is a builtin.* cannot be written"),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(fields, message):
    with pytest.raises(ValueError, match=message):
        Score(**fields)


def test_what_holds_itself_is_refused():
    provenance: dict = {}
    provenance["self"] = provenance
    with pytest.raises(ValueError, match="provenance holds itself, or is nested more deeply"):
        Score(0.5, provenance=provenance)
    plain: dict = {"value": 0.5}
    plain["ceiling"] = plain
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
