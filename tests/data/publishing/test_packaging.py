"""Packages: what is in them, the same bytes from everywhere, refused with one message, and the input as it was."""

import shutil
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bsjax.core.digests.files import digests_of
from bsjax.data import NeuroidAssembly, read_assembly, read_stimulus_set
from bsjax.data.publishing.drafts import (
    find_files,
    package_drafts,
    read_draft_assembly,
    read_draft_stimuli,
    read_manifest,
)
from bsjax.data.publishing.packaging import package_data_assembly_locally, package_stimulus_set_locally
from tests.support import lab
from tests.support.processes import printed_by


def test_a_stimulus_set_comes_back(tmp_path):
    stimuli = lab.stimuli(tmp_path / "lab")
    packaged = package_stimulus_set_locally(stimuli, "doelab.Doe2024.faces", tmp_path / "packages")
    assert packaged["identifier"] == "doelab.Doe2024.faces"
    for kind in ("csv", "zip"):
        assert packaged[f"{kind}_path"] == str(tmp_path / "packages" / f"stimulus_doelab_Doe2024_faces.{kind}")
        digests = digests_of(packaged[f"{kind}_path"], ["sha1", "sha256"])
        assert digests == {name: packaged[f"{kind}_{name}"] for name in digests}
    loaded = read_stimulus_set(packaged["csv_path"], packaged["zip_path"])
    assert loaded[["stimulus_id", "category", "size"]].to_dict("list") == stimuli.to_dict("list")
    for stimulus_id in lab.IDS:
        assert loaded.get_stimulus(stimulus_id).name == f"{stimulus_id}.png"
        assert loaded.get_stimulus(stimulus_id).read_bytes() == stimuli.get_stimulus(stimulus_id).read_bytes()


def test_an_assembly_comes_back_with_its_extras(tmp_path):
    assembly = lab.recordings()
    extra = xr.DataArray([1.0, 2.0], {"event_id": ("event", ["a", "b"]), "n": ("event", [1, 2])}, ["event"])
    packaged = package_data_assembly_locally(
        assembly, "Doe2024.public", "Doe2024", downloads_path=tmp_path, extras={"events": extra}
    )
    assert packaged == {
        "identifier": "Doe2024.public",
        "path": str(tmp_path / "assy_Doe2024_public.nc"),
        **digests_of(packaged["path"], ["sha1", "sha256"]),
        "cls": "NeuroidAssembly",
        "stimulus_set_identifier": "Doe2024",
    }
    loaded = read_assembly(packaged["path"], NeuroidAssembly)
    np.testing.assert_array_equal(loaded.values, assembly.values)
    assert set(loaded.coords) == set(assembly.coords)
    assert loaded.attrs == {**assembly.attrs, "stimulus_set_identifier": "Doe2024"}
    assert read_assembly(packaged["path"], group="events").values.tolist() == [1, 2]


def test_the_input_stays_as_it_was(tmp_path):
    stimuli = lab.stimuli(tmp_path / "lab")
    assembly = lab.recordings().assign_attrs(stimulus_set=stimuli, stimulus_set_identifier="another", identifier="X")
    table, copy = stimuli.copy(), assembly.copy(deep=True)
    for _ in range(2):  # Brain-Score refuses to package a set twice
        package_stimulus_set_locally(stimuli, "Doe2024", tmp_path)
        package_data_assembly_locally(assembly, "Doe2024", "Doe2024", downloads_path=tmp_path)
    pd.testing.assert_frame_equal(stimuli, table)
    assert stimuli.identifier == "Doe2024" and assembly.identical(copy)


@pytest.mark.slow
def test_the_same_bytes_from_another_process_at_another_time(tmp_path):
    """Other hash seed, time zone, folder and file times; the same digests."""
    code = (
        "import sys, json; from pathlib import Path; from tests.support import lab\n"
        "from bsjax.data.publishing.packaging import *\n"
        "folder = Path(sys.argv[1]); stimuli = lab.stimuli(folder / 'lab')\n"
        "one = package_stimulus_set_locally(stimuli, 'Doe2024', folder)\n"
        "two = package_data_assembly_locally(lab.recordings(), 'Doe2024', 'Doe2024', downloads_path=folder)\n"
        "print(json.dumps([one['csv_sha1'], one['zip_sha1'], two['sha1']]))"
    )
    printed = set()
    for number in range(2):
        elsewhere = {"PYTHONHASHSEED": str(number), "TZ": ("UTC", "Asia/Tokyo")[number]}
        printed.add(printed_by("-c", code, tmp_path / f"{number}", **elsewhere))
        time.sleep(2.1 * (number == 0))  # zip files keep times to two seconds
    assert len(printed) == 1


