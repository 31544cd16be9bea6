import json
import math

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from bsjax import Score
from tests.support.plain_assemblies import assert_equal_values

RAW = xr.DataArray(
    [[0.1, math.nan], [0.3, -math.inf]],
    dims=["split", "neuroid"],
    coords={
        "split": np.arange(2),
        "neuroid_id": ("neuroid", ["001", "b"]),
        "depth": ("neuroid", [1.5, math.nan]),
        "good": ("neuroid", [True, False]),
    },
)
FULL = Score(
    0.5,
    error=0.1,
    error_kind="standard error over 2 splits",
    raw=RAW,
    unceiled=Score(0.6, raw=RAW),
    ceiling=Score(0.7, error=math.nan, raw=RAW[:, 0]),
    formula="r²/c",
    n_units=2,
    n_undefined=1,
    provenance={"dtype": "float64", "seed": 1, "threshold": math.inf},
)


def test_reads_as_a_number():
    assert float(FULL) == 0.5
    assert FULL == 0.5 and FULL > 0.4 and FULL <= Score(0.5) and FULL < Score(0.9) and FULL != 0.6
    assert sorted([Score(0.2), Score(0.1)]) == [0.1, 0.2]
    assert hash(FULL) == hash(Score(0.5))


def test_is_not_comparable_with_text():
    assert FULL != "0.5"
    with pytest.raises(TypeError):
        _ = FULL < "0.5"


def written_and_read(score):
    return Score.from_dict(json.loads(json.dumps(score.to_dict(), allow_nan=False)))


def assert_same(a, b):
    assert (a is None) == (b is None)
    if a is None:
        return
    for name in ("value", "error", "raw", "provenance"):
        assert_equal_values(getattr(a, name), getattr(b, name))
    for name in ("error_kind", "formula", "n_units", "n_undefined"):
        assert getattr(a, name) == getattr(b, name)
    assert_same(a.unceiled, b.unceiled)
    assert_same(a.ceiling, b.ceiling)


def test_json_and_back_loses_nothing():
    assert_same(written_and_read(FULL), FULL)


@given(st.floats(), st.one_of(st.none(), st.floats()), st.lists(st.floats(), min_size=1))
def test_any_number_survives_json(value, error, raw):
    score = Score(value, error=error, raw=xr.DataArray(raw, dims=["split"]))
    assert_same(written_and_read(score), score)


def test_what_is_not_a_score_is_refused_by_name():
    with pytest.raises(ValueError, match="expected the keys .*got .*'colour'"):
        Score.from_dict({"value": 1.0, "colour": "red"})
    with pytest.raises(ValueError, match="not a score"):
        Score.from_dict({"error": 1.0})


def test_brain_score_attributes():
    assert FULL.attrs["raw"] is FULL.unceiled
    assert FULL.attrs["ceiling"] == 0.7 and FULL.attrs["error"] == 0.1
    assert FULL.unceiled.attrs["raw"] is RAW
    assert Score(0.1).attrs == {}


def test_to_xarray_and_notebook_table():
    array = FULL.to_xarray()
    assert float(array) == 0.5 and array.attrs["formula"] == "r²/c" and array.attrs["dtype"] == "float64"
    html = FULL._repr_html_()
    assert "0.5000 ± 0.1000" in html and "float64" in html and "<script" not in html
    assert "&lt;b&gt;" in Score(0.1, provenance={"model": "<b>"})._repr_html_()


def test_a_score_past_its_ceiling_keeps_its_value_and_says_so():
    over = Score(1.2, unceiled=Score(0.9), ceiling=Score(0.7))
    assert over == 1.2 and over.exceeds_ceiling
    assert "exceeded" in over._repr_html_()
    assert not FULL.exceeds_ceiling and not Score(1.2).exceeds_ceiling


def test_is_frozen():
    with pytest.raises(AttributeError):
        FULL.value = 1.0
