"""Stimulus sets as CSV and zip: both ways, the same bytes everywhere, and a clear error for each broken one."""

import unicodedata
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from bsjax.core.digests.files import note_of
from bsjax.data import (
    StimulusSet,
    read_stimulus_set,
    stimulus_filenames,
    write_stimulus_csv,
    write_stimulus_zip,
)
from bsjax.data.files.archives import unzip
from bsjax.data.publishing.drafts import read_draft_stimuli


def stimulus_set(folder: Path, ids=("im_b", "001", "é"), **columns) -> StimulusSet:
    folder.mkdir(exist_ok=True)
    paths = {}
    for number, key in enumerate(ids):
        paths[key] = folder / f"source{number}.PNG"
        paths[key].write_bytes(b"image %d" % number)
    table = {"stimulus_id": list(ids), "object_name": ["dog", None, "a, b"][: len(ids)], **columns}
    return StimulusSet(table, identifier="lab.Set2024", stimulus_paths=paths)


def packaged(stimuli: StimulusSet, folder: Path) -> tuple[Path, Path]:
    write_stimulus_csv(stimuli, folder / "stimulus_A.csv")
    write_stimulus_zip(stimuli, folder / "stimulus_A.zip")
    return folder / "stimulus_A.csv", unzip(folder / "stimulus_A.zip")


def test_round_trip(tmp_path):
    stimuli = stimulus_set(tmp_path / "source", size=[1.5, None, 2.0], n=[1, 2, 3], made=[True, False, True])
    before = stimuli.copy()
    read = read_stimulus_set(*packaged(stimuli, tmp_path / "package"))
    assert type(read) is StimulusSet and read.identifier is None
    pd.testing.assert_frame_equal(pd.DataFrame(read.drop(columns="filename")), pd.DataFrame(stimuli))
    assert read["filename"].tolist() == ["im_b.PNG", "001.PNG", "é.PNG"]
    for key in stimuli["stimulus_id"]:
        assert read.get_stimulus(key).read_bytes() == stimuli.get_stimulus(key).read_bytes()
    read.validate()
    assert stimuli.equals(before) and list(stimuli) == list(before)
    again = packaged(read, tmp_path / "again")
    assert again[0].read_bytes() == (tmp_path / "package" / "stimulus_A.csv").read_bytes()
    assert (tmp_path / "again/stimulus_A.zip").read_bytes() == (tmp_path / "package/stimulus_A.zip").read_bytes()


@pytest.mark.parametrize("ids", [["1", "2", "3"], [1, 2, 3], ["1.0", "2.50", "NA"]])
def test_ids_keep_their_type(ids, tmp_path):
    read = read_stimulus_set(*packaged(stimulus_set(tmp_path / "source", ids), tmp_path))
    assert read["stimulus_id"].tolist() == ids and list(read.stimulus_paths) == ids


def test_names_in_the_zip(tmp_path):
    stimuli = stimulus_set(tmp_path, stimulus_path_within_store=["x", "y", "z"])
    stimuli["stimulus_current_local_file_path"] = "/home/somebody"
    assert stimulus_filenames(stimuli) == ["x.PNG", "y.PNG", "z.PNG"]
    csv, folder = packaged(stimuli, tmp_path / "package")
    assert csv.read_text().splitlines()[0] == "stimulus_id,object_name,filename"
    assert sorted(path.name for path in folder.iterdir()) == ["x.PNG", "y.PNG", "z.PNG"]


def test_stimuli_may_share_a_file(tmp_path):
    stimuli = stimulus_set(tmp_path, stimulus_path_within_store=["x", "x", "z"])
    stimuli.stimulus_paths["001"] = stimuli.stimulus_paths["im_b"]
    read = read_stimulus_set(*packaged(stimuli, tmp_path / "package"))
    assert read["filename"].tolist() == ["x.PNG", "x.PNG", "z.PNG"]
    assert read.get_stimulus("001") == read.get_stimulus("im_b")
    stimuli.stimulus_paths["001"] = stimuli.stimulus_paths["é"]
    with pytest.raises(ValueError, match=r"'x.PNG' would be the name of .*source0.PNG and of .*source2.PNG"):
        write_stimulus_zip(stimuli, tmp_path / "package" / "b.zip")


@pytest.fixture
def pair(tmp_path) -> tuple[Path, Path]:
    return packaged(stimulus_set(tmp_path / "source"), tmp_path)


def edit(csv, content):
    """Change a table on purpose: what bsjax noted of it goes."""
    csv.write_text(content)
    note_of(csv).unlink()


def test_a_table_that_was_changed_after_bsjax_wrote_it_is_refused(pair):
    csv, folder = pair
    whole = read_stimulus_set(csv, folder)
    content = csv.read_bytes()
    csv.write_bytes(content.replace(b"001", b"002"))
    with pytest.raises(ValueError, match=r"stimulus_A.csv was changed after .*remove .*\.stimulus_A.csv.verified"):
        read_stimulus_set(csv, folder)
    with pytest.raises(ValueError, match="stimulus_A.csv was changed after"):
        read_draft_stimuli(csv, folder)
    csv.write_bytes(content)  # at another time, but the same
    assert read_stimulus_set(csv, folder).equals(whole)


