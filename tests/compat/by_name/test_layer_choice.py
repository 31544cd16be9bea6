"""The choice of layers under its names there."""

import numpy as np
import pytest

from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.compat.by_name.layer_choice import (
    STANDARD_REGION_BENCHMARKS,
    LayerScores,
    LayerSelection,
    RegionLayerMap,
)
from bsjax.compat.score import Score
from tests.support.written_plugins import LAYERS, by_hand, images_of, network


class FromTable:
    """A benchmark that gives each layer a score of a table, and keeps what it saw."""

    identifier, region = "Table.IT-known", "IT"

    def __init__(self, stimuli, table):
        self.stimuli, self.table, self.seen = stimuli, table, {}

    def __call__(self, candidate):
        candidate.start_recording(self.region, [(70, 170)])
        seen = candidate.look_at(self.stimuli)
        [layer] = set(seen["layer"].values.tolist())
        self.seen[candidate.identifier] = seen
        self.degrees = candidate.visual_degrees()
        score = Score(self.table[layer])
        score.attrs["raw"] = Score([self.table[layer]] * 2, coords={"split": [0, 1]}, dims=["split"])
        return score


def counted():
    """A network, and the layers that it was asked for."""
    model, asked = network(), []
    handle = model.get_activations

    def get(images, layers):
        asked.append(list(layers))
        return handle(images, layers)

    return network("counted", get), asked


@pytest.fixture
def stimuli(tmp_path):
    return images_of(tmp_path / "images")


def test_scores_by_layer(stimuli):
    benchmark = FromTable(stimuli, {"early": 0.2, "late": 0.7, "logits": 0.5})
    model, asked = counted()
    scores = LayerScores("net", model, visual_degrees=6)(benchmark, ["late", "early"], prerun=True)
    assert type(scores) is Score and scores["layer"].values.tolist() == ["late", "early"]
    assert scores.values.tolist() == [0.7, 0.2] and scores.raw.sel(layer="early").values.tolist() == [0.2, 0.2]
    assert benchmark.degrees == 6 and list(benchmark.seen) == ["net-late", "net-early"]
    for layer in ("late", "early"):
        np.testing.assert_array_equal(benchmark.seen[f"net-{layer}"].values, by_hand(stimuli, layer))
    assert {frozenset(layers) for layers in asked} >= {frozenset(["late", "early"])}


def test_the_best_layer(stimuli):
    select = LayerSelection("net", network(), list(LAYERS), visual_degrees=8)
    assert select("IT", FromTable(stimuli, {"early": 0.2, "late": 0.7, "logits": 0.5})) == "late"
    assert select("IT", FromTable(stimuli, {"early": 0.2, "late": 0.7, "logits": 0.7})) == "late"
    assert select("IT", FromTable(stimuli, {"early": np.nan, "late": 0.2, "logits": 0.5})) == "logits"
    with pytest.raises(ValueError, match="no layer of 'net' has a score for IT: the scores of all 3 are NaN"):
        select("IT", FromTable(stimuli, dict.fromkeys(LAYERS, np.nan)))


def test_regions_are_committed_when_they_are_looked_up(stimuli):
    table = {"early": 0.2, "late": 0.7, "logits": 0.5}
    built = []
    lazy = LazyLoad(lambda: built.append(1) or FromTable(stimuli, table))
    layers = RegionLayerMap(LayerSelection("net", network(), list(LAYERS), 8), {"IT": lazy})
    assert layers == {} and "IT" not in layers and not built
    assert [layers["IT"], layers["IT"]] == ["late", "late"] and built == [1] and layers == {"IT": "late"}
    layers["V4"] = "early"
    assert layers["V4"] == "early"
    with pytest.raises(ValueError, match="no layer is committed to V1,"):
        _ = layers["V1"]


def test_the_public_benchmarks_are_loaded_when_they_are_used():
    assert set(STANDARD_REGION_BENCHMARKS) == {"V1", "V2", "V4", "IT"}
    names = {region: benchmark.identifier for region, benchmark in STANDARD_REGION_BENCHMARKS.items()}
    assert names == {
        "V1": "FreemanZiemba2013public.V1-pls",
        "V2": "FreemanZiemba2013public.V2-pls",
        "V4": "MajajHong2015public.V4-pls",
        "IT": "MajajHong2015public.IT-pls",
    }
    assert all(benchmark.region == region for region, benchmark in STANDARD_REGION_BENCHMARKS.items())
