"""The picture of a comparison: what is in it, where it is drawn, and the same bytes every time."""

import pytest

from bsjax.plots import plot_model_comparison
from tests.plots.conftest import comparison, texts

matplotlib = pytest.importorskip("matplotlib")


def test_names_letters_and_the_benchmark_are_written(tmp_path):
    found = comparison(6, ceiling=0.8)
    plot_model_comparison(found, path=tmp_path / "figure.svg")
    written = texts(tmp_path / "figure.svg")
    assert {*found.models.index, *found.models["letters"], "Somebody2013.IT-cka", "ceiling"} <= set(written)


def test_there_is_an_arrow_for_each_model_that_is_above_all_from_some_on():
    found = comparison(6)
    axes = plot_model_comparison(found, significance="arrows")
    arrows = [text for text in axes.texts if text.arrow_patch is not None]
    differ = found.differs.to_numpy()
    reaching = [row for row in range(6) if differ[row, -1]]
    assert len(arrows) == len(reaching) > 0
