import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from bsjax.labelled.splits import CrossValidation

LABELS = [f"object{i % 3}" for i in range(31)]


@pytest.fixture
def assembly(make):
    return make(np.zeros((31, 1))).assign_coords(object_name=("presentation", LABELS))


@pytest.mark.parametrize(
    ("kwargs", "splitter"),
    [
        ({}, StratifiedShuffleSplit(10, train_size=0.9, random_state=1)),
        ({"stratification_coord": None}, ShuffleSplit(10, train_size=0.9, random_state=1)),
        ({"kfold": True}, StratifiedKFold(10, shuffle=True, random_state=1)),
        ({"kfold": True, "stratification_coord": None}, KFold(10, shuffle=True, random_state=1)),
        ({"splits": 4, "test_size": 0.3, "random_state": 7}, StratifiedShuffleSplit(4, test_size=0.3, random_state=7)),
    ],
)
def test_index_sets_are_those_of_scikit_learn(assembly, kwargs, splitter):
    got = CrossValidation.from_kwargs(kwargs).of(assembly)
    for (train, test), (expected_train, expected_test) in zip(got, splitter.split(LABELS, LABELS), strict=True):
        np.testing.assert_array_equal(train, expected_train)
        np.testing.assert_array_equal(test, expected_test)


def test_unique_values_keep_their_presentations_together(make):
    assembly = make(np.zeros((40, 1)), ids=[f"s{i % 20}" for i in range(40)])
    for train, test in CrossValidation.from_kwargs({"unique_split_values": True}).of(assembly):
        ids = assembly["stimulus_id"].values
        assert not set(ids[train]) & set(ids[test])
        assert len(train) + len(test) == 40


def test_repeated_values_would_leak_and_are_refused(make):
    assembly = make(np.zeros((40, 1)), ids=[f"s{i % 20}" for i in range(40)])
    with pytest.raises(ValueError, match="40 presentations, 20 values.*unique_split_values=True"):
        CrossValidation.from_kwargs({}).of(assembly)


def test_an_unknown_argument_is_named_with_those_there_are():
    with pytest.raises(ValueError, match="unknown crossvalidation_kwargs folds; there are: splits, train_size"):
        CrossValidation.from_kwargs({"folds": 3})


def test_kfold_takes_no_sizes():
    with pytest.raises(ValueError, match="kfold=True takes no train_size"):
        CrossValidation.from_kwargs({"kfold": True, "test_size": 0.2})


def test_a_missing_stratification_coordinate_says_how_to_do_without(assembly):
    bare = assembly.drop_vars("object_name")
    with pytest.raises(
        ValueError, match=r"no coordinate 'object_name'.*there are: stimulus_id.*\"stratification_coord\": None"
    ):
        CrossValidation.from_kwargs({}).of(bare)


def test_a_stratum_of_one_is_named(assembly):
    rare = assembly.assign_coords(object_name=("presentation", ["rare", *["common"] * 30]))
    with pytest.raises(ValueError, match="too few stimuli to stratify 10 splits by 'object_name': 1 .*rare"):
        CrossValidation.from_kwargs({}).of(rare)
