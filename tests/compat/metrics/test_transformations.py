"""Cross-validation of assemblies."""

import numpy as np
import pytest
from sklearn.model_selection import ShuffleSplit, StratifiedKFold, StratifiedShuffleSplit

from bsjax.compat.assemblies import DataAssembly
from bsjax.compat.metrics.transformations import (
    CrossValidation,
    CrossValidationSingle,
    TestOnlyCrossValidation,
    apply_aggregate,
)
from bsjax.compat.score import Score
from tests.compat.conftest import recording

ROWS = 20
OBJECTS = np.array(["dog", "cat"] * (ROWS // 2))


@pytest.fixture
def assembly():
    of_neuroids = {"region": ("neuroid", ["V4", "IT", "IT", "IT"]), "animal": ("neuroid", ["x", "x", "y", "y"])}
    return recording(0, ROWS, 4, **of_neuroids)


class Parts:
    """Keeps what it is applied to, and gives the mean of the last."""

    def __init__(self):
        self.seen = []

    def __call__(self, *parts):
        self.seen.append(parts)
        return Score(float(parts[-1].mean()))

    @property
    def ids(self):
        return [[part["stimulus_id"].values.tolist() for part in parts] for parts in self.seen]


def ids_of(splits, names):
    return [[names[train].tolist(), names[test].tolist()] for train, test in splits]


def test_the_rawest_values_are_kept():
    values = Score([0.2, 0.4], dims=["neuroid"])
    once = apply_aggregate(lambda score: score.mean("neuroid"), values)
    assert once == pytest.approx(0.3) and once.raw is values
    again = apply_aggregate(lambda score: Score(float(score) * 2), once)
    assert again == pytest.approx(0.6) and again.raw is values


@pytest.mark.parametrize(
    ("arguments", "oracle", "balanced"),
    [
        ({}, StratifiedShuffleSplit(10, train_size=0.9, random_state=1), True),
        (
            {"splits": 3, "train_size": 0.7, "stratification_coord": None},
            ShuffleSplit(3, train_size=0.7, random_state=1),
            False,
        ),
        ({"splits": 4, "kfold": True}, StratifiedKFold(4, shuffle=True, random_state=1), True),
    ],
)
def test_splits_are_those_of_scikit_learn(assembly, arguments, oracle, balanced):
    names, parts = assembly["stimulus_id"].values, Parts()
    expected = ids_of(oracle.split(np.zeros(ROWS), OBJECTS if balanced else None), names)
    CrossValidationSingle(**arguments)(assembly, apply=parts)
    assert [[sorted(part) for part in each] for each in parts.ids] == [[sorted(p) for p in each] for each in expected]


def test_the_mean_of_splits_of_its_error_and_the_raw_values(assembly):
    parts = Parts()
    score = CrossValidationSingle(splits=4, test_size=0.5)(assembly, apply=parts)
    means = [float(test.mean()) for _, test in parts.seen]
    assert score == pytest.approx(np.mean(means)) and score.attrs["error"] == pytest.approx(np.std(means) / 2)
    assert score.raw["split"].values.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(score.raw.values, means)
    trials = assembly.isel(presentation=np.repeat(range(ROWS), 2))
    score = CrossValidationSingle(splits=3, test_size=0.5, unique_split_values=True)(
        trials, apply=lambda _, test: Score(test.mean("presentation")), aggregate=lambda each: each.median("neuroid")
    )
    assert score.dims == () and set(score.raw.dims) == {"split", "neuroid"} and "region" in score.raw.coords
    assert score == pytest.approx(np.median(score.raw.transpose("split", "neuroid").values, axis=1).mean())


def test_source_and_target_are_split_alike(assembly):
    parts = Parts()
    target = assembly.isel(presentation=np.random.default_rng(1).permutation(ROWS), neuroid=[0, 1])
    CrossValidation(splits=3, test_size=0.3)(assembly, target, apply=parts)
    for train_source, train_target, test_source, test_target in parts.ids:
        assert sorted(train_source) == sorted(train_target) and sorted(test_source) == sorted(test_target)
        assert not set(train_source) & set(test_source) and len(train_source) + len(test_source) == ROWS
    assert [part.sizes["neuroid"] for part in parts.seen[0]] == [4, 2, 4, 2]
    again = Parts()
    TestOnlyCrossValidation(splits=3, test_size=0.3)(assembly, target, apply=again)
    assert again.ids == [each[2:] for each in parts.ids]


@pytest.mark.filterwarnings("ignore:Duplicate dimension names")
def test_matrices_are_split_on_both_sides(assembly):
    coords = {name: assembly.coords[name].variable for name in ("stimulus_id", "object_name")}
    rdm = DataAssembly(np.arange(ROWS**2).reshape(ROWS, ROWS), coords=coords, dims=["presentation", "presentation"])
    parts = Parts()
    CrossValidationSingle(splits=2, test_size=0.2)(rdm, apply=parts)
    for train, test in parts.seen:
        assert train.shape == (16, 16) and test.shape == (4, 4)
        rows = [int(name[1:]) for name in test["stimulus_id"].values]
        assert test.values.tolist() == rdm.values[np.ix_(rows, rows)].tolist()


def test_what_cannot_be_cross_validated(assembly):
    fewer = assembly.isel(presentation=slice(ROWS - 1))
    with pytest.raises(ValueError, match="source and target must have the same values of 'stimulus_id'"):
        CrossValidation()(fewer, assembly, apply=Parts())
    bare = assembly.drop_vars("object_name")
    with pytest.raises(ValueError, match="must have the coordinate 'object_name' to be cross-validated by it"):
        CrossValidation()(bare, assembly, apply=Parts())
    CrossValidation(splits=2, stratification_coord=None)(bare, assembly, apply=Parts())
    with pytest.raises(ValueError, match="kfold=True takes no train_size"):
        CrossValidation(kfold=True, test_size=0.2)
