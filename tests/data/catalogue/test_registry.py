"""Published data by identifier: small data at the real buckets and keys of a server, and what is said of the rest."""

import re
import zipfile
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from bsjax.data import load_dataset, load_stimulus_set
from bsjax.data.catalogue.published import published, status
from bsjax.data.catalogue.registry import data_rows
from bsjax.data.remote.cache import cached_path
from tests.support import served_data as served

BUCKET = "brainscore-storage"
GATED = published("stimulus_set")["Zerbe2026_fmri_stim_full"]


@pytest.fixture
def serve(s3, relay, monkeypatch, tmp_path) -> Iterator[object]:
    """Puts small data where published ones lie; see ``tests.support.served_data``."""
    with served.serving(s3, monkeypatch, tmp_path) as put:
        yield put


def trials(stimuli, **neuroids):
    values = np.random.default_rng(0).random((2, len(stimuli), 2))
    return served.assembly_of(values, stimuli, **neuroids)


def test_an_assembly_with_its_stimuli(serve, relay):
    shown = served.stimuli_of(3, object_name=["dog", "car", "cup"])
    stored = trials(shown, region=["V4", "IT"])
    serve("MajajHong2015.public", stored, shown)
    assembly = load_dataset("MajajHong2015.public")
    assert type(assembly).__name__ == "NeuronRecordingAssembly"
    np.testing.assert_array_equal(assembly.values, stored.values)
    assert assembly["object_name"].values.tolist() == ["dog", "car", "cup"] * 2
    stimuli = assembly.attrs["stimulus_set"]
    assert stimuli.identifier == assembly.attrs["stimulus_set_identifier"] == "hvm-public"
    stimuli.validate()
    files = [*published("assembly")["MajajHong2015.public"].files, *published("stimulus_set")["hvm-public"].files]
    assert {re.sub(r"\?.*", "", asked.path) for asked in relay.asked} == {f"/{BUCKET}/{file.key}" for file in files}
    relay.asked.clear()
    assert load_dataset("MajajHong2015.public").identical(assembly) and relay.asked == []  # from the cache


def test_what_is_done_after_reading(serve):
    shown = served.stimuli_of(3, percentage_elements=[12, 16, 100], condition=[1, 2, 3])
    serve("Scialom2024_contours", stimuli=shown)
    assert load_stimulus_set("Scialom2024_contours")["condition"].tolist() == ["1", "2", "3"]
    session = trials(shown, region=["V4", "IT"]).assign_coords(session=("presentation", range(6)))
    serve("Zerbe2026_fmri_persubject_full_sub-01", session, shown)
    subject = load_dataset("Zerbe2026_fmri_persubject_full_sub-01")
    assert set(subject["subject_id_pres"].values) == {"sub-01"} and "session" not in subject.coords
    assert "filename" not in subject.coords and "path" not in subject.attrs["stimulus_set"]  # not merged, and dropped
    serve("Cadena2017", trials(shown).drop_vars("time_bin_start"), shown)
    sites = load_dataset("Cadena2017")
    assert sites["neuroid_id"].values.tolist() == [0, 1] and set(sites["region"].values) == {"V1"}


def test_stimuli_behind_an_agreement(serve, relay, s3, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path / "nobody"))
    monkeypatch.delenv(GATED.folder_variable, raising=False)
    Image.new("RGB", (4, 4)).save(tmp_path / "a.png")
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        archive.write(tmp_path / "a.png", "images_extracted/a.png")
        archive.writestr("images_extracted/manifest.csv", "stimulus_id,filename,path\n001,a.png,/elsewhere/a.png\n")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key=GATED.archive, Body=(tmp_path / "images.zip").read_bytes())
    fetched = load_stimulus_set(GATED.name)
    assert list(fetched.columns) == ["stimulus_id", "filename"] and fetched.get_stimulus("001").is_file()
    relay.asked.clear()
    serve(GATED.name, stimuli=served.stimuli_of(3))  # a folder of one's own
    for name in (GATED.name, "Zerbe2026_fmri_persubject_stim_full"):
        loaded = load_stimulus_set(name)
        assert loaded.identifier == GATED.identifier and len(loaded) == 3 and relay.asked == []
    assert {row.identifier: row.cached for row in data_rows()}[GATED.name] == "yes"


def test_what_the_list_says_is_cached(brainio_home):
    entry = published("stimulus_set")["hvm-public"]
    assert status(entry) == ("no", 0)
    for said, file in zip(("partly", "yes"), entry.files, strict=True):
        cached_path(file).parent.mkdir(parents=True)
        cached_path(file).write_bytes(b"content")
        assert status(entry).cached == said
    assert status(entry).size == 14


def test_what_is_not_there_or_refused_is_named_with_its_access(relay, s3, monkeypatch):
    s3.create_bucket(Bucket=BUCKET)
    with pytest.raises(FileNotFoundError, match=r"'Rust2012.single'.*dicarlo_Rust2012_single.nc.*\[access to Rust2012"):
        load_dataset("Rust2012.single")
    relay.trouble.fail_with = 403
    with pytest.raises(PermissionError, match="s3://.*MajajHong2015_private.nc.*s3:GetObject") as error:
        load_dataset("MajajHong2015.private")
    assert str(error.value).count("[access to MajajHong2015.private: private; ") == 1
    monkeypatch.setenv("HOME", "/nowhere")
    with pytest.raises(PermissionError, match=f"{GATED.archive}.*{GATED.folder_variable}.*agreement"):
        load_stimulus_set(GATED.name)


def test_identifiers_that_are_wrong(tmp_path, monkeypatch):
    with pytest.raises(KeyError, match="'hvm-public' is a stimulus set, not a data set: use bsjax.load_stimulus_set"):
        load_dataset("hvm-public")
    with pytest.raises(KeyError, match="data set, not a stimulus set"):
        load_stimulus_set("Rust2012.array")
    monkeypatch.setenv("BSJAX_PLUGINS", str(tmp_path))
    with pytest.raises(KeyError, match=re.escape(f"in folders of $BSJAX_PLUGINS or --plugins, here {tmp_path}")):
        load_dataset("Nobody2026")


def test_rows():
    rows = [row for row in data_rows() if row.access]  # plugins of other tests in this process say nothing of access
    assert len(rows) == 305 and len({(row.kind, row.identifier) for row in rows}) == 305
    by_name = {(row.kind, row.identifier): row for row in rows}
    row = by_name["assembly", "FreemanZiemba2013.public"]
    assert (row.region, row.access, row.cached, row.size) == ("V1, V2", "public", "no", 0)
    assert by_name["assembly", "Cowley2026.V4"].region == by_name["stimulus set", "Cowley2026.V4"].region == "V4"
    assert by_name["stimulus set", "Zerbe2026_fmri_stim_full"].access == "agreement"
    assert "disabled in Brain-Score" in by_name["assembly", "Zhang2018search_obj_array"].summary
