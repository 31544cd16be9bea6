import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

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
    ],
)
def test_index_sets_are_those_of_scikit_learn(assembly, kwargs, splitter):
    got = CrossValidation.from_kwargs(kwargs).of(assembly)
    for (train, test), (expected_train, expected_test) in zip(got, splitter.split(LABELS, LABELS), strict=True):
        np.testing.assert_array_equal(train, expected_train)
        np.testing.assert_array_equal(test, expected_test)


def test_unique_values_keep_their_presentations_together(make):
    assembly = make(np.zeros((40, 1)), ids=[f"s{i % 20}" for i in range(40)])
    with pytest.raises(ValueError, match="40 presentations, 20 values.*unique_split_values=True"):
        CrossValidation.from_kwargs({}).of(assembly)  # they would leak
    for train, test in CrossValidation.from_kwargs({"unique_split_values": True}).of(assembly):
        ids = assembly["stimulus_id"].values
        assert not set(ids[train]) & set(ids[test])
        assert len(train) + len(test) == 40


def test_more_classes_than_stimuli_that_test(make):
    pairs = make(np.zeros((60, 1))).assign_coords(object_name=("presentation", np.arange(60) // 2))
    with pytest.raises(ValueError, match=r"60 stimuli of target .* 'object_name' has 30 values.*_coord\": None"):
        CrossValidation(train_size=0.9).of(pairs)


def sides(splits):
    return [(set(train.tolist()), set(test.tolist())) for train, test in splits]


STRATIFIED = {"stratification_coord": "object_name"}
GROUPS = np.array([f"scene{i}" for i in np.random.default_rng(0).permutation(np.repeat(np.arange(9), 5))[:31]])


@pytest.mark.parametrize(
    ("kwargs", "splitter"),
    [
        ({}, GroupShuffleSplit(10, train_size=0.9, random_state=1)),
        ({"splits": 4, "test_size": 0.3, "random_state": 7}, GroupShuffleSplit(4, test_size=0.3, random_state=7)),
        ({"kfold": True, "splits": 4}, GroupKFold(4, shuffle=True, random_state=1)),
        ({"kfold": True, "splits": 4} | STRATIFIED, StratifiedGroupKFold(4, shuffle=True, random_state=1)),
    ],
)
def test_groups_are_split_as_scikit_learn_splits_them(assembly, kwargs, splitter):
    assembly = assembly.assign_coords(scene=("presentation", GROUPS))
    got = CrossValidation.from_kwargs({"group_coord": "scene", **kwargs}).of(assembly)
    numbers = pd.factorize(GROUPS)[0]
    assert sides(got) == sides(splitter.split(LABELS, LABELS, numbers))
    for train, test in got:
        assert not set(GROUPS[train]) & set(GROUPS[test])


@pytest.mark.parametrize("kfold", [True, False])
def test_groups_of_repeated_presentations_stay_together(make, kfold):
    ids = np.array([f"s{i % 20:02d}" for i in range(60)])
    assembly = make(np.zeros((60, 1)), ids=ids, video=("presentation", [name[:2] + name[-1] for name in ids]))
    kwargs = {"group_coord": "video", "unique_split_values": True, "kfold": kfold, "splits": 5}
    for train, test in CrossValidation.from_kwargs(kwargs).of(assembly):
        videos = assembly["video"].values
        assert not set(videos[train]) & set(videos[test]) and len(train) + len(test) == 60
    torn = assembly.assign_coords(video=("presentation", [f"v{i // 10}" for i in range(60)]))
    with pytest.raises(ValueError, match=r"20 stimulus_id \(s00, .*belong to several groups of 'video'"):
        CrossValidation.from_kwargs(kwargs).of(torn)


@given(st.integers(4, 40), st.integers(2, 4), st.integers(0, 3), st.booleans(), st.integers(0, 100))
def test_blocks_follow_each_other_and_keep_their_distance(n, splits, gap, kfold, seed):
    time = np.random.default_rng(seed).permutation(n)
    ids = {"stimulus_id": ("presentation", np.arange(n)), "time": ("presentation", time)}
    assembly = xr.DataArray(np.zeros((n, 1)), ids, ["presentation", "neuroid"])
    sizes = {} if kfold else {"test_size": 0.3}
    kwargs = {"contiguous": "time", "gap": gap, "splits": splits, "kfold": kfold, "random_state": seed, **sizes}
    try:
        got = CrossValidation.from_kwargs(kwargs).of(assembly)
    except ValueError as error:
        assert gap and "leaves none of target's" in str(error)
        return
    for train, test in got:
        tested = time[test]
        assert tested.max() - tested.min() == len(test) - 1
        assert sorted(time[train]) == [t for t in range(n) if not tested.min() - gap <= t <= tested.max() + gap]
    if kfold:
        assert sorted(np.concatenate([test for _, test in got])) == list(range(n))
    else:
        assert len({tuple(sorted(test)) for _, test in got}) == min(splits, n - len(got[0][1]) + 1)


def test_blocks_are_of_the_order_of_rows_and_of_random_places(make):
    assembly = make(np.zeros((40, 1)))
    one, other = (
        CrossValidation.from_kwargs({"contiguous": True, "random_state": seed}).of(assembly) for seed in (1, 2)
    )
    assert sides(one) != sides(other)
    assert all((np.diff(test) == 1).all() and len(test) == 4 and len(train) == 36 for train, test in one)
    small = CrossValidation.from_kwargs({"contiguous": True, "train_size": 0.5, "test_size": 0.1}).of(assembly)
    assert all(len(train) == 20 and len(test) == 4 and not set(train) & set(test) for train, test in small)


def test_a_block_of_repeated_presentations_holds_all_of_them_and_its_gap_is_in_presentations(make):
    ids = [f"s{i}" for i in (3, 3, 1, 1, 0, 0, 2, 2)]
    assembly = make(np.zeros((8, 1)), ids=ids)
    kwargs = {"contiguous": True, "unique_split_values": True, "kfold": True, "splits": 4, "gap": 2}
    got = CrossValidation.from_kwargs(kwargs).of(assembly)
    assert sides(got) == [({4, 5, 6, 7}, {0, 1}), ({6, 7}, {2, 3}), ({0, 1}, {4, 5}), ({0, 1, 2, 3}, {6, 7})]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"folds": 3}, "unknown crossvalidation_kwargs folds; there are: splits, train_size"),
        ({"kfold": True, "test_size": 0.2}, "kfold=True takes no train_size"),
        ({"stratification_coord": "colour"}, "no coordinate 'colour'"),
        ({"stratification_coord": "rare"}, "too few stimuli to stratify 10 splits by 'rare': 1 .*other"),
        ({"group_coord": "one"}, r"target has 1 group\(s\) of 'one', of which 10 splits take at least 2"),
        ({"group_coord": "holes"}, r"target has no holes for 1 of its presentations \(30\)"),
        ({"gap": 2}, "gap=2 needs blocks of presentations: pass contiguous=True"),
        ({"contiguous": True, "stratification_coord": "object_name"}, "blocks of .* cannot keep the shares of strata"),
        ({"group_coord": "one", "stratification_coord": "object_name"}, "whole groups .* pass kfold=True, or pass"),
        ({"contiguous": True, "kfold": True, "splits": 40}, "31 stimuli are too few for 40 blocks: use fewer folds"),
        ({"test_size": 40, "stratification_coord": None}, "31 stimuli of target cannot be split into .* test_size=40"),
        ({"kfold": True, "splits": 40, "stratification_coord": None}, "31 stimuli of .* be split into 40 folds"),
        ({"contiguous": True, "gap": 28}, "a gap of 28 presentations around each block leaves none of target's 31"),
    ],
)
def test_splits_that_cannot_be_made_say_why(assembly, kwargs, message):
    coords = {"one": ("presentation", [1] * 31), "holes": ("presentation", [*range(30), np.nan])}
    coords["rare"] = "presentation", ["other", *["common"] * 30]
    with pytest.raises(ValueError, match=message):
        CrossValidation.from_kwargs(kwargs).of(assembly.assign_coords(coords))
