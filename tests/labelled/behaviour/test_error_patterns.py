"""Confusions, accuracies by condition, images on which model and people part."""

import numpy as np
import pytest
import xarray as xr
from sklearn.metrics import confusion_matrix as sklearn_confusions

from bsjax.labelled.behaviour.error_patterns import accuracy_by_condition, confusion_matrix, divergence


def choices(answers, truth, ids=None, **more):
    coords = {"stimulus_id": range(len(answers)) if ids is None else ids, "truth": truth, **more}
    coords = {name: ("presentation", list(each)) for name, each in coords.items()}
    return xr.DataArray(np.array(answers, object), coords, ["presentation"])


def test_confusions_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth, said = rng.choice(["cat", "dog", "cow"], 60), rng.choice(["cat", "dog", "cow"], 60)
    matrix = confusion_matrix(choices(said, truth))
    assert matrix["truth"].values.tolist() == matrix["response"].values.tolist() == ["cat", "cow", "dog"]
    np.testing.assert_allclose(matrix, sklearn_confusions(truth, said, normalize="true"))
    np.testing.assert_array_equal(matrix["n"], np.unique(truth, return_counts=True)[1])


def test_other_responses_come_last_and_missing_ones_do_not_count():
    matrix = confusion_matrix(choices(["na", "cat", None, "aardvark"], ["cat", "cat", "cat", "dog"]))
    assert matrix["response"].values.tolist() == ["cat", "dog", "aardvark", "na"]
    np.testing.assert_array_equal(matrix, [[0.5, 0, 0, 0.5], [0, 0, 1, 0]])


def test_accuracy_of_each_subject_in_each_condition():
    shown = {"condition": ["c10", "c10", "c5", "c5", "c5"], "subject": list("ABABB")}
    said = choices(["cat", "dog", "cat", "cat", "na"], ["cat"] * 5, **shown)
    accuracy = accuracy_by_condition(said)
    assert accuracy["condition"].values.tolist() == ["c5", "c10"] and accuracy["subject"].values.tolist() == ["A", "B"]
    np.testing.assert_array_equal(accuracy, [[1, 0.5], [1, 0]])
    alone = accuracy_by_condition(said[said["subject"].values == "B"].drop_vars("subject"))
    np.testing.assert_array_equal(alone.values[:, 0], [0.5, 0])
    accuracy = accuracy_by_condition(choices(["cat"] * 2, ["cat"] * 2, condition=["1", "2"], subject=["A", "B"]))
    np.testing.assert_array_equal(np.isnan(accuracy), [[False, True], [True, False]])


def test_images_on_which_model_and_people_part():
    model = choices(["cat", "cow", "cat"], ["cat", "dog", "cow"], ids=["a", "b", "c"])
    answers = "cat na cat dog dog dog cat cow cow".split()
    people = choices(answers, np.repeat(["cat", "dog", "cow"], 3), ids=np.repeat(["a", "b", "c"], 3))
    apart = divergence(model, people)
    assert apart["stimulus_id"].values.tolist() == ["b", "c", "a"]
    np.testing.assert_allclose(apart, [-1, -2 / 3, 1 / 3])
    np.testing.assert_allclose(apart["people_right"], [1, 2 / 3, 2 / 3])
    assert apart["response"].values.tolist() == ["cow", "cat", "cat"]
    assert apart["people_response"].values.tolist() == ["dog", "cow", "cat"]
    assert apart["n_people"].values.tolist() == [3, 3, 3]
    shown = {"truth": ["cat", "cat"], "ids": ["a", "a"], "condition": ["1", "2"]}
    apart = divergence(choices(["cat", "dog"], **shown), choices(["dog", "cat"], **shown))
    assert apart.values.tolist() == [1, -1] and apart["condition"].values.tolist() == ["1", "2"]


def test_an_image_has_one_truth():
    people = choices(["cat", "cat"], ["cat", "dog"], ids=["a", "a"], subject=["A", "B"], condition=["1", "1"])
    several = r"gives several truths for 1 stimulus_id \(a\); the first is 'cat' in choices and 'dog' in choices"
    for table in (confusion_matrix, accuracy_by_condition):
        with pytest.raises(ValueError, match=several):
            table(people)
    with pytest.raises(ValueError, match=r"model and people give several truths for 1 stimulus_id \(a\)"):
        divergence(choices(["cat"], ["cat"], ids=["a"]), choices(["cat"], ["dog"], ids=["a"]))
