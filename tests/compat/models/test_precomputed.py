"""Answers that are known already, as tests of plugins give them."""

import numpy as np
import pytest

from bsjax import StimulusSet
from bsjax.benchmarks.lazy_loading import LazyLoad
from bsjax.compat.assemblies import BehavioralAssembly
from bsjax.compat.models.precomputed import PrecomputedFeatures
from bsjax.compat.sides.models import model_for_bsjax
from tests.compat.conftest import recording

# The recordings themselves: each stimulus on two trials, not in the order of their names.
TRIALS = {"stimulus_id": ("presentation", [*"bcabca"]), "repetition": ("presentation", [0, 0, 0, 1, 1, 1])}
FEATURES = recording(0, 6, 2, **TRIALS).copy(data=np.arange(12.0).reshape(6, 2))


def stimuli_of(*ids, identifier="shown"):
    return StimulusSet({"stimulus_id": list(ids)}, identifier=identifier)


def test_the_first_stored_row_of_each_stimulus():
    model = PrecomputedFeatures(FEATURES, visual_degrees=8)
    model.start_recording("IT", time_bins=[(70, 170)])
    model.start_task("passive")
    assert model.visual_degrees() == 8
    for asked in (model, model_for_bsjax(model)):
        seen = asked.look_at(stimuli_of("a", "c", "b", "a"), number_of_trials=30)
        assert seen["stimulus_id"].values.tolist() == ["a", "c", "b", "a"]
        assert seen.values.tolist() == [[4, 5], [2, 3], [0, 1], [4, 5]] and set(seen["repetition"].values) == {0}


def test_answers_by_stimulus_set():
    said = BehavioralAssembly(["x", "y"], coords={"stimulus_id": ("presentation", ["a", "b"])}, dims=["presentation"])
    model = PrecomputedFeatures({"one": LazyLoad(lambda: FEATURES), "two": said}, visual_degrees=8)
    assert model.look_at(stimuli_of("b", identifier="one")).values.tolist() == [[0, 1]]
    assert model.look_at(stimuli_of("b", "a", identifier="two")).values.tolist() == ["y", "x"]
    with pytest.raises(KeyError) as missing:
        model.look_at(stimuli_of("a", identifier="three"))
    assert str(missing.value) == "no stored answers to the stimulus set 'three', only to one, two"


def test_stimuli_without_an_answer_are_named():
    model = PrecomputedFeatures(FEATURES, visual_degrees=8)
    with pytest.raises(ValueError, match="no stored answer to 2 of 3 stimuli: d, e"):
        model.look_at(stimuli_of("d", "a", "e"))
