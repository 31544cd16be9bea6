"""The picture of a comparison: what is in it, where it is drawn, and the same bytes every time."""

import numpy as np
import pytest
import xarray as xr

from bsjax import Score
from bsjax.inference.comparison import compare
from bsjax.plots import plot_model_comparison
from tests.plots.conftest import texts

matplotlib = pytest.importorskip("matplotlib")


def comparison(n=6, more=None, **how):
    rng = np.random.default_rng(0)
    scores = {}
    for k in range(n):
        raw = xr.DataArray(0.1 * k + rng.normal(0, 0.05, 12), {"subject": np.arange(12)}, ["subject"])
        scores[f"model-{k}"] = Score(float(raw.mean()), raw=raw, provenance={"benchmark": "Somebody2013.IT-cka"})
    return compare(scores | (more or {}), **how)


def test_names_letters_and_the_benchmark_are_written(tmp_path):
    found = comparison(ceiling=0.8)
    plot_model_comparison(found, path=tmp_path / "figure.svg")
    written = texts(tmp_path / "figure.svg")
    assert {*found.models.index, *found.models["letters"], "Somebody2013.IT-cka", "ceiling"} <= set(written)


def test_there_is_an_arrow_for_each_model_that_is_above_all_from_some_on():
    found = comparison()
    axes = plot_model_comparison(found, significance="arrows")
    arrows = [text for text in axes.texts if text.arrow_patch is not None]
    differ = found.differs.to_numpy()
    reaching = [row for row in range(6) if differ[row, -1]]
    assert len(arrows) == len(reaching) > 0
