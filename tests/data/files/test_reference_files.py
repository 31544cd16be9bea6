"""Files between bsjax and the released brainscore-core, both ways; and real files that Brain-Score carries."""

import json
import os
import subprocess
import zipfile
from pathlib import Path

import numpy as np
import pytest

import bsjax.data as data
from bsjax import load_metric
from bsjax.benchmarks.families.geirhos2021 import reader as geirhos2021
from bsjax.data import (
    BehavioralAssembly,
    MetadataAssembly,
    ModelFeaturesAssembly,
    NeuroidAssembly,
    SpikeTimesAssembly,
    StimulusSet,
    read_assembly,
    read_stimulus_set,
    write_netcdf,
    write_stimulus_csv,
    write_stimulus_zip,
)
from tests.support import reference_files as reference

SCRIPT = Path(reference.__file__)
PEER = "BSJAX_PEER_BRAINSCORE"


def ours() -> dict:
    assemblies = reference.assemblies(data)
    assemblies["spikes"].attrs["shown"] = reference.metadata(data)
    return assemblies


@pytest.fixture(scope="module")
def exchanged(tmp_path_factory) -> tuple[Path, dict]:
    """A folder with files of both, and what the reference has read of ours."""
    environment = os.environ.get(PEER)
    if not environment:
        pytest.skip(f"set {PEER} to an environment with brainscore-core, such as benchmarks_perf builds")
    python = Path(environment) / "bin" / "python"
    folder = tmp_path_factory.mktemp("exchanged")

    def peer(task: str) -> str:
        settings = {"BS_INSTALL_DEPENDENCIES": "no", "HOME": str(folder), "PATH": os.environ["PATH"]}
        done = subprocess.run([python, SCRIPT, task, folder], env=settings, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    peer("write")
    for name, assembly in ours().items():
        write_netcdf(assembly, folder / f"bsjax_{name}.nc")
    stimuli = reference.stimuli(StimulusSet, folder)
    write_stimulus_csv(stimuli, folder / "bsjax_set.csv")
    write_stimulus_zip(stimuli, folder / "bsjax_set.zip")
    return folder, json.loads(peer("read").splitlines()[-1])


def named_as_by_the_reference(described: dict) -> dict:
    """It loses the name of a coordinate that is alone on its dimension."""
    coords = dict(described["coords"])
    coords["presentation"] = coords.pop("stimulus_id")
    return {**described, "coords": coords}


def test_assemblies_in_both_directions(exchanged):
    folder, read_by_reference = exchanged
    for name, assembly in ours().items():
        expected = reference.described(assembly)
        if name == "alone":
            expected = named_as_by_the_reference(expected)
        assert reference.described(read_assembly(folder / f"reference_{name}.nc", type(assembly))) == expected
        # Its loader puts that of the stimulus set it is given, none here, in the place of the file's.
        expected["attrs"].pop("stimulus_set_identifier", None)
        assert read_by_reference[name] == expected
    read = read_assembly(folder / "reference_uncompressed.nc", ModelFeaturesAssembly)
    assert reference.described(read) == reference.described(ours()["features"])


def test_stimulus_sets_in_both_directions(exchanged, tmp_path):
    folder, read_by_reference = exchanged
    with zipfile.ZipFile(folder / "reference_set.zip") as archive:
        archive.extractall(tmp_path / "set")
    theirs = read_stimulus_set(folder / "reference_set.csv", tmp_path / "set")
    with zipfile.ZipFile(folder / "bsjax_set.zip") as archive:
        archive.extractall(tmp_path / "ours")
    mine = read_stimulus_set(folder / "bsjax_set.csv", tmp_path / "ours")
    assert reference.described_set(theirs) == reference.described_set(mine) == read_by_reference["set"]
    stimuli = reference.stimuli(StimulusSet, tmp_path)
    assert mine["object_name"].tolist() == stimuli["object_name"].tolist()
    integers = read_stimulus_set(folder / "reference_integers.csv", tmp_path / "set")
    assert integers["stimulus_id"].tolist() == [3, 4] and integers["stimulus_id"].dtype == np.int64


@pytest.fixture
def files(shared_data) -> Path:
    return shared_data / "brainscore_files"


def test_probabilities_of_a_model_from_before_stimulus_ids(files):
    assembly = read_assembly(files / "alexnet-probabilities.nc", BehavioralAssembly)
    assert type(assembly) is BehavioralAssembly and assembly.dtype == np.float32
    assert assembly.dims == ("presentation", "choice") and assembly.shape == (240, 24)
    assert set(assembly.coords) == {"choice", "stimulus_path", "image_id", "stimulus_id"}
    assert assembly["choice"].values[2] == "calc01"
    assert assembly["stimulus_id"].values[0] == "06aae50586099149cf4034b7966bdb8ca76173e0"
    np.testing.assert_allclose(assembly.values[0, :3], [0.07814528, 0.04268296, 0.01601664], rtol=1e-6)
    assembly.validate()


def test_features_of_a_model(files):
    assembly = read_assembly(files / "alexnet-rgb-1000.nc", "ModelFeaturesAssembly")
    assert type(assembly) is ModelFeaturesAssembly and assembly.dims == ("stimulus_path", "neuroid")
    assert assembly["neuroid_id"].dtype == np.int64 and assembly["neuroid_id"].values[:3].tolist() == [0, 1, 2]
    assert assembly["layer"].values[0] == "features.12"
    np.testing.assert_allclose(assembly.values[0, :2], [1.1858418, -24.140839], rtol=1e-6)


def test_a_compressed_recording_of_integers(files):
    assembly = read_assembly(files / "assy_test_TestMe.nc", NeuroidAssembly)
    assert assembly.dims == ("presentation", "neuroid") and assembly.shape == (6, 3)
    assert assembly.dtype == np.int64 and assembly.values[0].tolist() == [1, 2, 3]
    assert assembly["stimulus_id"].values[:3].tolist() == ["n0", "n1", "n1"]
    assert assembly.sel(neuroid_id="gamma")["foo"].values.tolist() == [5]
    assembly.validate()


def test_an_uncompressed_recording_in_time_with_image_ids(files):
    assembly = read_assembly(files / "assy_test_package_assembly.nc", NeuroidAssembly)
    assert assembly.dims == ("presentation", "neuroid", "time_bin") and assembly.shape == (6, 3, 1)
    assert assembly["stimulus_id"].values.tolist() == [f"n{number}" for number in range(6)]
    assert assembly.sel(time_bin_start=0)["time_bin_end"].values.tolist() == [10]
    assert assembly.values.ravel()[:3].tolist() == [1, 2, 3]
    assembly.validate()


@pytest.mark.slow
def test_spikes_and_their_metadata(files):
    path = files / "assy_test_package_assembly_extras.nc"
    spikes = read_assembly(path, SpikeTimesAssembly)
    assert type(spikes) is SpikeTimesAssembly and spikes.dims == ("event",) and spikes.shape == (1000,)
    np.testing.assert_allclose(spikes.values[:2], [67.78308399, 67.79347474], rtol=1e-9)
    assert spikes["neuroid_id"].values[:2].tolist() == ["A-019", "D-009"]
    assert spikes["datetime"].values[0] == np.datetime64("2021-02-16T11:41:55")
    spikes.validate()
    shown = spikes.attrs["test"]
    assert type(shown) is MetadataAssembly and shown.dims == ("event",) and shown.shape == (40,)
    np.testing.assert_allclose(shown.values[0], 18094169.92100073)
    assert read_assembly(path, MetadataAssembly, group="test").identical(shown)


def test_a_stimulus_set(files, tmp_path):
    for number in range(10):
        (tmp_path / f"n{number}.png").write_bytes(b"image")
    stimuli = StimulusSet.from_files(files / "image_test_ten_images.csv", tmp_path)
    assert stimuli["thing"].tolist() == [f"foo{number}" for number in range(10)]
    assert stimuli.get_stimulus("n3") == tmp_path / "n3.png"
    recording = NeuroidAssembly.from_files(files / "assy_test_TestMe.nc", stimulus_set=stimuli)
    assert recording["thing"].values[:3].tolist() == ["foo0", "foo1", "foo1"]
    assert recording.stimulus_set is stimuli


@pytest.mark.slow
def test_the_choices_of_a_model_agree_with_people_as_published(files, shared_data):
    choices = read_assembly(files / "resnet-50-pytorch-3deg-Geirhos2021_cue-conflict.nc", BehavioralAssembly)
    assert choices.dims == ("choice", "presentation") and choices.shape == (1, 1280)
    choices.validate()
    choices = choices.isel(choice=0)
    assert float((choices.values == choices["truth"].values).mean()) == pytest.approx(0.18203, abs=5e-6)
    people = geirhos2021.load_people(shared_data / "geirhos2021", "cue-conflict")
    # In the published trials, images have the names of their files, and the condition is text.
    conditions = choices["condition"].values.astype(str).astype(object)
    named = {"stimulus_id": choices["filename"].values, "condition": conditions}
    choices = choices.assign_coords({name: ("presentation", values) for name, values in named.items()})
    score = load_metric("error_consistency")(choices, people)
    assert float(score) == pytest.approx(0.06800, abs=5e-6)


@pytest.mark.slow
def test_real_files_survive_being_written_again(files, tmp_path):
    for path in sorted(files.glob("*.nc")):
        cls = SpikeTimesAssembly if "extras" in path.name else BehavioralAssembly
        assembly = read_assembly(path, cls)
        write_netcdf(assembly, tmp_path / path.name)
        again = read_assembly(tmp_path / path.name, cls)
        again.name = assembly.name
        assert again.identical(assembly), path.name
