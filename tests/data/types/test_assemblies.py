"""Assemblies: construction, selection by coordinate, and what survives an operation."""

import pickle

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from bsjax.data import (
    BehavioralAssembly,
    DataAssembly,
    NeuroidAssembly,
    PropertyAssembly,
    SpikeTimesAssembly,
    StimulusSet,
    average_repetition,
)

IDS = ["a", "b", "a", "b"]
REGIONS = ["IT", "V4", "IT"]


def recording(**attrs) -> NeuroidAssembly:
    return NeuroidAssembly(
        np.arange(12.0).reshape(4, 3),
        coords={
            "stimulus_id": ("presentation", IDS),
            "repetition": ("presentation", [0, 0, 1, 1]),
            "neuroid_id": ("neuroid", [10, 11, 12]),
            "region": ("neuroid", REGIONS),
        },
        dims=["presentation", "neuroid"],
        attrs=attrs,
    )


def test_lists_slices_and_masks():
    assembly = recording()
    assert assembly.sel(region="V4").shape == assembly.sel(region=["V4"]).shape == (4, 1)  # the dimension stays
    assert assembly.sel(stimulus_id=["b", "a"])["stimulus_id"].values.tolist() == IDS  # order of rows stays
    assert assembly.sel(neuroid_id={10, 12}).sizes["neuroid"] == 2
    assert assembly.sel(neuroid_id=slice(11, 12))["neuroid_id"].values.tolist() == [11, 12]
    assert assembly.sel(stimulus_id=slice("b", None))["stimulus_id"].values.tolist() == ["b", "b"]
    assert assembly.sel(neuroid=np.array([True, False, False])).values.ravel().tolist() == [0, 3, 6, 9]
    assert assembly.sel(neuroid=[False] * 3).shape == (4, 0)
    assert assembly.sel(stimulus_id="a", repetition=1, region="IT").values.tolist() == [[6, 8]]
    assert assembly.sel(neuroid=1).dims == ("presentation",)
    assert assembly.sel({"neuroid": [2, 0]})["neuroid_id"].values.tolist() == [12, 10]
    indexed = DataAssembly([1, 2, 3], coords={"x": [0.0, 1.0, 2.0]}, dims=["x"])
    assert indexed.sel(x=1.2, method="nearest").item() == 2


def test_missing_and_time_values_can_be_selected():
    times = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]")
    assembly = DataAssembly([1, 2], coords={"size": ("p", [np.nan, 2.0]), "time": ("p", times)}, dims=["p"])
    assert assembly.sel(size=np.nan).values.tolist() == [1]
    assert assembly.sel(time=times[1]).values.tolist() == [2]


@pytest.mark.parametrize(
    ("selection", "error", "message"),
    [
        ({"regoin": "IT"}, KeyError, "no dimension or coordinate 'regoin'; nearest: region; .* neuroid: neuroid_id"),
        ({"region": ["IT", "V1", "V2"]}, KeyError, "no row has region 'V1', 'V2'; values there: IT, V4"),
        ({"neuroid": [True, False]}, ValueError, "mask for 'neuroid' must be one-dimensional along it with 3 values"),
        ({"neuroid_id": slice("a", "b")}, ValueError, "cannot compare the values of 'neuroid_id'"),
        ({"scalar": 1}, ValueError, "cannot select by 'scalar', which is one value"),
    ],
)
def test_what_cannot_be_selected(selection, error, message):
    with pytest.raises(error, match=message):
        recording().assign_coords(scalar=1).sel(selection)


@given(
    labels=st.lists(st.sampled_from(["IT", "V4", "V1", "é"]), min_size=1, max_size=30),
    wanted=st.sets(st.sampled_from(["IT", "V4", "V1", "é"]), min_size=1),
)
def test_selection_is_the_rows_that_match_in_their_order(labels, wanted):
    assembly = DataAssembly(
        np.arange(len(labels)), coords={"region": ("neuroid", labels)}, dims=["neuroid"], attrs={"x": 1}
    )
    expected = [position for position, label in enumerate(labels) if label in wanted]
    if not wanted <= set(labels):
        with pytest.raises(KeyError):
            assembly.sel(region=list(wanted))
        return
    selected = assembly.sel(region=list(wanted))
    assert selected.values.tolist() == expected
    assert selected["region"].values.tolist() == [labels[position] for position in expected]
    assert selected.identical(assembly.sel(neuroid=assembly["region"].isin(list(wanted))))


