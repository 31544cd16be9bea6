"""Published data by identifier: one entry of each kind, at its real bucket, folder, key and version of a real server.

The files are stand-ins with digests of their own, which is all in which the entries differ from those of the catalogue.
Each object was there before the bucket kept versions (version "null"), or has a version id that the server made; either
way a newer, different object lies at the same key.
"""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from PIL import Image

from bsjax.core.digests.files import sha1_hash
from bsjax.data import StimulusSet, data_registry, load_dataset, load_stimulus_set, stimulus_set_registry
from bsjax.data.catalogue.loading import load_assembly, load_stimuli
from bsjax.data.catalogue.published import Published, published, status
from bsjax.data.catalogue.registry import data_rows
from bsjax.data.files.netcdf import write_netcdf
from bsjax.data.files.stimulus_files import write_stimulus_csv, write_stimulus_zip
from bsjax.data.remote.cache import cached_path
from bsjax.data.remote.storage import store_name
from bsjax.data.types.assemblies import DataAssembly, resolve_assembly_class

BUCKET = "brainscore-storage"
IDS = ["001", "002", "003"]


# Every class, bucket, form of a version, and step of post-processing.
NAMES = ["MajajHong2015.public", "BMD2024.dotted_1", "Cavanaugh2002a", "Malania2007.equal16", "Cadena2017"]
NAMES += ["Zerbe2026_fmri_persubject_full_sub-01", "Papale2025_test"]
ASSEMBLIES = [published("assembly")[name] for name in NAMES]
NAMES = ["BMD2024.dotted_2", "Scialom2024_contours", "Zerbe2026_fmri_persubject_stim_full"]
STIMULUS_SETS = [published("stimulus_set")[name] for name in NAMES]
GATED = published("stimulus_set")["Zerbe2026_fmri_stim_full"]


def stimuli_of(entry: Published, folder: Path) -> StimulusSet:
    """Three images, with the columns that the entry's post-processing needs."""
    folder.mkdir(parents=True, exist_ok=True)
    rows, paths = [], {}
    for number, stimulus_id in enumerate(IDS):
        paths[stimulus_id] = folder / f"{entry.name}-{stimulus_id}.png"
        Image.new("RGB", (4, 4), (len(entry.identifier), number, 0)).save(paths[stimulus_id])
        rows.append({"stimulus_id": stimulus_id, "object_name": ["dog", "car", "cup"][number]})
    stimuli = StimulusSet(rows, identifier=entry.identifier, stimulus_paths=paths)
    for column in [column for step, *columns in entry.post_processing if step == "as_text" for column in columns]:
        stimuli[column] = [12, 16, 100]
    return stimuli


def assembly_of(entry: Published) -> DataAssembly:
    """Two repetitions of three stimuli, or two properties of two neuroids."""
    steps = {name for name, *_ in entry.post_processing}
    rows = {"stimulus_id": ("presentation", IDS * 2), "repetition": ("presentation", [0, 0, 0, 1, 1, 1])}
    columns = {"neuroid_id": ("neuroid", ["n1", "n2"]), "region": ("neuroid", ["V4", "IT"])}
    if entry.class_name == "PropertyAssembly" and not (entry.stimulus_set and entry.merge):
        properties = {"neuroid_property": ("neuroid_property", ["size", "gain"])}
        dims, coords = ["neuroid", "neuroid_property"], {**columns, **properties}
    elif entry.class_name == "BehavioralAssembly":
        dims, coords = ["presentation"], {**rows, "subject": ("presentation", ["s1"] * 6)}
    elif "name_neuroids" in steps:
        # older xarray wrote the only coordinate of a dimension as "<dim>_"
        dims, coords = ["presentation", "neuroid"], {**rows, "neuroid_": ("neuroid", [17, 4])}
    elif "label_subject" in steps:
        session = {name: ("presentation", range(6)) for name in ("session", "run", "beta_index")}
        dims, coords = ["presentation", "neuroid"], {**rows, **session, **columns}
    else:
        dims, coords = ["presentation", "neuroid"], {**rows, **columns}
    shape = [{"presentation": 6}.get(dim, 2) for dim in dims]
    values = np.random.default_rng(len(entry.name)).random(shape)
    return resolve_assembly_class(entry.class_name)(values, coords=coords, dims=dims, attrs={"from": "a stand-in"})


def files_of(entry: Published, folder: Path) -> list[Path]:
    """The stand-ins of an entry's files, in their order, with their real names."""
    folder = folder / entry.kind / entry.name
    if entry.kind == "assembly":
        path = folder / store_name(entry.identifier, "nc")
        assembly = assembly_of(entry)
        if "neuroid_" in assembly.coords:  # which bsjax does not write
            path.parent.mkdir(parents=True)
            xr.DataArray(assembly, name="data").to_netcdf(path, engine="h5netcdf")
        else:
            write_netcdf(assembly, path)
        return [path]
    stimuli = stimuli_of(entry, folder / "images")
    if entry.archive:
        return [zipped_with_manifest(entry, stimuli, folder)]
    table, archive = (folder / store_name(entry.identifier, kind) for kind in ("csv", "zip"))
    write_stimulus_csv(stimuli, table)
    write_stimulus_zip(stimuli, archive)
    return [table, archive]


