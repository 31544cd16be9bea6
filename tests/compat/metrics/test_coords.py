"""Rows that two assemblies share."""

import numpy as np
import pytest
import xarray as xr

from bsjax.compat.assemblies import DataAssembly, NeuroidAssembly
from bsjax.compat.metrics.coords import subset


@pytest.fixture
def assembly():
    return NeuroidAssembly(
        np.arange(15.0).reshape(5, 3),
        coords={
            "stimulus_id": ("presentation", ["e", "a", "d", "b", "c"]),
            "object_name": ("presentation", ["dog", "cat", "dog", "cat", "dog"]),
            "neuroid_id": ("neuroid", [1, 2, 3]),
            "region": ("neuroid", ["V4", "V4", "IT"]),
        },
        dims=["presentation", "neuroid"],
    )


def test_rows_that_another_assembly_has(assembly):
    target = assembly.isel(presentation=[3, 0], neuroid=[0, 1])
    found = subset(assembly, target)
    assert found["stimulus_id"].values.tolist() == ["e", "b"] and found["neuroid_id"].values.tolist() == [1, 2]
    assert found.values.tolist() == [[0, 1], [9, 10]] and type(found) is NeuroidAssembly
    by_coordinate = subset(assembly, target, ["stimulus_id"])
    assert by_coordinate.sizes == {"presentation": 2, "neuroid": 3}
    dogs = xr.DataArray([0.0], coords={"object_name": ["dog"]}, dims=["object_name"])
    assert subset(assembly, dogs, dims_must_match=False)["stimulus_id"].values.tolist() == ["e", "d", "c"]


def test_rows_are_repeated_as_often_as_the_target_has_them(assembly):
    target = assembly.isel(presentation=[2, 1, 2, 2])
    found = subset(assembly, target, ["stimulus_id"], repeat=True)
    assert found["stimulus_id"].values.tolist() == ["a", "d", "d", "d"]
    assert found.values[:, 0].tolist() == [3, 6, 6, 6]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Duplicate dimension names")
@pytest.mark.parametrize("repeat", [False, True])
def test_rows_and_columns_of_a_matrix(assembly, repeat):
    ids = assembly["stimulus_id"].values
    coords = {"stimulus_id": ("presentation", ids), "subject": "s"}
    matrix = DataAssembly(np.arange(25.0).reshape(5, 5), coords=coords, dims=["presentation", "presentation"])
    target = DataAssembly([0.0] * 3, coords={"stimulus_id": ("presentation", ["d", "a", "e"])}, dims=["presentation"])
    found = subset(matrix, target, repeat=repeat)
    rows = [list(ids).index(name) for name in found["stimulus_id"].values]
    assert sorted(found["stimulus_id"].values) == ["a", "d", "e"] and found["subject"].item() == "s"
    assert found.values.tolist() == matrix.values[np.ix_(rows, rows)].tolist()