def test_files_may_lie_in_folders(pair):
    csv, folder = pair
    (folder / "images").mkdir()
    (folder / "im_b.PNG").rename(folder / "images" / "im_b.PNG")
    with pytest.raises(FileNotFoundError, match="1 of 3 files of"):
        read_stimulus_set(csv, folder)
    edit(csv, csv.read_text().replace("im_b.PNG", "images/im_b.PNG"))
    assert read_stimulus_set(csv, folder).get_stimulus("im_b") == folder / "images" / "im_b.PNG"


def test_files_that_belong_to_no_stimulus(pair):
    csv, folder = pair
    (folder / "more.png").write_bytes(b"")
    with pytest.raises(ValueError, match="holds 1 files that .*stimulus_A.csv does not name: more.png"):
        read_stimulus_set(csv, folder)
    assert len(StimulusSet.from_files(csv, folder, exact=False)) == 3


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "it has no rows"),
        ("a,a.png\na,b.png\n,c.png\n", "stimulus_id is missing in 1 of 3 rows: .*; stimulus_id repeats a"),
        ("a,x/../../a.png\n", "filename leads out of the folder: x/../../a.png"),
    ],
)
def test_tables_that_are_none_of_a_stimulus_set(rows, message, pair):
    csv, folder = pair
    edit(csv, f"stimulus_id,filename\n{rows}")
    with pytest.raises(ValueError, match=f"stimulus_A.csv is not the table of a stimulus set: {message}"):
        read_stimulus_set(csv, folder)


def test_what_is_not_there(pair, tmp_path):
    csv, folder = pair
    with pytest.raises(FileNotFoundError, match="no table at .*no.csv"):
        read_stimulus_set(tmp_path / "no.csv", folder)
    with pytest.raises(FileNotFoundError, match="no folder .*nowhere with the files of .*stimulus_A.csv"):
        read_stimulus_set(csv, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda s: s.drop(columns="stimulus_id"), "no column stimulus_id"),
        (lambda s: s.assign(stimulus_id=["x", "y", "z"]), "stimulus_paths lacks x, y, z"),
        (lambda s: s.assign(filename=["../x", "y", "z"]), "'../x' is not a plain file name"),
        (lambda s: s.assign(filename=["._x", "y", "z"]), "'._x' is not a plain file name"),
        (lambda s: s.get_stimulus("001").unlink() or s, "no such file: .*source1.PNG"),
    ],
)
def test_sets_that_cannot_be_written(change, message, tmp_path):
    stimuli = change(stimulus_set(tmp_path / "source"))
    for write in (write_stimulus_csv, write_stimulus_zip):
        with pytest.raises((ValueError, FileNotFoundError), match=message):
            write(stimuli, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def in_zip(path, *members):
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, b"image")
    return path


@pytest.mark.parametrize("named", ["images/a.png", "images\\a.png"])
def test_zip_files_of_other_systems(tmp_path, named):
    members = ["set\\images\\", "set\\images\\a.png", "set\\images\\b.png", "set\\Thumbs.db"]
    archive = in_zip(tmp_path / "set.zip", *members)
    (tmp_path / "set.csv").write_text(f"stimulus_id,filename\na,{named}\nb,images/b.png\n")
    whole = read_stimulus_set(tmp_path / "set.csv", archive)
    assert [path.read_bytes() for path in whole.stimulus_paths.values()] == [b"image"] * 2
    assert read_draft_stimuli(tmp_path / "set.csv", unzip(archive)).stimulus_paths == whole.stimulus_paths


@pytest.mark.parametrize(("in_table", "on_disk"), [("NFC", "NFD"), ("NFD", "NFC")])
def test_names_in_two_unicode_forms(tmp_path, in_table, on_disk):
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / unicodedata.normalize(on_disk, "café.png")).write_bytes(b"image")
    name = unicodedata.normalize(in_table, "café.png")
    (tmp_path / "set.csv").write_text(f"stimulus_id,filename\nx,{name}\n", encoding="utf-8")
    for read in (read_stimulus_set, read_draft_stimuli):
        assert read(tmp_path / "set.csv", tmp_path / "files").get_stimulus("x").read_bytes() == b"image"


def test_a_folder_around_all_files_does_not_hide_others(tmp_path):
    archive = in_zip(tmp_path / "set.zip", "set/a.png", "set/more.png")
    (tmp_path / "set.csv").write_text("stimulus_id,filename\na,a.png\n")
    with pytest.raises(ValueError, match="holds 1 files that .* does not name: set/more.png"):
        read_stimulus_set(tmp_path / "set.csv", archive)
    (tmp_path / "set.csv").write_text("stimulus_id,filename\na,a.png\nb,b.png\n")
    with pytest.raises(FileNotFoundError, match="2 of 2 files .*: a.png, b.png .there is set/a.png"):
        read_stimulus_set(tmp_path / "set.csv", archive)
