"""Assemblies in plugin code: levels, selection, arithmetic, writes, merges."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bsjax import data
from bsjax.compat.assemblies import (
    DataAssembly,
    NeuroidAssembly,
    for_bsjax,
    for_plugins,
    merge_data_arrays,
    walk_coords,
)


@pytest.fixture
def assembly():
    return NeuroidAssembly(
        np.arange(12.0).reshape(3, 4),
        coords={
            "stimulus_id": ("presentation", ["a", "b", "c"]),
            "object_name": ("presentation", ["dog", "dog", "cat"]),
            "neuroid_id": ("neuroid", range(4)),
            "region": ("neuroid", ["V4", "V4", "IT", "IT"]),
            "animal": ("neuroid", ["x", "y", "x", "y"]),
        },
        dims=["presentation", "neuroid"],
        attrs={"stimulus_set_identifier": "three"},
    )


def test_a_dimension_has_the_index_that_its_coordinates_make(assembly):
    expected = pd.MultiIndex.from_tuples(
        [("a", "dog"), ("b", "dog"), ("c", "cat")], names=["stimulus_id", "object_name"]
    )
    pd.testing.assert_index_equal(assembly.indexes["presentation"], expected)
    pd.testing.assert_index_equal(assembly["presentation"].to_index(), expected, check_names=False)
    assert assembly["presentation"].values.tolist() == list(expected)
    assert assembly.get_index("neuroid").names == ["neuroid_id", "region", "animal"]
    assert [name for name, _, _ in walk_coords(assembly["presentation"])] == ["stimulus_id", "object_name"]
    assert len(assembly["neuroid"]) == 4


def test_selection_by_levels(assembly):
    assert assembly.sel(presentation=("b", "dog")).values.tolist() == [4, 5, 6, 7]
    assert assembly.sel(presentation=[("c", "cat"), ("a", "dog")]).values[:, 0].tolist() == [8, 0]
    assert assembly.sel(neuroid={"region": "IT", "animal": "y"}).values.tolist() == [[3], [7], [11]]
    assert assembly.multisel(region="IT").sizes == {"presentation": 3, "neuroid": 2}
    one = assembly.multisel(stimulus_id="b", region=["V4", "IT"])
    assert one.dims == ("presentation", "neuroid") and one.shape == (1, 4)
    assert one["object_name"].values.tolist() == ["dog"]
    with pytest.raises(KeyError, match="nothing with region=V1"):
        assembly.multisel(region="V1")
    with pytest.raises(KeyError, match="must be that of one presentation, by stimulus_id, object_name"):
        assembly.sel(presentation=[("a", "cat")])


def test_of_two_levels_the_other_becomes_the_dimension(assembly):
    dogs = assembly.sel(object_name="dog")
    assert dogs.dims == ("stimulus_id", "neuroid") and "object_name" not in dogs.coords
    again = dogs.stack(presentation=["stimulus_id"])
    assert again.dims == ("presentation", "neuroid") and again["stimulus_id"].dims == ("presentation",)
    again["object_name"] = "presentation", ["dog", "dog"]
    assert again.sel(stimulus_id="b")["object_name"].item() == "dog"


def test_arithmetic_matches_rows_and_loses_none(assembly):
    shuffled = assembly.isel(presentation=[2, 0, 1], neuroid=[1, 3, 0, 2])
    difference = assembly - shuffled
    assert type(difference) is NeuroidAssembly and not difference.values.any() and difference.attrs == {}
    assert float((assembly + 1).sum()) == 78 and assembly.attrs
    with pytest.raises(ValueError, match="'neuroid' differ in neuroid_id, region, animal: 4 and 2 rows"):
        assembly - assembly.isel(neuroid=[0, 1])
    scaled = assembly / assembly.mean("presentation")
    assert scaled.shape == (3, 4) and "region" in scaled.coords


def test_writes_in_place(assembly):
    assembly["subject"] = "neuroid", [1, 1, 2, 2]
    assembly["region"] = "neuroid", ["IT"] * 4
    assembly[{"presentation": 0}] = -1
    assembly.values[1] = 0
    assembly.loc[{"presentation": slice(2, 3)}] = 5
    assembly.attrs["note"] = "written"
    assert assembly.values.tolist() == [[-1] * 4, [0] * 4, [5] * 4]
    assert set(assembly["region"].values) == {"IT"} and assembly.sel(subject=2).sizes["neuroid"] == 2
    assert assembly.reset_index("neuroid").coords.keys() == assembly.coords.keys()
    assert "region" not in assembly.reset_index("neuroid", drop=True).coords


def test_xarray_functions_keep_the_class(assembly):
    joined = xr.concat([assembly.isel(presentation=[row]) for row in range(3)], "presentation")
    assert (joined.values == assembly.values).all()
    for made in (joined, np.sqrt(assembly), assembly.T, assembly.where(assembly > 3), assembly.sortby("region")):
        assert type(made) is NeuroidAssembly
    assert assembly.mean("neuroid").attrs == {} and assembly.mean("neuroid", keep_attrs=True).attrs == assembly.attrs
    means = assembly.multi_groupby(["object_name", "stimulus_id"]).mean()
    assert means["stimulus_id"].values.tolist() == ["c", "a", "b"]
    assert {name: float(part.sum()) for name, part in assembly.groupby("region")} == {"IT": 39.0, "V4": 27.0}


def test_merges_are_by_levels(assembly):
    left, right = assembly.isel(neuroid=[0, 1]), assembly.isel(neuroid=[3, 2])
    merged = merge_data_arrays([left, right])
    assert type(merged) is NeuroidAssembly
    assert merged.sortby("neuroid_id").values.tolist() == assembly.values.tolist()
    part = merge_data_arrays([left.isel(presentation=[0]), right.isel(presentation=[2])])
    assert np.isnan(part.values).sum() == 4
    with pytest.raises(xr.MergeError):
        merge_data_arrays([left, left + 1])


@pytest.mark.filterwarnings("ignore:Duplicate dimension names")
def test_coordinates_of_another_assembly_that_lie_elsewhere_are_left_out(assembly):
    coords = {name: coord for name, coord in assembly.coords.items() if name != "neuroid"}
    rdm = DataAssembly(np.zeros((3, 3)), coords=coords, dims=["presentation", "presentation"])
    assert set(rdm.coords) == {"stimulus_id", "object_name"}
    with pytest.raises(ValueError, match="coordinate region has dimensions .'neuroid',."):
        DataAssembly([1.0], coords={"region": ("neuroid", ["V4"])}, dims=["presentation"])


def test_the_classes_of_both_sides(assembly):
    own = for_bsjax(assembly)
    assert type(own) is data.NeuroidAssembly and own.attrs == assembly.attrs and "presentation" not in own.indexes
    assert type(for_plugins(own)) is NeuroidAssembly and isinstance(assembly, data.NeuroidAssembly)
    assert for_plugins(3) == for_bsjax(3) == 3


def test_merging_keeps_the_only_coordinate_of_a_dimension_and_one_of_its_name():
    def at(step):
        coords = {"stimulus_path": ("presentation", ["b", "a"]), "time_bin_start": ("time_bin", [10 * step])}
        return NeuroidAssembly([[step], [step + 1]], {**coords, "time_bin": [step]}, ["presentation", "time_bin"])

    merged = merge_data_arrays([at(0), at(1)])
    assert merged["stimulus_path"].dims == ("presentation",) and merged["time_bin_start"].values.tolist() == [0, 10]
    assert merged["time_bin_level_0"].values.tolist() == [0, 1]  # as it is called there
    assert merged.isel(presentation=[n == "b" for n in merged["stimulus_path"].values]).values.tolist() == [[0, 1]]
