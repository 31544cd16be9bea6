"""Columns of a stimulus set as coordinates of a recording."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bsjax.data import (
    NeuroidAssembly,
    PropertyAssembly,
    StimulusSet,
    attach_stimulus_set,
    merge_stimulus_set,
)


def recording(ids=("b", "a", "b"), **coords) -> NeuroidAssembly:
    return NeuroidAssembly(
        np.arange(2.0 * len(ids)).reshape(-1, 2),
        coords={
            "stimulus_id": ("presentation", list(ids)),
            "neuroid_id": ("neuroid", [7, 8]),
            "region": ("neuroid", ["V4", "IT"]),
            **coords,
        },
        dims=["presentation", "neuroid"],
        attrs={"note": "kept"},
    )


STIMULI = StimulusSet(
    {
        "stimulus_id": ["a", "b", "c"],
        "object_name": ["dog", "car", None],
        "region": ["left", "right", "left"],
        "size": [1, 2, 3],
        "filename": ["a.png", "b.png", "c.png"],
    },
    identifier="three",
)


def test_every_column_becomes_a_coordinate_beside_what_the_assembly_has():
    before = recording()
    merged = merge_stimulus_set(before, STIMULI)
    assert type(merged) is NeuroidAssembly and merged.attrs == {"note": "kept"}
    assert merged["object_name"].values.tolist() == ["car", "dog", "car"]
    assert merged["size"].values.tolist() == [2, 1, 2] and merged["size"].dtype == np.int64
    assert merged["filename"].dims == ("presentation",)
    np.testing.assert_array_equal(merged.values, before.values)
    assert before.identical(recording())
    own = merge_stimulus_set(recording(size=("presentation", [7, 8, 9])), STIMULI)
    assert own["size"].values.tolist() == [7, 8, 9] and own["region"].values.tolist() == ["V4", "IT"]


def test_missing_and_extended_types_become_plain_arrays():
    stimuli = STIMULI.assign(count=pd.array([1, None, 2**53 + 1], dtype="Int64"), kind=pd.Categorical(["x", "y", "x"]))
    merged = merge_stimulus_set(recording(["c", "b"]), stimuli)
    assert all(isinstance(coord.values, np.ndarray) for coord in merged.coords.values())
    assert pd.isna(merged["object_name"].values[0]) and merged["count"].values.tolist()[0] == 2**53 + 1
    assert merged["kind"].values.tolist() == ["x", "y"]


@given(st.lists(st.sampled_from(["a", "b", "c", "001", "1"]), min_size=1, max_size=8), st.permutations(range(5)))
def test_is_a_left_join(ids, order):
    stimuli = pd.DataFrame({"stimulus_id": ["a", "b", "c", "001", "1"], "n": range(5)}).iloc[list(order)]
    expected = pd.DataFrame({"stimulus_id": ids}).merge(stimuli, on="stimulus_id", how="left")
    assert merge_stimulus_set(recording(ids), stimuli)["n"].values.tolist() == expected["n"].tolist()


@pytest.mark.parametrize(
    ("assembly", "stimuli", "message"),
    [
        (recording(["a", "x", "y", "x"]), STIMULI, "2 of 3 stimulus ids are not"),
        (recording(), pd.concat([STIMULI, STIMULI[:1]]), "repeats in the stimulus set"),
        (recording(["1", "2"]), pd.DataFrame({"stimulus_id": [1, 2]}), "2 of 2 stimulus ids are not"),
        (recording(np.array(["a", None], object)), STIMULI, "stimulus_id is missing in 1 of 2 rows of the assembly"),
        (recording().drop_vars("stimulus_id"), STIMULI, "assembly has no stimulus_id"),
        (recording(), STIMULI.assign(neuroid=1), "column neuroid of the stimulus set has the name of a dimension"),
    ],
)
def test_what_does_not_fit(assembly, stimuli, message):
    with pytest.raises(ValueError, match=message):
        merge_stimulus_set(assembly, stimuli)


def test_the_set_on_the_assembly():
    attached = attach_stimulus_set(recording(), STIMULI)
    assert attached.stimulus_set is STIMULI and attached.attrs["stimulus_set_identifier"] == "three"
    assert "object_name" in attached.coords
    assert "object_name" not in attach_stimulus_set(recording(), STIMULI, merge=False).coords
    properties = PropertyAssembly([[1.0]], dims=["neuroid", "neuroid_property"])
    assert not attach_stimulus_set(properties, STIMULI).coords