def zipped_with_manifest(entry: Published, stimuli: StimulusSet, folder: Path) -> Path:
    archive = folder / entry.archive.rpartition("/")[2]
    with zipfile.ZipFile(archive, "w") as file:
        lines = ["stimulus_id,filename,path"]
        for stimulus_id, path in stimuli.stimulus_paths.items():
            file.write(path, f"{archive.stem}/{path.name}")
            lines.append(f"{stimulus_id},{path.name},/elsewhere/{path.name}")
        file.writestr(f"{archive.stem}/manifest.csv", "\n".join(lines) + "\n")
    return archive


@pytest.fixture(scope="module")
def served(s3, tmp_path_factory) -> dict[tuple[str, str], Published]:
    """The entries, with the digests and the server's version ids of the stand-ins that are in the bucket now."""
    folder = tmp_path_factory.mktemp("published")
    wanted = {(entry.kind, entry.name): entry for entry in [*ASSEMBLIES, *STIMULUS_SETS]}
    for entry in ASSEMBLIES:
        if entry.stimulus_set:
            wanted["stimulus_set", entry.stimulus_set] = published("stimulus_set")[entry.stimulus_set]
    files = {key: files_of(entry, folder) for key, entry in wanted.items()}
    s3.create_bucket(Bucket=BUCKET)

    def put(key: str, path: Path) -> str:
        with open(path, "rb") as body:
            return s3.put_object(Bucket=BUCKET, Key=key, Body=body).get("VersionId", "null")

    def is_old(file) -> bool:
        return file.version_id == "null" or file.version_id is None

    objects = [
        (file, path) for key, entry in wanted.items() for file, path in zip(entry.files, files[key], strict=True)
    ]
    for file, path in objects:
        if is_old(file):
            put(file.key, path)
    s3.put_bucket_versioning(Bucket=BUCKET, VersioningConfiguration={"Status": "Enabled"})
    versions = {file.key: put(file.key, path) for file, path in objects if not is_old(file)}
    for file, _ in objects:
        if file.version_id:
            s3.put_object(Bucket=BUCKET, Key=file.key, Body=b"a newer object at the same key")

    def here(entry: Published, paths: list[Path]) -> Published:
        changes = {}
        prefixes = [""] if entry.kind == "assembly" else ["csv_", "zip_"]
        for prefix, file, path in zip(prefixes, entry.files, paths, strict=False):
            if not entry.archive:
                changes[f"{prefix}sha1"] = sha1_hash(path)
                changes[f"{prefix}version_id"] = versions.get(file.key, file.version_id)
        return replace(entry, **changes)

    return {key: here(entry, files[key]) for key, entry in wanted.items()}


@pytest.fixture
def registered(served, relay, monkeypatch, tmp_path) -> Iterator[None]:
    """These entries in the registries, in the way in which the catalogue registers its own."""
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))  # no stimuli of the user's
    monkeypatch.delenv(GATED.folder_variable, raising=False)
    before = []
    for (kind, name), entry in served.items():
        registry = data_registry if kind == "assembly" else stimulus_set_registry
        before.append((registry, name, registry[name], registry.summary(name)))
        if kind == "assembly":
            registry[name] = partial(load_assembly, entry, load_stimulus_set)
        else:
            registry[name] = partial(load_stimuli, entry)
    yield
    for registry, name, factory, summary in before:
        registry.register(name, factory, summary=summary)


def keys_asked(relay) -> set[str]:
    return {re.sub(r"\?.*", "", asked.path).removeprefix(f"/{BUCKET}/") for asked in relay.asked}


@pytest.mark.parametrize("entry", ASSEMBLIES, ids=lambda entry: entry.name)
def test_an_assembly_of_each_kind(entry, served, registered, relay):
    assembly, stored = load_dataset(entry.name), assembly_of(entry)
    assert type(assembly).__name__ == entry.class_name and assembly.dims == stored.dims
    np.testing.assert_array_equal(assembly.values, stored.values)
    assert assembly.attrs["identifier"] == entry.identifier and assembly.attrs["from"] == "a stand-in"
    asked = {entry.files[0].key}
    stimuli = assembly.attrs.get("stimulus_set")
    assert (stimuli is not None) == bool(entry.stimulus_set)
    if stimuli is not None:
        of_stimuli = published("stimulus_set")[entry.stimulus_set]
        asked |= {file.key for file in of_stimuli.files}
        assert stimuli.identifier == assembly.attrs["stimulus_set_identifier"] == of_stimuli.identifier
        assert all(path.is_file() for path in stimuli.stimulus_paths.values())
    assert ("object_name" in assembly.coords) == bool(entry.merge and entry.stimulus_set)
    if "object_name" in assembly.coords:
        assert assembly["object_name"].values.tolist() == ["dog", "car", "cup"] * 2
    assert keys_asked(relay) == asked
    for file in served["assembly", entry.name].files:
        assert any(request.path.endswith(f"versionId={file.version_id}") for request in relay.asked)
    n_requests = len(relay.asked)
    assert load_dataset(entry.name).identical(assembly) and len(relay.asked) == n_requests  # from the cache


