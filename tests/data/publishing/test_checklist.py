"""The checklist: data as they should be pass; each thing that is wrong is found, named, and comes with advice."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bsjax.data import BehavioralAssembly, PropertyAssembly, RDMAssembly, SpikeTimesAssembly, StimulusSet
from bsjax.data.publishing.checklist import CHECKS, check_assembly, check_stimulus_set, failures
from tests.support import lab


def found(checks):
    """The names of the checks that fail, and all that they say."""
    return [check.name for check in checks if not check.passed], "; ".join(failures(checks))


def test_a_good_experiment_passes_every_check(tmp_path):
    stimuli = lab.stimuli(tmp_path)
    for_set = check_stimulus_set(stimuli, "doelab.Doe2024", requested=False)
    for_assembly = check_assembly(lab.recordings(), "doelab.Doe2024.public", stimulus_set=stimuli)
    for_behaviour = check_assembly(lab.choices(), "Doe2024", "BehavioralAssembly", stimuli)
    assert failures([*for_set, *for_assembly, *for_behaviour]) == []
    assert {check.name for check in [*for_set, *for_assembly]} == set(CHECKS) - {"requested"}


@pytest.mark.parametrize(
    ("change", "name", "said"),
    [
        (lambda s: s.assign(stimulus_id=["a", "a", *lab.IDS[2:]]), "ids", "stimulus_id repeats a"),
        (lambda s: s.rename(columns={"stimulus_id": "image_id"}), "table", "rename image_id"),
        (lambda s: s.assign(stimulus_id=["nobody", *lab.IDS[1:]]), "files", "stimulus_paths lacks nobody"),
        (lambda s: s.assign(size=[1, "two", 3, 4, 5, 6]), "store", "column 'size'"),
    ],
)
def test_what_is_wrong_with_a_table(tmp_path, change, name, said):
    names, text = found(check_stimulus_set(change(lab.stimuli(tmp_path))))
    assert name in names
    assert said in text


@pytest.mark.parametrize("ids", [["001", "002"], ["NA", "b"]])
def test_ids_that_a_csv_file_does_not_keep(ids, tmp_path):
    paths = dict.fromkeys(ids, lab.stimuli(tmp_path).get_stimulus("im_1"))
    names, text = found(check_stimulus_set(StimulusSet({"stimulus_id": ids, "size": range(2)}, stimulus_paths=paths)))
    assert "ids" in names and repr(ids[0]) in text


def test_files_that_are_missing_or_broken_or_of_another_kind_are_all_named(tmp_path):
    stimuli = lab.stimuli(tmp_path)
    paths = stimuli.stimulus_paths
    paths["im_1"].unlink()
    paths["im_2"].write_bytes(b"")
    paths["im_3"].write_bytes(paths["im_3"].read_bytes()[:60])  # cut off
    paths["im_4"].write_bytes(b"<html>not found</html>")
    stimuli.stimulus_paths["im_5"] = lab.film(tmp_path / "film.mp4")
    names, text = found(check_stimulus_set(stimuli))
    assert names == ["files", "media"]
    for number, said in ((0, "there is no file"), (1, "is empty"), (2, "cannot read"), (3, "cannot read")):
        assert said in text and f"picture {number}.png" in text
    assert "picture 5" not in text and "film.mp4" not in text
    assert "image/png (5), video/mp4 (1)" in text


def test_names_of_files_for_requested_experiments(tmp_path):
    stimuli = lab.stimuli(tmp_path)
    assert "picture 0.png" in found(check_stimulus_set(stimuli, requested=True))[1]
    renamed = {key: path.rename(tmp_path / f"{key}.png") for key, path in stimuli.stimulus_paths.items()}
    stimuli.stimulus_paths = renamed
    assert found(check_stimulus_set(stimuli, requested=True))[0] == []
    assert "at 3" in found(check_stimulus_set(stimuli.drop(index=1), requested=True))[1]


@pytest.mark.parametrize(
    ("change", "name", "said"),
    [
        (lambda a: a.where(a["stimulus_id"] != "im_2"), "nan", "15 of 90 values are NaN, first at stimulus_id im_2"),
        (lambda a: a.drop_vars("region"), "region", "no coordinate 'region' on neuroid: say where"),
        (lambda a: a.assign_coords(region=("neuroid", ["V4", None, None, "V4", "IT"])), "region", "missing in 2 of 5"),
        (lambda a: a.rename(neuroid="unit"), "class", "expected the dimensions presentation, neuroid"),
        (lambda a: a.drop_vars("time_bin_end"), "time", "assign_coords(time_bin_start=70, time_bin_end=170)"),
        (lambda a: a.assign_coords(neuroid_id=("neuroid", ["n"] * 5)), "neuroids", "'neuroid_id' repeats n: give each"),
        (
            lambda a: a.assign_coords(time_bin_start=0.07, time_bin_end=0.17),
            "time",
            "time_bin_start and time_bin_end in ms",
        ),
    ],
)
def test_what_is_wrong_with_an_assembly(change, name, said):
    names, text = found(check_assembly(change(lab.recordings())))
    assert name in names
    assert said in text


def test_ids_are_compared_with_those_of_the_stimulus_set(tmp_path):
    stimuli = lab.stimuli(tmp_path)
    names, text = found(check_assembly(lab.recordings(), stimulus_set=stimuli.iloc[:4]))
    assert names == ["aligned"]
    assert "2 of 6 stimulus ids are not in the stimulus set (im_5, im_6)" in text
    numbers = lab.recordings().assign_coords(stimulus_id=("presentation", list(range(6)) * 3))
    as_text = stimuli.assign(stimulus_id=list("012345"))
    names, text = found(check_assembly(numbers, stimulus_set=as_text))
    assert names == ["aligned", "types"]
    assert "differ in type alone" in text
    # more stimuli than were shown are no fault
    assert found(check_assembly(lab.recordings().isel(presentation=[0, 1]), stimulus_set=stimuli))[0] == []


def test_each_class_is_asked_for_what_it_has():
    coords = {"neuroid_id": ("neuroid", ["a", "b"]), "region": ("neuroid", ["V1", "V1"])}
    properties = PropertyAssembly([[1.0], [np.nan]], coords, ["neuroid", "neuroid_property"])
    assert found(check_assembly(properties, assembly_class_name="PropertyAssembly"))[0] == []
    spikes = SpikeTimesAssembly([1.0, 2.0], {"neuroid_id": ("event", ["a", "b"]), "n": ("event", [1, 2])}, ["event"])
    assert found(check_assembly(spikes, assembly_class_name="SpikeTimesAssembly"))[0] == []
    ids = {f"stimulus_id_{side}": (f"stimulus_{side}", lab.IDS) for side in ("left", "right")}
    rdm = RDMAssembly(1.0 - np.eye(len(lab.IDS)), ids, ["stimulus_left", "stimulus_right"])
    assert failures(check_assembly(rdm, "Doe2024", "RDMAssembly")) == []
    features = lab.recordings(1).drop_vars("repetition").assign_coords(row=("presentation", range(6)))
    assert found(check_assembly(features, assembly_class_name="ModelFeaturesAssembly"))[0] == []
    behaviour = BehavioralAssembly(["dog", None], lab.choices().isel(presentation=[0, 1]).coords, ["presentation"])
    assert found(check_assembly(behaviour, assembly_class_name="BehavioralAssembly"))[0] == ["nan"]
    with pytest.raises(ValueError, match="unknown assembly class 'NeuriodAssembly'; nearest: NeuroidAssembly"):
        check_assembly(features, assembly_class_name="NeuriodAssembly")


def test_identifiers():
    good = ["dicarlo.MajajHong2015.public", "Geirhos2021_cue-conflict", "kar.n.m.Kar.12"]
    bad = ["majajhong2015", "MajajHong", "2015MajajHong", "a/MajajHong2015", "MajajHong2015\n", ""]
    for identifier in [*good, *bad]:
        assert found(check_assembly(lab.recordings(), identifier))[0] == ["name"] * (identifier in bad)


def test_a_plain_array_and_a_plain_table_can_be_checked(tmp_path):
    stimuli = lab.stimuli(tmp_path)
    assert found(check_assembly(xr.DataArray(lab.recordings()), stimulus_set=pd.DataFrame(stimuli)))[0] == []
    assert found(check_stimulus_set(pd.DataFrame(stimuli)))[0] == ["files"]
