import copy
import math
import operator
import pickle
from dataclasses import replace

import numpy as np
import pytest
import xarray as xr
from hypothesis import assume, given
from hypothesis import strategies as st

from bsjax import Score
from bsjax.labelled.uncertainty import Uncertainty
from tests.support.plain_assemblies import assert_same_score

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
    assert sorted([Score(0.2), Score(0.1)]) == [0.1, 0.2] and hash(FULL) == hash(Score(0.5))


def test_what_is_not_a_score_is_refused_by_name():
    with pytest.raises(ValueError, match="the score is .*: Object contains unknown field `colour`"):
        Score.from_dict({"value": 1.0, "colour": "red"})


def test_brain_score_attributes():
    assert FULL.attrs["raw"] is FULL.unceiled
    assert FULL.attrs["ceiling"] == 0.7 and FULL.attrs["error"] == 0.1
    assert FULL.unceiled.attrs["raw"] is RAW
    score = Score(0.5, provenance={"comment": "layers: conv1", "model_identifier": "net"})
    assert list(score.attrs) == ["comment", "model_identifier"] and "sem" not in score.attrs
    assert Score.from_dict(score.to_dict()).attrs["comment"] == score.provenance["comment"] == "layers: conv1"


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


SIMILARITY = Score(0.4, error=0.02, error_kind="standard error", raw=RAW, formula="r", provenance={"metric": "pls"})
CEILING = Score(0.8, error=0.01)


@pytest.mark.parametrize("change", [lambda attrs: attrs.update(error=9), lambda attrs: attrs.pop("ceiling")])
def test_attributes_are_frozen_as_the_score_is(change):
    score = Score(0.5, error=0.1, ceiling=Score(0.8), raw=RAW)
    before = score.to_dict()
    with pytest.raises(AttributeError, match=r"of a score cannot be changed: make another score, Score\(score, error="):
        change(score.attrs)
    assert score.to_dict() == before and score.attrs.keys() == {"raw", "ceiling", "error"}


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy, lambda score: pickle.loads(pickle.dumps(score))])
def test_a_copy_is_the_same(make):
    assert_same_score(make(FULL), FULL)
    assert vars(make(FULL)).keys() == vars(FULL).keys()


def test_a_score_of_a_score_is_the_same():
    assert_same_score(Score(FULL), FULL)
    other = Score(FULL, error=0.3, formula="2r")
    assert (other.error, other.formula, other.ceiling) == (0.3, "2r", FULL.ceiling)


@pytest.mark.parametrize("falsy", [{"n_undefined": 0}, {"formula": ""}, {"n_units": None}, {"provenance": {}}])
def test_what_is_given_beside_a_score_wins_where_it_is_falsy_too(falsy):
    [(name, value)] = falsy.items()
    assert getattr(Score(FULL, **falsy), name) == value != getattr(FULL, name)
    assert Score(FULL, None).error is None and Score(FULL, ceiling=None).ceiling is None


def test_a_given_error_takes_the_place_of_what_was_known_of_another():
    known = Uncertainty(("subjects",), 0.1, "standard error over 9 subjects", dof=8)
    whole = Score(0.5, error=0.1, error_kind="standard error over 9 subjects", uncertainty=known)
    other = Score(whole, error=0.3)
    assert (other.error_kind, other.uncertainty.over, other.uncertainty.standard_error) == ("", (), 0.3)
    assert other.interval().high == pytest.approx(0.5 + 1.96 * 0.3, abs=1e-3)
    for again in (Score(whole, n_units=3), Score(whole, error=0.1, uncertainty=known)):
        assert again.interval() == whole.interval()


def test_an_error_and_its_uncertainty_say_one_thing():
    known = Uncertainty(("subjects",), 0.1, "standard error over 9 subjects", dof=8)
    derived = Score(0.5, uncertainty=known)
    assert (derived.error, derived.error_kind, derived.uncertainty) == (0.1, known.words, known)
    reported = replace(derived, error=0.2, error_kind="as published")
    assert (reported.uncertainty.error, reported.uncertainty.standard_error) == (0.2, 0.1)
    assert Score(0.4, uncertainty=reported.uncertainty).error_kind == "as published"
    alone = Score(0.5, error=0.3, error_kind="standard deviation")
    assert alone.uncertainty.standard_error == 0.3 and alone.interval() is None
    assert Score(0.5, error=0.3).interval().over == ("what its error is over",)
    assert replace(alone, error=None).error is replace(alone, uncertainty=None, error=None).error is None
    for nothing in (math.nan, 0.0):
        score = Score(0.5, uncertainty=replace(known, standard_error=nothing))
        assert score.error is None and score.error_kind == f"none: {score.uncertainty.none_because(0.5)}"


