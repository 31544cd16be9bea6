"""Images as the reference reads them, and files written whole."""

import stat
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bsjax.data import cache_dir, image_size, load_image, write_atomically


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


@pytest.mark.parametrize("read", [load_image, image_size])
def test_a_missing_file_is_named(read, tmp_path):
    assert image_size(str(save(tmp_path / "image.jpg", "RGB", (128, 128, 128), size=(11, 7)))) == (11, 7)
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
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    with pytest.raises(TypeError):
        write_atomically(path, "not bytes", sync=sync)
    assert path.read_bytes() == b"two" and [file.name for file in path.parent.iterdir()] == ["b.bin"]
