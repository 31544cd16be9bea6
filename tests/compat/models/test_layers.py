"""Layers as regions, and the time bins that are asked for."""

import numpy as np
import pytest

from bsjax.compat.assemblies import NeuroidAssembly
from bsjax.compat.by_name.layer_choice import RegionLayerMap
from bsjax.compat.models.layers import LayerMappedModel, TemporalAligned, assembly_time_align, fix_timebin_naming
from tests.support.written_plugins import by_hand, images_of, network

BINS = [(0, 100), (100, 200), (200, 300)]


class Moving:
    """A model whose responses are 1, 2, 4 in three bins; it keeps what it was told."""

    identifier = "moving"

    def __init__(self):
        self.told = []

    def start_recording(self, region):
        self.told.append(region)

    def look_at(self, stimuli, number_of_trials=1):
        values = np.ones((len(stimuli), 2, 1)) * [1.0, 2.0, 4.0]
        starts, ends = zip(*BINS, strict=True)
        coords = {"time_bin_start": ("time_bin", list(starts)), "time_bin_end": ("time_bin", list(ends))}
        coords["stimulus_id"] = ("presentation", stimuli["stimulus_id"].to_numpy())
        return NeuroidAssembly(values, coords=coords, dims=["presentation", "neuroid", "time_bin"])


@pytest.fixture
def stimuli(tmp_path):
    return images_of(tmp_path / "images")


def test_layers_are_recorded_as_regions(stimuli):
    model = LayerMappedModel("net", network(), {"V1": "early", "IT": ["late", "logits"]}, visual_degrees=6)
    assert (model.identifier, model.visual_degrees(), model.recorded_regions) == ("net", 6, [])
    model.start_recording("IT")
    seen = model.look_at(stimuli)
    assert model.recorded_regions == ["IT"] and set(seen["region"].values) == {"IT"}
    assert seen.sizes["neuroid"] == 1003
    np.testing.assert_array_equal(seen.sel(layer="late").values, by_hand(stimuli, "late"))
    np.testing.assert_array_equal(model.run_activations(stimuli, ["early"]).values, by_hand(stimuli, "early"))
    model.recorded_regions = ["V1", "IT"]
    both = model.look_at(stimuli)
    regions = dict(zip(both["layer"].values.tolist(), both["region"].values.tolist(), strict=True))
    assert regions == {"early": "V1", "late": "IT", "logits": "IT"}


def test_a_lazy_map_is_asked_when_stimuli_are_shown(stimuli):
    asked = []

    def choose(selection_identifier, benchmark):
        asked.append((selection_identifier, benchmark))
        return "late"

    model = LayerMappedModel("net", network(), RegionLayerMap(choose, {"IT": "the benchmark"}))
    model.start_recording("IT")
    assert asked == []
    for _ in range(2):
        np.testing.assert_array_equal(model.look_at(stimuli).values, by_hand(stimuli, "late"))
    assert asked == [("IT", "the benchmark")] and model.region_layer_map == {"IT": "late"}
    model.start_recording("V4")
    with pytest.raises(ValueError, match="no layer is committed to V4, .* there are benchmarks for IT"):
        model.look_at(stimuli)


def test_a_model_without_time_answers_the_same_in_every_bin(stimuli):
    model = TemporalAligned(LayerMappedModel("net", network(), {"IT": "late"}, 8))
    assert model.identifier == "net" and model.visual_degrees() == 8 and model.region_layer_map == {"IT": "late"}
    with pytest.raises(ValueError, match="no time bins are recorded: call start_recording"):
        model.look_at(stimuli)
    model.start_recording("IT", time_bins=[(70, 170)])
    once = model.look_at(stimuli)
    assert once.dims == ("presentation", "neuroid")
    np.testing.assert_array_equal(once.values, by_hand(stimuli, "late"))
    model.start_recording("IT", np.array([(70, 90), (90, 110)]))  # as published benchmarks give them
    seen = model.look_at(stimuli)
    assert type(seen) is NeuroidAssembly and seen.dims == ("presentation", "neuroid", "time_bin")
    assert seen["time_bin_start"].values.tolist() == [70, 90] and seen["time_bin_end"].values.tolist() == [90, 110]
    for number in range(2):
        np.testing.assert_array_equal(seen.isel(time_bin=number).values, once.values)
    assert set(seen["region"].values) == {"IT"}


def test_a_model_with_time_is_aligned(stimuli):
    within = Moving()
    model = TemporalAligned(within)
    model.start_recording("IT", [(50, 150), (200, 300)])
    seen = model.look_at(stimuli)
    assert within.told == ["IT"] and seen["time_bin_start"].values.tolist() == [50, 200]
    assert seen.values[:, 0].tolist() == [[1.5, 4.0]] * 3
    model.start_recording("IT", [(0, 300)])
    assert model.look_at(stimuli).dims == ("presentation", "neuroid")
    np.testing.assert_allclose(model.look_at(stimuli).values, 7 / 3)
    model.start_recording("IT", [(250, 400)])
    with pytest.raises(ValueError, match="the time bin 250 to 400 ms is not covered; there are the bins"):
        model.look_at(stimuli)
    first = TemporalAligned(within, align_fnc=lambda assembly, bins: assembly.isel(time_bin=[0] * len(bins)))
    first.start_recording("IT", [(250, 400), (0, 1)])
    assert first.look_at(stimuli).values[0, 0].tolist() == [1, 1]


def test_alignment_under_its_name_there(stimuli):
    seen = Moving().look_at(stimuli)
    assert assembly_time_align(seen, [(50, 250)]).values[0, 0].tolist() == [(0.5 + 2 + 2) / 2]
    assert assembly_time_align(seen, [(50, 250), (250, 300)], mode="center").values[0, 0].tolist() == [2, 4]
    assert type(assembly_time_align(seen, BINS)) is NeuroidAssembly and fix_timebin_naming(seen) is seen
    with pytest.raises(ValueError, match="mode must be 'portion' or 'center'.*got 'middle'"):
        assembly_time_align(seen, BINS, mode="middle")
