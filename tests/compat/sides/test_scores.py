"""Scores, metrics and ceilings of plugins as bsjax sees them, and back."""

import numpy as np
import pytest
import xarray as xr

from bsjax import NeuroidAssembly, labelled
from bsjax.compat import assemblies
from bsjax.compat.score import Score
from bsjax.compat.sides.scores import MetricForPlugins, score_for_bsjax, score_for_plugins
from tests.compat.conftest import recording

SPLITS = {"split": [0, 1], "neuroid_id": ("neuroid", [7, 8, 9])}
RAW = [[0.2, 0.4, 0.6], [0.4, 0.6, 0.8]]


def raw_values(cls=Score):
    return cls(RAW, coords=SPLITS, dims=["split", "neuroid"])


def test_all_attributes_come_over_and_back():
    score, unceiled, sem = Score(0.5), Score(0.6), Score(0.25)
    unceiled.attrs |= {"raw": raw_values(), "error": 0.2}
    per_bin = Score([0.4, 0.6], coords={"time_bin_start": ("time_bin", [0, 50])}, dims=["time_bin"])
    sem.attrs["n_bootstrap"] = 200
    score.attrs |= {"raw": unceiled, "ceiling": Score(0.8), "error": Score(0.1), "per_bin": per_bin, "sem": sem}
    score.attrs |= {"folds": [Score(0.1), {"last": per_bin}], "note": "by hand", "place": ("a", 1), "gone": None}
    own = score_for_bsjax(score)
    assert type(own) is labelled.Score and (own.value, own.error, own.ceiling.value) == (0.5, 0.1, 0.8)
    assert (own.unceiled.value, own.unceiled.error) == (0.6, 0.2)
    assert type(own.raw) is xr.DataArray and own.raw.values.tolist() == RAW
    assert own.raw["neuroid_id"].values.tolist() == [7, 8, 9]
    for each in (own, labelled.Score.from_dict(own.to_dict())):
        back = score_for_plugins(each)
        assert type(back) is Score and set(back.attrs) == set(score.attrs)
        assert back == 0.5 and back.ceiling == 0.8 and back.attrs["error"] == 0.1
        assert back.raw == 0.6 and back.raw.attrs["error"] == 0.2
        assert back.raw.raw.values.tolist() == RAW and back.raw.raw["split"].values.tolist() == [0, 1]
        assert type(back.per_bin) is Score and back.per_bin.sel(time_bin_start=50) == 0.6
        assert back.sem == 0.25 and back.sem.attrs["n_bootstrap"] == 200
        assert back.folds[0] == 0.1 and type(back.folds[1]["last"]) is Score
        assert (back.note, back.place, back.gone) == ("by hand", ("a", 1), None)
    own = score_for_bsjax(per_bin)
    assert own.sizes == {"time_bin": 2} and score_for_plugins(own).values.tolist() == [0.4, 0.6]


def old(centre, error):
    return Score([centre, error], coords={"aggregation": ["center", "error"]}, dims=["aggregation"])


def test_the_old_form_at_all_depths():
    score = old(0.5, 0.05)
    score.attrs |= {"raw": old(0.4, 0.04), "ceiling": old(0.8, 0.08)}
    score.attrs["raw"].attrs["raw"] = raw_values()
    own = score_for_bsjax(score)
    assert [each.value for each in (own, own.unceiled, own.ceiling)] == [0.5, 0.4, 0.8]
    assert [each.error for each in (own, own.unceiled, own.ceiling)] == [0.05, 0.04, 0.08]
    assert own.raw.values.tolist() == RAW


def test_plain_numbers_and_what_is_none():
    assert score_for_bsjax(0.5) == 0.5 and score_for_plugins(None) is None
    own = labelled.Score(0.5)
    assert score_for_bsjax(own) is own and np.isnan(score_for_bsjax(Score(np.nan)).value)
    with pytest.raises(ValueError, match="value must be a number or a labelled array of numbers, got the str 'high'"):
        score_for_bsjax("high")


def test_what_cannot_be_held_is_kept_as_text():
    score = Score(0.5)
    score.attrs |= {"ceiling": Score(0.8), "seen": {1, 2}, "error": np.array([0.1, 0.2])}
    with pytest.warns(UserWarning, match="kept as text 'plugin_error'"), pytest.warns(UserWarning, match="text 'seen'"):
        own = score_for_bsjax(score)
    assert (own.value, own.ceiling.value, own.error) == (0.5, 0.8, None)
    assert own.attrs["seen"] == "{1, 2}" and own.attrs["plugin_error"] == "[0.1 0.2]"


def test_methods_of_a_metric_of_bsjax_are_in_the_classes_of_plugins():
    class OfBsjax:
        name = "own"

        def __call__(self, assembly):
            return labelled.Score(0.5)

        def halved(self, assembly):
            assert type(assembly) is NeuroidAssembly
            return assembly / 2

        def score(self):
            return labelled.Score(0.25, error=0.5)

    metric = MetricForPlugins(OfBsjax())
    one = recording(0, 40, 6)
    half = metric.halved(one)
    assert type(half) is assemblies.NeuroidAssembly and half.values.tolist() == (one.values / 2).tolist()
    assert type(metric.score()) is Score and metric.score().attrs["error"] == 0.5 and metric.name == "own"
    mean = metric.aggregate(raw_values())
    np.testing.assert_allclose(mean.values, [0.3, 0.5, 0.7])
    np.testing.assert_allclose(mean.attrs["error"].values, 0.1)
