"""A model whose answers are stored."""

import numpy as np

from bsjax import BehavioralAssembly, BrainModel, NeuroidAssembly, StimulusSet
from bsjax.data import write_netcdf
from bsjax.models import PrecomputedFeatures
from tests.support.people import behaviour

FEATURES = NeuroidAssembly(
    np.arange(6.0).reshape(3, 2),
    coords={"stimulus_id": ("presentation", ["a", "b", "c"]), "neuroid_id": ("neuroid", ["n", "m"])},
    dims=["presentation", "neuroid"],
)


def test_answers_come_in_the_order_of_the_stimuli_whatever_is_asked():
    model = PrecomputedFeatures(FEATURES, visual_degrees=8, identifier="known")
    assert isinstance(model, BrainModel)
    assert (model.identifier, model.visual_degrees()) == ("known", 8)
    model.start_recording("V4", [(70, 170)])
    model.start_task("passive")
    answers = model.look_at(StimulusSet({"stimulus_id": ["c", "a"]}), number_of_trials=5)
    assert answers.values.tolist() == [[4.0, 5.0], [0.0, 1.0]]


def test_choices_of_a_file(tmp_path):
    choices = behaviour(["cat", "dog"], stimulus_id=["a", "b"])
    write_netcdf(choices, tmp_path / "choices.nc")
    model = PrecomputedFeatures(tmp_path / "choices.nc", visual_degrees=8)
    assert model.identifier == "choices"
    model.start_task("probabilities", None, number_of_trials=2)
    answers = model.look_at(["b", "a"])
    assert answers.values.tolist() == ["dog", "cat"] and isinstance(answers, BehavioralAssembly)
