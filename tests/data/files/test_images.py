"""Images as the reference reads them, files written whole, and archives extracted once."""

import os
import stat
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bsjax.data import cache_dir, image_size, load_image, write_atomically
from bsjax.data.files.archives import extract_images


def save(path: Path, mode: str, colour, size=(3, 2), **options) -> Path:
    Image.new(mode, size, colour).save(path, **options)
    return path


@pytest.mark.parametrize(
    ("mode", "colour", "expected"),
    [
        ("RGB", (1, 2, 3), [1, 2, 3]),
        ("L", 7, [7, 7, 7]),
        ("1", 1, [255, 255, 255]),
        ("LA", (9, 0), [9, 9, 9]),
        ("RGBA", (10, 20, 30, 0), [10, 20, 30]),  # invisible, and yet the colours are kept as stored
        ("RGBA", (10, 20, 30, 128), [10, 20, 30]),
    ],
)
def test_every_mode_becomes_rgb(mode, colour, expected, tmp_path):
    image = load_image(save(tmp_path / "image.png", mode, colour))
    assert image.dtype == np.uint8 and image.shape == (2, 3, 3)
    assert (image == expected).all()
    image[0] = 0  # belongs to the caller


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P", "L"])
def test_equals_pasting_on_black(mode, tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, size=(5, 4, 4), dtype=np.uint8)
    path = tmp_path / "image.png"
    Image.fromarray(pixels if mode != "P" else pixels[..., :3]).convert(mode).save(path)
    with Image.open(path) as stored:
        black = Image.new("RGB", stored.size, (0, 0, 0))
        black.paste(stored)
    np.testing.assert_array_equal(load_image(path), np.asarray(black))


@pytest.mark.parametrize("transparency", [0, bytes([0, 128] * 128)])
def test_palettes_with_transparency_give_no_warning(transparency, tmp_path):
    image = Image.new("P", (2, 2), 1)
    image.putpalette([200, 100, 50, 1, 2, 3])
    image.save(tmp_path / "palette.png", transparency=transparency)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (load_image(tmp_path / "palette.png") == [1, 2, 3]).all()


def test_jpeg_and_paths_as_strings(tmp_path):
    path = save(tmp_path / "image.jpg", "RGB", (128, 128, 128), size=(11, 7))
    assert load_image(str(path)).shape == (7, 11, 3)
    assert image_size(str(path)) == (11, 7)


def test_rows_and_columns_are_not_swapped(tmp_path):
    pixels = np.zeros((2, 3, 3), dtype=np.uint8)
    pixels[1, 2] = [255, 0, 10]
    Image.fromarray(pixels).save(tmp_path / "image.png")
    np.testing.assert_array_equal(load_image(tmp_path / "image.png"), pixels)


@pytest.mark.parametrize("read", [load_image, image_size])
def test_a_missing_file_is_named(read, tmp_path):
    with pytest.raises(FileNotFoundError, match="no image file at .*absent.png"):
        read(tmp_path / "absent.png")


def test_sixteen_bits_are_refused_rather_than_clipped(tmp_path):
    Image.fromarray(np.full((2, 2), 40_000, dtype=np.uint16)).save(tmp_path / "deep.png")
    with pytest.raises(ValueError, match="cannot read .*deep.png.* more than 8 bits a channel"):
        load_image(tmp_path / "deep.png")


def test_cache_dir_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "here"))
    assert cache_dir() == tmp_path / "here"
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BSJAX_HOME", "~/there")
    assert cache_dir() == tmp_path / "there"
    monkeypatch.delenv("BSJAX_HOME")
    assert cache_dir() == tmp_path / ".bsjax"


