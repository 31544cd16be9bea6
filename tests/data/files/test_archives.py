"""Extraction of zip files: whole, inside their folder, and mended where it was cut short."""

import os
import re
import shutil
import stat
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bsjax.data.files.archives import extract_images, unzip

FILES = {f"im{index}.png": np.random.default_rng(index).bytes(1000 + index) for index in range(4)}


def pack(path: Path, files: dict[str, bytes] | list[tuple[str, bytes]] = FILES, compression=zipfile.ZIP_STORED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as file:
        for name, content in files.items() if isinstance(files, dict) else files:
            file.writestr(name, content)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def ages(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_ino for path in folder.iterdir()}


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_LZMA])
def test_a_zip_file_is_extracted_beside_itself(compression, tmp_path):
    files = {**FILES, "a/b/im.png": b"1", "a/im.png": b"2", "odd:name é.png": b"3", "empty": b""}
    archive = pack(tmp_path / "stimulus_a.zip", {**files, "a/": b"", "nothing/": b""}, compression)
    folder = unzip(archive)
    assert folder == tmp_path / "stimulus_a" and contents(folder) == files
    before = ages(folder)
    assert unzip(archive) == folder and ages(folder) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == [".stimulus_a.lock", "stimulus_a", "stimulus_a.zip"]
    assert contents(unzip(archive, tmp_path / "new" / "folder")) == files


def test_an_extraction_cut_short_is_completed(tmp_path):
    files = {**FILES, "sub/im.png": b"in a folder"}
    archive = pack(tmp_path / "a.zip", files)
    folder = unzip(archive)
    before = ages(folder)
    (folder / "im1.png").unlink()
    (folder / "im2.png").write_bytes(FILES["im2.png"][:-1])
    shutil.rmtree(folder / "sub")
    (tmp_path / ".a.unzipping").mkdir()
    (tmp_path / ".a.unzipping" / "im2.png").write_bytes(b"of a process that was killed")
    (folder / "of the user.txt").write_text("stays")
    assert contents(unzip(archive)) == {**files, "of the user.txt": b"stays"}
    assert all(ages(folder)[name] == before[name] for name in ("im0.png", "im3.png"))
    assert not (tmp_path / ".a.unzipping").exists()


def test_images_are_extracted_for_each_archive(tmp_path):
    images = {"images/b.jpg": b"b", "images/a.PNG": b"a", "c.jpg": b"c"}
    others = {"__MACOSX/images/._a.PNG": b"no", ".hidden.jpg": b"no", "readme.txt": b"no"}
    paths = extract_images(pack(tmp_path / "a.zip", {**images, **others}), tmp_path / "cache")
    assert [(path.name, path.read_bytes()) for path in paths] == [("a.PNG", b"a"), ("b.jpg", b"b"), ("c.jpg", b"c")]
    again = extract_images(pack(tmp_path / "a.zip", {"a.jpg": b"2"}), tmp_path / "cache")
    assert again[0].read_bytes() == b"2" and paths[0].is_file()
    with pytest.raises(ValueError, match="holds no image"):
        extract_images(pack(tmp_path / "a.zip", {"readme.txt": b"1"}), tmp_path / "cache")


@pytest.mark.parametrize("name", ["a/../../evil.png", "/tmp/evil.png", "..\\evil.png", "C:evil.png", "."])
def test_a_member_that_leads_outside_is_refused_and_nothing_is_extracted(name, tmp_path):
    archive = pack(tmp_path / "a.zip", {**FILES, name: b"evil"})
    with pytest.raises(ValueError, match=f"{re.escape(str(archive))} holds a member that leads outside of it, "):
        unzip(archive)
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_link_is_extracted_as_a_file(tmp_path):
    link = zipfile.ZipInfo("link.png")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr(link, "/etc/passwd")
    path = unzip(tmp_path / "a.zip") / "link.png"
    assert not path.is_symlink() and path.read_text() == "/etc/passwd"


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    ("files", "message"),
    [
        ([], "holds no files"),
        ([("folder/", b"")], "holds no files"),
        ([("a", b"1"), ("a", b"2")], "holds two files named 'a'"),
        ([("b/a", b"1"), ("./b//a", b"2")], "holds two files named 'b/a'"),
        ([("a", b"1"), ("a/b", b"2")], "holds 'a/b' in a folder that is a file too"),
    ],
)
def test_what_cannot_be_a_folder_of_stimuli(files, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        unzip(pack(tmp_path / "a.zip", files))
    assert not (tmp_path / "a").exists()


def test_a_member_that_does_not_have_its_checksum_is_refused(tmp_path):
    archive = pack(tmp_path / "a.zip")
    content = archive.read_bytes()
    place = content.index(FILES["im3.png"]) + 500
    archive.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    with pytest.raises(ValueError, match=r"cannot read .*a.zip as a zip file \(Bad CRC-32 for file 'im3.png'\): fetch"):
        unzip(archive)
    assert not (tmp_path / "a").exists() and not (tmp_path / ".a.unzipping").exists()


def test_a_complete_folder_is_used_where_nothing_can_be_written(tmp_path):
    home = tmp_path / "shared"
    home.mkdir()
    archive = pack(home / "a.zip")
    unzip(archive)
    (home / ".a.lock").unlink()
    home.chmod(0o555)
    try:
        assert contents(unzip(archive)) == FILES
        if os.geteuid():
            (home / "a" / "im0.png").unlink()
            with pytest.raises(PermissionError, match=r"cannot extract a.zip in .*make the folder writable"):
                unzip(archive)
    finally:
        home.chmod(0o755)
    assert [path.name for path in home.iterdir() if path.name.endswith(".lock")] == []
