"""Behaviour that plugins put together themselves, over wrappers and bare functions."""

import numpy as np
import pytest

from bsjax.compat.assemblies import BehavioralAssembly
from bsjax.compat.models.tasks import BehaviorArbiter, LabelBehavior, OddOneOut, ProbabilitiesMapping
from bsjax.models.brain_model import Task
from bsjax.models.tasks.imagenet import indices_of, synsets
from tests.support.written_plugins import answering, by_hand, images_of, network

DOG, CAT = (list(indices_of(label)) for label in ("dog", "cat"))


def logits_of(*classes):
    """A row for each: the one class stands out."""
    return 9.0 * np.eye(1000)[list(classes)]


@pytest.fixture
def stimuli(tmp_path):
    return images_of(tmp_path / "images", image_label=["x", "y", "x"])


def test_labels_of_a_bare_function(stimuli):
    task = LabelBehavior("bare", answering(logits_of(CAT[0], DOG[3], DOG[0])))
    assert task.identifier == "bare" and task.current_task is None
    task.start_task(Task.label, ["dog", "cat"])
    said = task.look_at(stimuli)
    assert task.current_task is Task.label and type(said) is BehavioralAssembly
    assert said.dims == ("choice", "presentation") and said.values.tolist() == [["cat", "dog", "dog"]]
    assert said["stimulus_id"].values.tolist() == ["a", "b", "c"]
    assert said["label"].values.tolist() == ["cat", "dog", "dog"] and said["image_label"].values.tolist()[1] == "y"


def test_classes_of_imagenet_over_a_wrapper(stimuli):
    label = LabelBehavior("net", network())
    label.start_task("label", "imagenet")
    expected = [synsets()[number] for number in by_hand(stimuli, "logits").argmax(axis=1)]
    assert label.look_at(stimuli).values[0].tolist() == expected


@pytest.mark.slow
def test_probabilities_of_several_layers(stimuli):
    learned = ProbabilitiesMapping("net", network(), ["early", "late"])
    learned.start_task("probabilities", stimuli)
    found = learned.look_at(stimuli)
    assert found.dims == ("presentation", "choice") and found["choice"].values.tolist() == ["x", "y"]
    np.testing.assert_allclose(found.sum("choice"), 1, rtol=1e-5)


def test_trials_that_vary_are_in_the_field_of_the_wrapper(stimuli):
    shifts = {}
    for degrees in (8, 4):
        model = network()
        model.set_visual_degrees(degrees)
        task = LabelBehavior("net", model)
        task.start_task("label", ["dog", "cat"])
        said = task.look_at(stimuli, number_of_trials=2, require_variance=True)
        assert said.sizes["presentation"] == 6
        direct = model(stimuli, layers=["logits"], number_of_trials=2, require_variance=True)
        name = "microsaccade_shift_x_pixels"
        np.testing.assert_array_equal(said[name].values, direct[name].values)
        shifts[degrees] = said[name].values
    assert np.abs(shifts[8]).max() > 0 and (shifts[4] != shifts[8]).any()
    unknown = LabelBehavior("net", network())
    unknown.start_task("label", ["dog", "cat"])
    with pytest.raises(ValueError, match="its field of view is not known: call set_visual_degrees"):
        unknown.look_at(stimuli, number_of_trials=2, require_variance=True)


def test_odd_ones_out(tmp_path):
    stimuli = images_of(tmp_path / "images", 4)
    # By angle "a" and "c" are alike; by the inner product the long "b" is like "c".
    task = OddOneOut("bare", answering([[1, 0], [0, 50], [1, 0.1], [3, 0]]), "late")
    assert task.current_task is Task.odd_one_out and task.similarity_measure == "dot"
    triplets = stimuli.iloc[[0, 1, 2, 3, 1, 0]]
    found = task.look_at(triplets)  # there is one task only, so that it need not be started
    assert found.dims == ("choice", "presentation") and found.values.tolist() == [["a", "b"]]
    task.set_similarity_measure("cosine")  # also after the start
    assert task.similarity_measure == "cosine" and task.look_at(triplets).values.tolist() == [["b", "b"]]
    task.start_task("odd_one_out", similarity_measure="dot")
    assert task.look_at(triplets).identical(found)


def test_the_arbiter_gives_each_task_to_what_does_it(stimuli):
    label, odd = LabelBehavior("bare", answering(logits_of(DOG[0], 1, 1))), OddOneOut("bare", answering(np.eye(3)), "x")
    arbiter = BehaviorArbiter({Task.label: label, Task.odd_one_out: odd})
    with pytest.raises(ValueError, match="no task was started: call start_task with one of label, odd_one_out"):
        arbiter.look_at(stimuli)
    arbiter.start_task("label", ["dog", "cat"])
    assert arbiter.current_executor is label and arbiter.look_at(stimuli).values[0, 0] == "dog"
    arbiter.start_task(Task.odd_one_out)
    assert arbiter.look_at(stimuli, number_of_trials=1).values.tolist() == [["c"]]
    with pytest.raises(ValueError, match="no model for the task 'probabilities'; there is one for label, odd_one_out"):
        arbiter.start_task(Task.probabilities, stimuli)