@pytest.mark.parametrize("sync", [True, False])
def test_files_are_written_whole_with_the_usual_permissions(sync, tmp_path):
    path = write_atomically(tmp_path / "a" / "b.bin", b"one", sync=sync)
    write_atomically(path, b"two", sync=sync)
    assert path.read_bytes() == b"two"
    assert [file.name for file in path.parent.iterdir()] == ["b.bin"]
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    target = tmp_path / "taken"
    target.mkdir()
    with pytest.raises(OSError):
        write_atomically(target, b"a file cannot replace a folder")
    kept = tmp_path / "kept.bin"
    kept.write_bytes(b"before")
    with pytest.raises(TypeError):
        write_atomically(kept, "not bytes")
    assert kept.read_bytes() == b"before"
    assert sorted(os.listdir(tmp_path)) == ["kept.bin", "taken"]


def archive(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_extracts_images_alone_sorted_and_flat(tmp_path):
    members = {
        "images/b.jpg": b"b",
        "images/a.PNG": b"a",
        "__MACOSX/images/._a.PNG": b"no",
        ".hidden.jpg": b"no",
        "readme.txt": b"no",
    }
    paths = extract_images(archive(tmp_path / "i.zip", members), tmp_path / "cache")
    assert [path.name for path in paths] == ["a.PNG", "b.jpg"]
    assert [path.read_bytes() for path in paths] == [b"a", b"b"]
    assert sorted(file.name for file in (tmp_path / "cache").rglob("*") if file.is_file()) == [
        "a.PNG",
        "b.jpg",
    ]


def test_extracts_once_and_repairs_what_is_damaged(tmp_path):
    zipped = archive(tmp_path / "i.zip", {f"{name}.jpg": name.encode() * 100 for name in "abcd"})
    paths = extract_images(zipped, tmp_path / "cache")
    times = {path: path.stat().st_mtime_ns for path in paths}
    truncated, altered, removed, untouched = paths
    truncated.write_bytes(b"aaa")
    altered.write_bytes(b"x" * 100)
    removed.unlink()
    assert extract_images(zipped, tmp_path / "cache") == paths
    assert [path.read_bytes() for path in paths] == [name.encode() * 100 for name in "abcd"]
    assert untouched.stat().st_mtime_ns == times[untouched]


def test_another_archive_of_the_same_name_gets_its_own_folder(tmp_path):
    first = extract_images(archive(tmp_path / "i.zip", {"a.jpg": b"1"}), tmp_path / "cache")
    second = extract_images(archive(tmp_path / "i.zip", {"a.jpg": b"2"}), tmp_path / "cache")
    assert first[0].read_bytes() == b"1" and second[0].read_bytes() == b"2"


@pytest.mark.parametrize("name", ["../evil.jpg", "/evil.jpg", "a/../../evil.jpg", "..\\evil.jpg", "C:/evil.jpg"])
def test_members_that_lead_outside_are_refused(name, tmp_path):
    zipped = archive(tmp_path / "i.zip", {"good.jpg": b"good", name: b"evil"})
    with pytest.raises(ValueError, match="leads outside"):
        extract_images(zipped, tmp_path / "deep" / "cache")
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["i.zip"]


def test_archives_that_cannot_be_used(tmp_path):
    with pytest.raises(ValueError, match="two images named 'a.jpg'"):
        extract_images(archive(tmp_path / "i.zip", {"x/a.jpg": b"1", "y/a.jpg": b"2"}), tmp_path / "cache")
    with pytest.raises(ValueError, match="holds no image"):
        extract_images(archive(tmp_path / "i.zip", {"readme.txt": b"1"}), tmp_path / "cache")
    whole = archive(tmp_path / "i.zip", {"a.jpg": os.urandom(5000)}).read_bytes()
    (tmp_path / "cut.zip").write_bytes(whole[:2500])
    with pytest.raises(ValueError, match=r"cannot read .*cut.zip as a zip file .*: fetch it again"):
        extract_images(tmp_path / "cut.zip", tmp_path / "cache")
    (tmp_path / "bad.zip").write_bytes(whole[:1000] + bytes(100) + whole[1100:])
    with pytest.raises(ValueError, match=r"cannot read .*bad.zip as a zip file .*: fetch it again"):
        extract_images(tmp_path / "bad.zip", tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.jpg"))
