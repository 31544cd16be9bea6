"""Shape against texture."""

import math

import pytest
import xarray as xr

from bsjax.labelled.behaviour.accuracy import ShapeBias

IDS = ["a", "b", "c", "d"]


def choices(answers, ids=IDS, **more):
    coords = {"stimulus_id": ids, **more}
    return xr.DataArray(answers, {name: ("presentation", each) for name, each in coords.items()}, ["presentation"])


CUES = choices(["cat", "dog", "car", "cup"], texture=["dog", "cup", "cup", "cat"])


def test_choices_of_neither_do_not_count():
    score = ShapeBias()(choices(["dog", "dog", "car", "na"]), CUES)
    assert score.value == pytest.approx(2 / 3) and score.n_undefined == 1 and score.n_units == 4
    assert score.raw.values.tolist()[:3] == [0, 1, 1] and math.isnan(score.raw.values[3])
    assert score.error == pytest.approx(math.sqrt(2 / 3 / 3 / 3)) and score.provenance["metric"] == "shape_bias"


def test_stimuli_are_matched_by_id():
    assert ShapeBias()(choices(["na", "car", "dog", "dog"], IDS[::-1]), CUES).value == pytest.approx(2 / 3)


def test_a_model_that_names_neither_has_no_bias():
    score = ShapeBias()(choices(["na"] * 4), CUES)
    assert math.isnan(score.value) and score.error is None
