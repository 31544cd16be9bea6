"""Scores in plugin code, and their way to bsjax and back."""

import numpy as np
import pytest
import xarray as xr

from bsjax import labelled
from bsjax.compat.benchmarks.base import bound_score, ceil_score, explained_variance
from bsjax.compat.score import Score
from bsjax.compat.sides.scores import MetricForBsjax, MetricForPlugins, score_for_bsjax, score_for_plugins


@pytest.fixture
def splits():
    coords = {"split": [0, 1], "neuroid_id": ("neuroid", [7, 8, 9])}
    return Score([[0.2, 0.4, 0.6], [0.4, 0.6, 0.8]], coords=coords, dims=["split", "neuroid"])


def test_a_score_is_a_number():
    score = Score(0.5)
    assert score == 0.5 and score == pytest.approx(0.5001, abs=0.001) and 0.4 < score < 0.6
    assert f"{float(score):.2f}" == "0.50" and round(float(-abs(score)), 1) == -0.5
    assert float(score / 2 + score**2 - 0.1) == pytest.approx(0.4) and not np.isnan(score)
    score.attrs["error"] = 0.1
    score.loc[()] = 0.25
    assert score.item() == 0.25 and (score * 2).attrs == {}


def test_raw_values_go_along(splits):
    mean = splits.mean("split")
    mean.attrs["raw"] = splits
    assert mean.raw is mean.attrs["raw"] and mean.mean("neuroid").raw.identical(splits)
    assert mean.isel(neuroid=0).raw.sizes == {"split": 2}
    assert mean.sel(neuroid_id=8).raw.values.tolist() == [[0.4], [0.6]]
    several = mean.expand_dims("model")
    several["model"] = ["one"]
    assert several.raw.dims == ("model", "split", "neuroid") and several.raw["model"].values.tolist() == ["one"]


def test_scores_are_merged_with_their_raw_values(splits):
    parts = []
    for name, shift in (("one", 0.0), ("two", 0.1)):
        score = (splits + shift).mean(["split", "neuroid"])
        score.attrs["raw"] = splits + shift
        score = score.expand_dims("model")
        score["model"] = [name]
        parts.append(score)
    merged = Score.merge(*parts)
    assert merged.sel(model="two").item() == pytest.approx(0.6) and merged.raw.sizes["model"] == 2
    with pytest.raises(ValueError, match="exception_handling must be"):
        Score.merge(*parts, exception_handling="no")


def test_to_bsjax_and_back(splits):
    score = Score(0.5)
    score.attrs |= {"raw": Score(0.6), "ceiling": Score(0.8), "error": Score(0.1), "n": 3, "each": [1, 2]}
    score.attrs["raw"].attrs["raw"] = splits
    own = score_for_bsjax(score)
    assert (own.value, own.error, float(own.unceiled), float(own.ceiling)) == (0.5, 0.1, 0.6, 0.8)
    assert own.unceiled.raw.sizes == {"split": 2, "neuroid": 3} and own.provenance["n"] == 3
    again = score_for_plugins(own)
    assert type(again) is Score and again == 0.5 and again.raw == 0.6 and again.ceiling == 0.8
    assert again.attrs["error"] == 0.1 and again.raw.raw.values.tolist() == splits.values.tolist()
    assert labelled.Score.from_dict(own.to_dict()) == own


def test_normalisation():
    raw, ceiling = Score(-0.6), Score(0.9)
    raw.attrs["error"] = 0.05
    assert float(ceil_score(raw, ceiling)) == pytest.approx(-0.6 / 0.9)
    explained = explained_variance(raw, ceiling)
    assert float(explained) == pytest.approx(-0.36 / 0.9)  # the sign stays
    assert explained.raw is raw and explained.ceiling is ceiling
    over = Score(1.2)
    over.attrs["raw"] = Score(1.1)
    bound_score(over)
    assert over == 1 and over.raw == 1.1


def test_metrics_of_both_sides(splits):
    class OfPlugin:
        def __call__(self, assembly1, assembly2):
            score = Score(float((assembly1 * assembly2).sum()))
            score.attrs["raw"] = assembly1
            return score

        def half(self):
            return 0.5

    metric = MetricForBsjax(OfPlugin())
    one = xr.DataArray([1.0, 2.0], dims=["presentation"])
    score = metric(one, assembly2=one)
    assert isinstance(score, labelled.Score) and score == 5 and metric.half() == 0.5
    back = MetricForPlugins(metric)(one, one)
    assert type(back) is Score and back == 5 and back.raw.values.tolist() == [1, 2]
