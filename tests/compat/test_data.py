"""Data in the classes that plugins know, and the old names around files."""

import hashlib
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bsjax import StimulusSet
from bsjax import data as of_bsjax
from bsjax.compat import assemblies
from bsjax.compat.data import (
    StimulusMergeAssemblyLoader,
    StimulusSetLoader,
    create_stimulus_csv,
    create_stimulus_zip,
    download_file_if_not_exists,
    get_assembly,
    get_stimulus_set,
    load_assembly_from_s3,
    load_stimulus_set_from_s3,
    sha1_hash,
    unzip,
)
from bsjax.data import write_netcdf
from tests.support import served_data as served
from tests.support.written_plugins import images_of


def sha1_of(path):
    return hashlib.sha1(Path(path).read_bytes()).hexdigest()


@pytest.fixture
def stimuli(tmp_path):
    return images_of(tmp_path / "images", object_name=["dog", "car", "cup"])


@pytest.fixture
def recording():
    """Two trials of three stimuli."""
    coords = {
        "stimulus_id": ("presentation", ["b", "a", "c"] * 2),
        "repetition": ("presentation", [0] * 3 + [1] * 3),
        "neuroid_id": ("neuroid", [1, 2]),
        "region": ("neuroid", ["V4", "IT"]),
    }
    return of_bsjax.NeuroidAssembly(np.arange(12.0).reshape(6, 2), coords=coords, dims=["presentation", "neuroid"])


@pytest.fixture
def file(recording, tmp_path):
    path = tmp_path / "assy_Doe2024.nc"
    write_netcdf(recording, path)
    return path


def test_files_of_a_stimulus_set_and_back(stimuli, tmp_path):
    table, archive = tmp_path / "out" / "stimulus_few.csv", tmp_path / "out" / "stimulus_few.zip"
    assert create_stimulus_csv(stimuli, table) == sha1_of(table)
    sha1, names = create_stimulus_zip(stimuli, str(archive))
    assert sha1 == sha1_of(archive) and names == ["a.png", "b.png", "c.png"] == zipfile.ZipFile(archive).namelist()
    folder = unzip(archive)
    assert sha1_hash(archive) == sha1
    read = StimulusSetLoader(cls=StimulusSet, csv_path=table, stimuli_directory=folder).load()
    assert type(read) is StimulusSet and read["object_name"].tolist() == ["dog", "car", "cup"]
    for stimulus_id in "abc":
        assert read.get_stimulus(stimulus_id) == Path(folder, f"{stimulus_id}.png")
        assert sha1_of(read.get_stimulus(stimulus_id)) == sha1_of(stimuli.get_stimulus(stimulus_id))
    StimulusSetLoader.correct_stimulus_id_name(old := StimulusSet({"image_id": ["a", "b"]}))
    assert old["stimulus_id"].tolist() == ["a", "b"]


def test_the_loader_of_an_assembly(recording, stimuli, file):
    cls = assemblies.NeuroidAssembly
    plain = StimulusMergeAssemblyLoader(cls, file).load()
    assert type(plain) is cls and "object_name" not in plain.coords
    np.testing.assert_array_equal(plain.values, recording.values)
    merged = StimulusMergeAssemblyLoader(
        cls=cls, file_path=file, stimulus_set_identifier="mine", stimulus_set=stimuli
    ).load()
    assert type(merged) is cls and merged["object_name"].values.tolist() == ["car", "dog", "cup"] * 2
    assert merged.attrs["stimulus_set"] is stimuli and merged.attrs["stimulus_set_identifier"] == "mine"


def test_assemblies_and_stimuli_from_s3(relay, s3, bucket, stimuli, recording, file, tmp_path):  # noqa: F811
    table, archive = tmp_path / "table.csv", tmp_path / "archive.zip"
    create_stimulus_csv(stimuli, table)
    create_stimulus_zip(stimuli, archive)
    for key, path in (("stimulus_Few.csv", table), ("stimulus_Few.zip", archive), ("assy_Doe_2024.nc", file)):
        s3.put_object(Bucket=bucket, Key=key, Body=path.read_bytes())

    def loaded():
        return load_stimulus_set_from_s3("Few", bucket, sha1_of(table), sha1_of(archive), None, None)

    assert loaded().identifier == "Few" and loaded().get_stimulus("a").is_file()
    settings = {"stimulus_set_loader": loaded, "merge_stimulus_set_meta": True}
    made = load_assembly_from_s3("Doe.2024", None, sha1_of(file), bucket, assemblies.NeuroidAssembly, **settings)
    assert type(made) is assemblies.NeuroidAssembly and made.values.tolist() == recording.values.tolist()
    assert made.attrs["identifier"] == "Doe.2024" and made.attrs["stimulus_set_identifier"] == "Few"
    assert made.stimulus_set["stimulus_id"].tolist() == list("abc") and "object_name" in made.coords
    here = tmp_path / "here.csv"
    for _ in range(2):
        download_file_if_not_exists(here, bucket, "stimulus_Few.csv")
        assert here.read_bytes() == table.read_bytes()
        s3.put_object(Bucket=bucket, Key="stimulus_Few.csv", Body=b"another")  # what is here stays


def test_data_by_their_identifiers(serve):
    stimuli = served.stimuli_of(4, object_name=["dog", "car"] * 2)
    values = np.random.default_rng(0).normal(size=(2, 4, 6))
    serve("MajajHong2015.public", served.assembly_of(values, stimuli, region=["IT"] * 6), stimuli)
    for name in ("MajajHong2015.public", "dicarlo.MajajHong2015.public"):
        found = get_assembly(name)
        assert type(found) is assemblies.NeuronRecordingAssembly and found.stimulus_set.identifier == "hvm-public"
        np.testing.assert_array_equal(found.values.ravel(), values.ravel())
    for name in ("hvm-public", "dicarlo.hvm-public"):
        assert get_stimulus_set(name)["stimulus_id"].tolist() == stimuli["stimulus_id"].tolist()
