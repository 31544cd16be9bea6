"""Coordinates taken apart and put together, and rows that two assemblies share."""

import numpy as np
import pytest
import xarray as xr

from bsjax.compat.assemblies import DataAssembly, NeuroidAssembly
from bsjax.compat.metrics.coords import (
    collect_coords,
    expand,
    filter_coords,
    get_modified_coords,
    rename_coords,
    subset,
)


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


def test_coordinates_are_modified(assembly):
    plain = get_modified_coords(assembly)
    assert list(plain) == ["stimulus_id", "object_name", "neuroid_id", "region"]
    assert plain["region"][0] == ("neuroid",) and plain["region"][1].tolist() == ["V4", "V4", "IT"]

    def upper(name, dims, values):
        return None if "neuroid" in dims else (name.upper(), (dims, values[::-1]))

    modified = get_modified_coords(assembly, upper)
    assert list(modified) == ["STIMULUS_ID", "OBJECT_NAME"]
    assert modified["STIMULUS_ID"][1].tolist() == ["c", "b", "d", "a", "e"]


def test_coordinates_are_left_out_and_renamed(assembly):
    assert list(filter_coords(assembly.coords, ["neuroid", "object_name"])) == ["stimulus_id"]
    renamed = rename_coords(assembly.coords, ["presentation", "stimulus_id"], "source")
    assert list(renamed) == ["stimulus_id-source", "object_name", "neuroid_id", "region"]
    assert renamed["object_name"][0] == ("presentation-source",) and renamed["region"][0] == ("neuroid",)
    collected = collect_coords(assembly, ["presentation"], ["neuroid"], "left")
    assert {name: dims for name, (dims, _) in collected.items()} == {
        "neuroid_id": ("neuroid-left",),
        "region": ("neuroid-left",),
    }
    several = assembly.assign_coords(both=(("presentation", "neuroid"), np.zeros((5, 3))))
    with pytest.raises(ValueError, match=r"'both' lies on \('presentation', 'neuroid'\), of which only some"):
        filter_coords(several.coords, ["neuroid"])
    assert "both" not in filter_coords(several.coords, ["neuroid", "presentation"])


def test_single_coordinates_become_dimensions():
    values = np.arange(6.0).reshape(2, 3)
    coords = {"subject_target": "s", "a": [1, 2, 3], "b": ["x", "y"], "note": "kept"}
    assembly = DataAssembly(values, dims=["b", "a"], coords=coords)
    expanded = expand(assembly, ["subject", "a", "b"])
    assert expanded.sizes == {"subject_target": 1, "a": 3, "b": 2} and expanded["note"].item() == "kept"
    assert expanded["subject_target"].values.tolist() == ["s"]
    for a, b in ((1, "x"), (3, "y")):
        assert expanded.sel(a=a, b=b).item() == assembly.sel(a=a, b=b).item()
    assert expand(assembly, ["a"]).transpose("b", "a").identical(assembly)


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
