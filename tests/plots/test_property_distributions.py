"""The picture of single-neuron properties: everything that it needs is in the scores."""

import pytest

from bsjax.labelled import Score
from bsjax.plots import plot_property_distributions
from tests.plots.conftest import texts

pytest.importorskip("matplotlib")

PROPERTIES = {
    "grating_summation_field": ("degrees", [0.0625, 0.25, 1, 4, 16]),
    "surround_suppression_index": ("", [0, 0.5, 1, 1.5, 2]),
    "preferred_orientation": ("degrees", [-22.5, 22.5, 67.5, 112.5, 157.5]),
    "spatial_frequency_selective": ("", [0, 0.5, 1]),
    "max_dc": ("spikes per second", [1, 10, 100, 1000]),
}


def score(model, name, value=0.5, counts=None):
    unit, bins = PROPERTIES[name]
    n = len(bins) - 1
    distribution = {
        "property": name,
        "unit": unit,
        "bins": bins,
        "recorded": list(range(1, n + 1)),
        "recorded_undefined": 2,
        "model": [3] * n if counts is None else counts,
        "model_undefined": 1,
    }
    made = {"model": model, "benchmark": f"Someone2026-{name}", "distribution": distribution}
    return Score(value, error=0.0123, provenance=made)


@pytest.mark.slow
def test_a_panel_for_each_property_with_all_models(tmp_path):
    scores = [score(model, name) for model in ("one", "two", "a-model-with-a-very-long-name") for name in PROPERTIES]
    plot_property_distributions([*scores, None, Score(0.3)], tmp_path / "figure.svg", title="three models")
    written = texts(tmp_path / "figure.svg")
    assert {"three models", "Grating summation field", "Max dc", "spikes per second", "no", "yes", "135"} <= set(
        written
    )
    assert written.count("Someone2026") == 5 and written.count("proportion of neurons") == 2
    assert written.count("one  0.50 [0.48, 0.52], n = 12") == 3 and "recorded, n = 10" in written
    assert any("…" in text for text in written)
    assert {"0.25", "4", "10", "1000"} <= set(written)  # logarithmic axes in plain numbers


def test_undefined_scores_are_named_and_empty(tmp_path):
    undefined = score("one", "surround_suppression_index", float("nan"), counts=[0, 0, 0, 0])
    plot_property_distributions([undefined], tmp_path / "figure.svg")
    assert "one  undefined, n = 0" in texts(tmp_path / "figure.svg")
