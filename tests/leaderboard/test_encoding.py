"""Numbers and texts in pages."""

import base64
import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bsjax.leaderboard.encoding import column, json_in_page, script, shown

ANY = st.text(st.characters(codec=None))


@given(st.lists(st.floats()))
def test_numbers_come_back_bit_for_bit(values):
    given = np.array(values, np.float64)
    for each in (given, given.astype(">f8")):
        written = column(each)
        assert written["type"] == "f8" and base64.b64decode(written["base64"]) == given.astype("<f8").tobytes()


@given(
    st.recursive(
        ANY | st.integers() | st.booleans() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(ANY, inner)
    )
)
def test_json_comes_back_and_holds_nothing_that_a_page_reads_as_its_own(value):
    text = json_in_page(value)
    assert json.loads(text) == value
    assert text.isascii() and not set("<>&\n") & set(text)
    assert script("x", value) == f"window.x = {text};\n"


@given(st.floats(-1e6, 1e6, exclude_min=True, exclude_max=True), st.integers(0, 8))
def test_a_number_that_is_shown_is_as_near_as_its_digits_allow(value, decimals):
    text = shown(value, decimals)
    assert abs(float(text) - value) <= 0.5000001 * 10**-decimals + 1e-9
    assert not (float(text) == 0 and math.copysign(1, float(text)) < 0)
