"""The reader of the macaque V4 recordings: on a small folder in its layout, and on the real ones."""

import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from bsjax.benchmarks.families.cowley2026.reader import load_session
from bsjax.data import NeuroidAssembly, average_repetition, load_dataset, load_image

SESSION = "201016"
N_NEURONS, N_IMAGES, N_REPEATS = 3, 12, 4


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("BSJAX_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def counts() -> np.ndarray:
    """(neurons, images, repeats); image i has 1 + i % 4 repeats, and neuron 0 lacks the first of image 3."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(3, size=(N_NEURONS, N_IMAGES, N_REPEATS)).astype(float)
    for image in range(N_IMAGES):
        counts[:, image, 1 + image % 4 :] = np.nan
    counts[0, 3, 0] = np.nan
    return counts


@pytest.fixture
def images(tmp_path) -> Path:
    folder = tmp_path / "shown"
    folder.mkdir()
    for number in range(1, N_IMAGES + 1):
        Image.new("RGB", (6, 4), (number * 20, 0, 0)).save(folder / f"image{number:04d}.jpg")
    return folder


def zipped(images: Path, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as file:
        for image in sorted(images.iterdir(), reverse=True):  # not in order: names decide, not the archive
            file.write(image, image.name)


def saved(counts: np.ndarray, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.save(path, counts)


@pytest.fixture
def flat(tmp_path, counts, images) -> Path:
    return laid_out("flat", tmp_path, counts, images)


def laid_out(layout: str, tmp_path: Path, counts: np.ndarray, images: Path) -> Path:
    given = tmp_path / "recordings"
    root = given / "data_V4_responses" if layout.startswith("clone") else given
    if layout.startswith("flat"):
        saved(counts, root / f"responses_raw_{SESSION}.npy")
        pictures = root / f"images_{SESSION}"
    else:
        saved(counts, root / "responses_raw" / f"responses_{SESSION}.npy")
        pictures = root / "images" / f"images_{SESSION}"
    if layout.endswith("into a folder"):
        shutil.copytree(images, pictures / f"images_{SESSION}")
        (pictures / "__MACOSX").mkdir()
        (pictures / "__MACOSX" / "._image0001.jpg").write_bytes(b"")
    else:
        zipped(images, pictures.with_name(pictures.name + ".zip"))
    return given


@pytest.mark.parametrize("layout", ["clone", "data folder", "flat", "flat, unzipped into a folder"])
def test_every_layout_gives_the_same_recording(layout, tmp_path, counts, images):
    assembly = load_session(laid_out(layout, tmp_path, counts, images), session=SESSION)
    assert type(assembly) is NeuroidAssembly
    assert assembly.dims == ("presentation", "neuroid", "time_bin")
    assert assembly.shape == (sum(1 + image % 4 for image in range(N_IMAGES)), N_NEURONS, 1)
    stimuli = assembly.attrs["stimulus_set"]
    stimuli.validate()
    for row in range(assembly.sizes["presentation"]):
        presentation = assembly.isel(presentation=row)
        image = int(presentation["stimulus_id"].item()[-4:]) - 1
        np.testing.assert_array_equal(presentation.values[:, 0], counts[:, image, presentation["repetition"].item()])
        red = load_image(stimuli.get_stimulus(presentation["stimulus_id"].item()))[0, 0, 0]
        assert abs(int(red) - 20 * (image + 1)) <= 3  # the response's own image, up to jpeg


def test_coordinates_and_attributes(flat):
    assembly = load_session(flat, session=SESSION)
    assert assembly["repetition"].values[:6].tolist() == [0, 0, 1, 0, 1, 2]
    assert assembly["neuroid_id"].values.tolist() == ["201016.0", "201016.1", "201016.2"]
    for name, value in {"region": "V4", "animal": "PE", "session": "201016"}.items():
        assert assembly[name].dims == ("neuroid",) and set(assembly[name].values) == {value}
    assert (assembly["time_bin_start"].item(), assembly["time_bin_end"].item()) == (0, 100)
    assert assembly.attrs["identifier"] == "Cowley2026.V4.201016"
    assert "10.1038/s41586-026-10150-1" in assembly.attrs["bibtex"]
    assert len(assembly.problems()) == 1


def test_images_without_any_repeat_are_left_out(tmp_path, counts, images):
    counts[:, 1] = np.nan
    assembly = load_session(laid_out("flat", tmp_path, counts, images), session=SESSION)
    assert "201016.image0002" not in assembly["stimulus_id"].values
    assert set(assembly.attrs["stimulus_set"]["stimulus_id"]) == set(assembly["stimulus_id"].values)


def test_missing_files_say_where_to_get_them(tmp_path, flat):
    with pytest.raises(FileNotFoundError, match="responses of session 201016 not found in .*git clone https://github"):
        load_session(tmp_path / "empty", session=SESSION)
    (flat / f"images_{SESSION}.zip").unlink()
    with pytest.raises(FileNotFoundError, match=r"images of session 201016 not found.*images_201016\.zip"):
        load_session(flat, session=SESSION)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((3, 12)), ", got float64"),
        (np.full((3, 12, 4), "a"), r"got <U1 \(3, 12, 4\)"),
        (np.full((3, 12, 4), None), "as an array of responses"),
        (np.full((3, 12, 4), np.nan), "no recorded repeat, only NaN"),
    ],
)
def test_responses_that_cannot_be_used(array, message, flat):
    np.save(flat / f"responses_raw_{SESSION}.npy", array)
    with pytest.raises(ValueError, match=message):
        load_session(flat, session=SESSION)


def test_the_recordings_themselves(shared_data):
    folder = shared_data / "macaque_v4"
    if not folder.is_dir():
        pytest.skip(f"no recordings at {folder}")
    assembly = load_dataset("Cowley2026.V4", folder=folder)
    stimuli = assembly.attrs["stimulus_set"]
    stimuli.validate()
    assembly.validate()
    assert len(stimuli) == 640 and set(stimuli["width"]) == set(stimuli["height"]) == {112}
    stored = np.load(folder / "responses_raw_210325.npy", allow_pickle=False)
    assert assembly.sizes == {"presentation": int((~np.isnan(stored[0])).sum()), "neuroid": 50, "time_bin": 1}
    mean = average_repetition(assembly)
    np.testing.assert_allclose(mean.values[:, :, 0], np.nanmean(stored, axis=2).T, rtol=1e-12)