@given(st.one_of(st.floats(allow_nan=False), st.integers()), st.one_of(st.floats(allow_nan=False), st.integers()))
def test_what_is_equal_has_one_hash(one, other):
    for number in (one, other, float(np.float32(one)) if abs(one) < 1e30 else one):
        assume(abs(number) < 1e300)
        score = Score(one)
        assert score != number or hash(score) == hash(number)
        assert score != Score(number) or hash(score) == hash(Score(number))
    assert Score(2.0**53) != 2**53 + 1 and Score(2.0**53) != np.int64(2**53 + 1) and Score(0.5) != 0.5 + 1j


def test_a_score_in_time_is_no_number():
    score = Score(TIMES)
    assert score != 0.5 and score != Score(0.2) and 0.2 != score and score != "a"
    assert score == Score(TIMES.copy()) and hash(score) == hash(Score(TIMES.copy()))
    assert Score(TIMES[:1]) != 0.2 and Score(TIMES[:1]) != Score(0.2) and score in [0.5, score]


@pytest.mark.parametrize("number", [2, np.float32(2), np.array(2.0)], ids=repr)
@pytest.mark.parametrize(
    ("operation", "right", "left", "error"),
    [
        (operator.add, 2.5, 2.5, 0.1),
        (operator.sub, -1.5, 1.5, 0.1),
        (operator.mul, 1.0, 1.0, 0.2),
        (operator.truediv, 0.25, 4.0, 0.05),
        (operator.pow, 0.25, 2**0.5, None),
    ],
)
def test_arithmetic_with_numbers_on_either_side(number, operation, right, left, error):
    score = Score(0.5, error=0.1, error_kind="standard error", ceiling=Score(0.8), raw=RAW, n_units=2)
    for got, value in ((operation(score, number), right), (operation(number, score), left)):
        error = None if operation is operator.truediv and value == left else error
        assert type(got) is Score and float(got) == pytest.approx(value)
        assert got.error == (None if error is None else pytest.approx(error))
        assert got.error_kind.startswith("none: arithmetic" if error is None else "standard error")
        assert got.ceiling is got.raw is got.n_units is None and got.provenance == {}


def test_arithmetic_of_scores():
    assert SIMILARITY / CEILING == 0.5 and SIMILARITY * CEILING == pytest.approx(0.32)
    assert CEILING - SIMILARITY == pytest.approx(0.4) and SIMILARITY + CEILING == pytest.approx(1.2)
    assert SIMILARITY**CEILING == pytest.approx(0.4**0.8)
    assert (SIMILARITY / CEILING).error is None and "none: " in (SIMILARITY / CEILING).error_kind
    assert (Score(0.4) / Score(0.8)).error_kind == ""
    assert -SIMILARITY == -0.4 and (-SIMILARITY).error == 0.02 and +SIMILARITY == 0.4 and abs(-SIMILARITY) == 0.4
    assert round(Score(0.456), 2) == 0.46 and round(Score(0.456)) == 0
    assert f"{Score(0.456, error=0.1):.2f} {Score(0.456, error=0.1)}" == "0.46 Score(0.4560 ± 0.1000)"
    assert int(Score(1.7)) == 1 and abs(Score(-0.5)) == 0.5 and np.isnan(Score(np.nan))
    assert math.isinf(Score(1.0) / 0) and math.isnan(Score(-1.0) ** 0.5)
    for other in ("a", None, [1]):
        with pytest.raises(TypeError):
            SIMILARITY + other


TIMES = xr.DataArray([0.2, 0.4], dims=["time_bin"], coords={"time_bin": [70, 170]})


def test_arithmetic_of_scores_in_time():
    score = Score(TIMES, error=TIMES / 10) * 2
    np.testing.assert_allclose(score.value, [0.4, 0.8])
    np.testing.assert_allclose(score.error, [0.04, 0.08])
    np.testing.assert_allclose((Score(TIMES) / Score(TIMES * 2)).value, [0.5, 0.5])
    np.testing.assert_allclose((Score(TIMES) / Score(0.5)).value, [0.4, 0.8])
    with pytest.raises(ValueError, match="time_bin"):
        Score(TIMES) / Score(TIMES.assign_coords(time_bin=[70, 270]))


def test_numpy_reads_it_as_its_number():
    assert np.isnan(Score(math.nan)) and np.sqrt(Score(0.25)) == 0.5 and np.mean([Score(0.1), Score(0.3)]) == 0.2
    assert np.float64(0.4) < FULL and np.float64(0.5) == FULL and np.array([FULL, FULL]).tolist() == [0.5, 0.5]


def test_a_file_gives_the_score_back(tmp_path):
    path = FULL.save(tmp_path / "deep" / "score.json")
    assert_same_score(Score.load(path), FULL)
    path.write_text(path.read_text()[:40])
    with pytest.raises(ValueError, match=r"score\.json holds no score: "):
        Score.load(path)
    with pytest.raises(FileNotFoundError):
        Score.load(tmp_path / "none.json")