def test_one_message_lists_every_problem_and_nothing_is_written(tmp_path):
    stimuli = lab.stimuli(tmp_path / "lab")
    broken = stimuli.assign(stimulus_id=["im_2", *lab.IDS[1:]])
    broken.stimulus_paths["im_3"].write_bytes(b"")
    said = "'doe', 3 problems: name: 'doe'.*ids: stimulus_id repeats im_2.*is empty: replace it"
    with pytest.raises(ValueError, match=f"cannot package the stimulus set {said}"):
        package_stimulus_set_locally(broken, "doe", tmp_path / "packages")
    assembly = lab.recordings().drop_vars("repetition").assign_attrs(stimulus_set=stimuli.iloc[:2], made=object())
    assembly[0, 0] = np.nan
    said = "5 problems: coordinates: .*nan: .*repetition: .*aligned: .*file: .*attribute 'made'"
    with pytest.raises(ValueError, match=f"cannot package the assembly 'Doe2024', {said}"):
        package_data_assembly_locally(assembly, "Doe2024", "Doe2024", downloads_path=tmp_path / "packages")
    assert not [*tmp_path.glob("packages/*")]


def test_checks_can_be_waived(tmp_path):
    averaged = lab.recordings().mean("repetition")
    with pytest.raises(ValueError, match="repetition"):
        package_data_assembly_locally(averaged, "Doe2024", "Doe2024", downloads_path=tmp_path)
    waived = ["repetition", "coordinates"]
    packaged = package_data_assembly_locally(averaged, "Doe2024", "Doe2024", downloads_path=tmp_path, allow=waived)
    assert read_assembly(packaged["path"]).sizes == averaged.sizes
    stimuli = lab.stimuli(tmp_path)
    package_stimulus_set_locally(stimuli, "faces", tmp_path, allow=["name"])
    with pytest.raises(ValueError, match="no check is called 'naming'"):
        package_stimulus_set_locally(stimuli, "faces", tmp_path, allow=["naming"])


@pytest.mark.parametrize("identifier", ["../Doe2024", "a\\b", None])
def test_an_identifier_never_leads_out_of_the_folder(tmp_path, identifier):
    with pytest.raises(ValueError, match="cannot name files after"):
        package_stimulus_set_locally(lab.stimuli(tmp_path / "lab"), identifier, tmp_path / "in" / "in", allow=["name"])
    with pytest.raises(ValueError, match="cannot name files after"):
        package_data_assembly_locally(lab.recordings(), identifier, "Doe2024", downloads_path=tmp_path, allow=["name"])
    assert [path.name for path in tmp_path.iterdir()] == ["lab"]


@pytest.fixture
def folder(tmp_path):
    """An experiment in files: a table, images in a folder inside, and an assembly."""
    stimuli = lab.stimuli(tmp_path / "lab" / "images")
    names = [f"images/{path.name}" for path in stimuli.stimulus_paths.values()]
    pd.DataFrame(stimuli).assign(filename=names).to_csv(tmp_path / "lab" / "stimuli.csv", index=False)
    packaged = package_data_assembly_locally(lab.recordings(), "Doe2024", None, downloads_path=tmp_path)
    shutil.move(packaged["path"], tmp_path / "lab" / "responses.nc")
    return tmp_path / "lab"


def test_an_experiment_in_files_is_packaged_as_one(folder, tmp_path):
    tables, assemblies = find_files([folder])
    stimuli, assembly = read_draft_stimuli(*tables), read_draft_assembly(*assemblies)
    assert isinstance(assembly, NeuroidAssembly)
    manifest, packages = package_drafts(stimuli, assembly, "Doe2024", folder=tmp_path / "packages")
    names = [
        *(".assy_Doe2024.nc.verified", ".stimulus_Doe2024.csv.verified"),
        *("Doe2024.package.json", "assy_Doe2024.nc", "stimulus_Doe2024.csv", "stimulus_Doe2024.zip"),
    ]
    assert sorted(path.name for path in (tmp_path / "packages").iterdir()) == names
    assert read_manifest(manifest) == read_manifest(tmp_path / "packages") == packages
    with zipfile.ZipFile(packages["stimulus_set"]["zip_path"]) as archive:
        assert archive.namelist() == [f"{stimulus_id}.png" for stimulus_id in lab.IDS]
    # the note moves with the files
    moved = shutil.move(tmp_path / "packages", tmp_path / "moved")
    assert Path(read_manifest(moved)["assembly"]["path"]) == tmp_path / "moved" / "assy_Doe2024.nc"


def test_notes_that_cannot_be_used(tmp_path):
    with pytest.raises(FileNotFoundError, match="holds no package"):
        read_manifest(tmp_path)
    for content in ("", "[]", "{}", '{"assembly": {"identifier": "a", "path": "a.nc"}}'):
        (tmp_path / "a.package.json").write_text(content)
        with pytest.raises(ValueError, match="is not the manifest of a package"):
            read_manifest(tmp_path)
    (tmp_path / "b.package.json").write_text("{}")
    with pytest.raises(ValueError, match=r"several packages, name one: a.package.json, b.package.json"):
        read_manifest(tmp_path)
