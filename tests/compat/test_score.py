"""Scores in plugin code, and their way to bsjax and back."""

import numpy as np
import pytest

from bsjax.compat.score import Score


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
