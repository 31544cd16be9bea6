"""Brain models as benchmarks of the other side ask them."""

import numpy as np
import pytest

from bsjax import BehavioralAssembly, StimulusSet, load_model
from bsjax.compat import assemblies
from bsjax.compat.models.commitment import ModelCommitment
from bsjax.compat.sides.models import ModelForBsjax, ModelForPlugins, model_for_bsjax, model_for_plugins
from tests.support.recorder import Recorder
from tests.support.written_plugins import network

STIMULI = StimulusSet({"stimulus_id": ["a", "b", "c"]})


class OfPlugin:
    """A plugin's own brain model, with no argument that it does not need; it keeps what it was asked."""

    identifier = "own"

    def __init__(self):
        self.asked = []

    def visual_degrees(self):
        return 8

    def start_task(self, task, *labels, **settings):
        self.asked.append((task, labels, settings))

    def start_recording(self, recording_target, time_bins):
        self.asked.append((recording_target, time_bins))

    def look_at(self, stimuli):
        coords = {"stimulus_id": ("presentation", stimuli["stimulus_id"].to_numpy())}
        return assemblies.BehavioralAssembly([["x", "y", "x"]], coords=coords, dims=["choice", "presentation"])


def test_a_model_of_bsjax_for_plugins():
    own = Recorder(STIMULI, np.arange(6.0).reshape(3, 2))
    model = model_for_plugins(own)
    model.start_recording("IT", [(70, 170)])
    seen = model.look_at(STIMULI, number_of_trials=5)
    assert type(seen) is assemblies.NeuroidAssembly and seen.values.tolist() == own.values.tolist()
    assert own.recorded == [("IT", [(70, 170)])] and own.looked[0][1] == 5
    assert (model.identifier, model.visual_degrees()) == ("recorder", 8) and repr(model) == repr(own)
    assert not hasattr(model, "nothing")
    assert model_for_bsjax(model) is own and model_for_plugins(model) is model


def test_a_model_of_a_plugin_for_bsjax():
    plugin = OfPlugin()
    model = model_for_bsjax(plugin)
    assert type(model) is ModelForBsjax and (model.identifier, model.visual_degrees()) == ("own", 8)
    said = model.look_at(STIMULI, number_of_trials=3, require_variance=True)  # arguments that it does not know
    assert type(said) is BehavioralAssembly and said.dims == ("presentation", "choice")
    assert said.values.tolist() == [["x"], ["y"], ["x"]] and said["stimulus_id"].values.tolist() == ["a", "b", "c"]
    model.start_task("label", ["x", "y"], aggregation="max")
    model.start_task("passive")
    model.start_recording("IT", [(70, 170)])
    assert plugin.asked == [("label", (["x", "y"],), {"aggregation": "max"}), ("passive", (), {}), ("IT", [(70, 170)])]
    assert model_for_plugins(model) is plugin and model_for_bsjax(model) is model and repr(model) == repr(plugin)
    with pytest.raises(AttributeError, match="nothing"):
        _ = model.nothing


def test_commitments_are_models_of_both_sides():
    own, plugin = load_model("pixels"), ModelCommitment("net", network(), ["late"], region_layer_map={"IT": "late"})
    assert model_for_bsjax(own) is own and model_for_plugins(plugin) is plugin and model_for_bsjax(plugin) is plugin
    assert type(model_for_plugins(own)) is ModelForPlugins