OPERATIONS = {
    "mean": lambda a: a.mean("presentation"),
    "arithmetic": lambda a: a - a,
    "where": lambda a: a.where(a > 3),
    "groupby": lambda a: a.groupby("stimulus_id").mean(),
    "expand_dims": lambda a: a.expand_dims("time_bin", axis=-1),
    "concat": lambda a: xr.concat([a, a], dim="presentation"),
    "pickle": lambda a: pickle.loads(pickle.dumps(a)),
    "construction from one": lambda a: NeuroidAssembly(a),
}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_keep_class_and_attributes(operation):
    stimuli = StimulusSet({"stimulus_id": ["a", "b"]}, identifier="two", stimulus_paths={"a": "a.png"})
    result = OPERATIONS[operation](recording(stimulus_set=stimuli, note="kept"))
    assert type(result) is NeuroidAssembly
    assert result.attrs["note"] == "kept"
    assert result.attrs["stimulus_set"].identifier == "two"
    assert result.stimulus_set.stimulus_paths.keys() == {"a"}


def test_identical_compares_tables_among_the_attributes():
    def with_set(rows):
        return recording(stimulus_set=StimulusSet({"stimulus_id": rows}))

    assert with_set(["a", "b"]).identical(with_set(["a", "b"]))
    assert not with_set(["a", "b"]).identical(with_set(["a", "c"]))
    assert not with_set(["a", "b"]).identical(recording())
    assert not recording().identical(recording() + 1)
    assert not recording().identical("something else")


def test_construction_names_everything_that_does_not_fit():
    coords = {
        "stimulus_id": ("presentation", ["a", "b", "c"]),
        "region": ("neuron", ["IT"] * 3),
        "flat": ("neuroid", np.zeros((3, 2))),
        "fine": ("neuroid", [1, 2, 3]),
    }
    with pytest.raises(ValueError) as error:
        NeuroidAssembly(np.zeros((2, 3)), coords=coords, dims=["presentation", "neuroid"])
    assert {name for name in coords if name in str(error.value)} == set(coords) - {"fine"}


def test_validate_passes_what_follows_the_standard():
    recording().expand_dims("time_bin").validate()
    recording().astype(int).validate()
    BehavioralAssembly(["dog"], {"stimulus_id": ("presentation", ["a"])}, ["presentation"]).validate()
    PropertyAssembly([[np.nan]], dims=["neuroid", "neuroid_property"]).validate()
    SpikeTimesAssembly([1.0], {"neuroid_id": ("event", ["a"])}, ["event"]).validate()
    DataAssembly(1.0).validate()


def test_validate_lists_every_problem_in_one_message():
    bad = NeuroidAssembly(
        [[np.nan, 1.0], [2.0, np.nan]],
        coords={"stimulus_id": ("presentation", ["a", None]), "neuroid_id": ("neuron", [5, 5])},
        dims=["presentation", "neuron"],
        attrs={"stimulus_set": StimulusSet({"stimulus_id": ["b"]})},
    )
    said = (
        "expected the dimensions .*'stimulus_id' is missing in 1 of 2 .*'neuroid_id' lies on neuron.*2 of 4 values are"
    )
    with pytest.raises(ValueError, match=f"not a valid NeuroidAssembly: {said}.*not in its stimulus_set"):
        bad.validate()


@pytest.mark.parametrize(
    ("assembly", "message"),
    [
        (recording().drop_vars("neuroid_id"), "no coordinate 'neuroid_id' on neuroid"),
        (recording().assign_coords(neuroid_id=("neuroid", [1, 2, 1])), "'neuroid_id' repeats 1: give each its own"),
        (recording().isel(neuroid=[]), "dimension neuroid is empty"),
        (recording().astype(str), "expected numbers, got values of dtype <U32"),
        (recording().where(recording() != 5), "1 of 12 values is NaN, first at stimulus_id b, neuroid_id 12$"),
        (BehavioralAssembly(["dog"], dims=["trial"]), "expected a dimension presentation, got trial"),
    ],
)
def test_validate_names_the_problem(assembly, message):
    with pytest.raises(ValueError, match=message):
        assembly.validate()