@pytest.mark.parametrize("entry", STIMULUS_SETS, ids=lambda entry: entry.name)
def test_a_stimulus_set_of_each_kind(entry, served, registered, relay):
    stimuli = load_stimulus_set(entry.name)
    stimuli.validate()
    assert stimuli.identifier == entry.identifier and stimuli["stimulus_id"].tolist() == IDS
    for number, stimulus_id in enumerate(IDS):
        with Image.open(stimuli.get_stimulus(stimulus_id)) as image:
            assert image.getpixel((0, 0)) == (len(entry.identifier), number, 0)
    assert keys_asked(relay) == {file.key for file in entry.files}
    n_requests = len(relay.asked)
    assert load_stimulus_set(entry.name).equals(stimuli) and len(relay.asked) == n_requests


@pytest.mark.slow
def test_stimuli_behind_an_agreement_from_a_folder_of_ones_own(registered, relay, monkeypatch, tmp_path):
    folder = tmp_path / "own"
    stimuli = stimuli_of(GATED, folder)
    rows = [f"{key},{path.name},/elsewhere/{path.name}" for key, path in stimuli.stimulus_paths.items()]
    (folder / "manifest.csv").write_text("\n".join(["stimulus_id,filename,path", *rows]) + "\n")
    monkeypatch.setenv(GATED.folder_variable, str(folder))
    for name in ("Zerbe2026_fmri_stim_full", "Zerbe2026_fmri_persubject_stim_full"):
        loaded = load_stimulus_set(name)
        assert loaded.identifier == "Zerbe2026_fmri_stim_full" and list(loaded.columns) == ["stimulus_id", "filename"]
        assert loaded.get_stimulus("001").parent == folder
    assert relay.asked == []
    cached = {row.identifier: row.cached for row in data_rows()}
    assert cached["Zerbe2026_fmri_stim_full"] == "yes"


def test_what_the_list_says_is_cached(registered, served):
    entry, stimuli = served["assembly", "MajajHong2015.public"], served["stimulus_set", "hvm-public"]
    assert status(entry) == status(stimuli) == ("no", 0)
    load_dataset(entry.name)
    size = sum(cached_path(file).stat().st_size for file in entry.files)
    assert status(entry) == ("yes", size) and size > 1000
    table, archive = map(cached_path, stimuli.files)
    archive.unlink()
    assert status(stimuli) == ("partly", table.stat().st_size)


def test_what_is_not_there_is_named_with_its_access(relay, s3, served):
    with pytest.raises(FileNotFoundError) as error:
        load_dataset("Rust2012.single")
    message = str(error.value)
    assert message.startswith(
        "cannot load assembly 'Rust2012.single': object 'brainio-brainscore/assy_dicarlo_Rust2012_single.nc' in bucket "
        "'brainscore-storage' has no version 'null'"
    )
    assert "[access to Rust2012.single: private; " in message


def test_what_is_refused_is_named_with_the_access_it_takes(relay, served, monkeypatch):
    relay.trouble.fail_with = 403
    with pytest.raises(PermissionError) as error:
        load_dataset("MajajHong2015.private")
    message = str(error.value)
    assert "s3://brainscore-storage/brainio-brainscore/assy_dicarlo_MajajHong2015_private.nc" in message
    assert "s3:GetObject" in message and message.count("[access to MajajHong2015.private: private; ") == 1
    monkeypatch.setenv("HOME", "/nowhere")
    with pytest.raises(PermissionError, match="signed a?.*agreement.*") as error:
        load_stimulus_set(GATED.name)
    assert GATED.archive in str(error.value) and GATED.folder_variable in str(error.value)


def test_unknown_data_say_where_they_were_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("BSJAX_PLUGINS", str(tmp_path))
    with pytest.raises(KeyError, match=re.escape(f"in folders of $BSJAX_PLUGINS or --plugins, here {tmp_path}")):
        load_dataset("Nobody2026")


def test_identifiers_that_are_wrong():
    with pytest.raises(KeyError, match="'hvm-public' is a stimulus set, not a data set: use bsjax.load_stimulus_set"):
        load_dataset("hvm-public")
    with pytest.raises(KeyError, match="data set, not a stimulus set"):
        load_stimulus_set("Rust2012.array")


def test_rows():
    rows = list(data_rows())
    assert len(rows) == 305 and len({(row.kind, row.identifier) for row in rows}) == 305
    by_name = {(row.kind, row.identifier): row for row in rows}
    row = by_name["assembly", "FreemanZiemba2013.public"]
    assert (row.region, row.access, row.cached, row.size) == ("V1, V2", "public", "no", 0)
    assert by_name["assembly", "Cowley2026.V4"].region == by_name["stimulus set", "Cowley2026.V4"].region == "V4"
    assert by_name["stimulus set", "Zerbe2026_fmri_stim_full"].access == "agreement"
    assert "disabled in Brain-Score" in by_name["assembly", "Zhang2018search_obj_array"].summary