def test_mean_over_repetitions_that_are_a_coordinate():
    averaged = recording(note="kept").mean("repetition")
    assert averaged.identical(average_repetition(recording(note="kept")))
    assert recording().mean(dim=["repetition"]).identical(averaged.assign_attrs({}).drop_attrs())
    assert recording(note="lost").mean(dim="repetition", keep_attrs=False).attrs == {}
    with pytest.raises(ValueError, match="leaves out NaN and takes no other options"):
        recording().mean("repetition", skipna=False)


def labelled(ids, values=(1, 2, 3), **coords):
    on_rows = {name: ("presentation", list(each)) for name, each in {"stimulus_id": ids, **coords}.items()}
    coords = {**on_rows, "neuroid_id": ("neuroid", ["n"])}
    return NeuroidAssembly(np.array(values, float)[: len(ids), None], coords, ["presentation", "neuroid"])


BY_IDENTIFIER = {
    "-": lambda a, b: a - b,
    "subtract": np.subtract,
    "where": lambda a, b: a.where(a == b, 99.0) - 1 * b,
    "in place": lambda a, b: a.copy().__isub__(b),
    "fillna": lambda a, b: a.where(a < 0).fillna(b) - a,
}


@pytest.mark.parametrize("name", BY_IDENTIFIER)
def test_arithmetic_goes_by_identifier(name):
    one, other = labelled("abc"), labelled("cab", [3, 1, 2])
    found = BY_IDENTIFIER[name](one, other)
    assert found.values.ravel().tolist() == [0, 0, 0] and found["stimulus_id"].values.tolist() == ["a", "b", "c"]


def test_arithmetic_goes_by_neuroid_and_repetition():
    one = labelled("aabb", [1, 2, 3, 4], repetition=[0, 1, 0, 1])
    other = one.isel(presentation=[3, 1, 0, 2])
    assert (one - other).values.ravel().tolist() == [0, 0, 0, 0]
    # Also where the stimuli are in one order and their repetitions in another; other repetitions go by position.
    assert (one - one.isel(presentation=[1, 0, 3, 2])).values.ravel().tolist() == [0, 0, 0, 0]
    later = one.assign_coords(repetition=("presentation", [2, 3, 2, 3]))
    assert (one - later[::1]).values.ravel().tolist() == [0, 0, 0, 0]
    units = DataAssembly([1.0, 2.0], {"neuroid_id": ("neuroid", ["x", "y"])}, ["neuroid"])
    assert float(units.dot(units[::-1])) == 5 and float(xr.DataArray(units[::-1]) @ units) == 5
    plain = xr.DataArray(other).assign_coords(note="kept")
    assert not (plain - one).values.any() and not (plain % one).values.any() and (plain == one).values.all()
    assert (plain - one)["repetition"].values.tolist() == [0, 1, 0, 1] and type(plain - one) is NeuroidAssembly


@pytest.mark.parametrize("other", ["abd", "bc", "cca", [1, 2, 3]])
def test_arithmetic_of_other_stimuli_is_refused(other):
    with pytest.raises(ValueError, match=r"'presentation' differ in stimulus_id: 3 and \d rows"):
        labelled("abc") + labelled(other)


COLUMNS = {
    "text": (["a", None, "b"], "str", ["a", None, "b"]),
    "whole numbers": ([1, None, 3], "Int64", [1.0, None, 3.0]),
    "truth": ([True, None, False], "boolean", [True, None, False]),
    "categories": (["a", "b", "a"], "category", ["a", "b", "a"]),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_pandas_are_plain(kind):
    values, dtype, expected = COLUMNS[kind]
    column = pd.Series(values, dtype=dtype)
    plain = BehavioralAssembly(column, dims=["presentation"], coords={"c": ("presentation", column.values)})
    for each in (plain, plain["c"], plain.assign_coords(d=("presentation", column.values))["d"]):
        assert isinstance(each.variable._data, np.ndarray)
        assert [None if pd.isna(value) else value for value in each.values.tolist()] == expected
        assert each[:1].values.tolist() == expected[:1]
