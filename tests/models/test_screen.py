"""Images at their size in degrees."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from bsjax import StimulusSet
from bsjax.data import cache_dir, load_image
from bsjax.models import place_on_screen


def noise(height, width, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)


def shown(stimuli, n=0):
    return load_image(stimuli.get_stimulus(f"image{n}"))


def of_file(path):
    return StimulusSet({"stimulus_id": ["image0"]}, stimulus_paths={"image0": path})


def test_the_references_picture_from_10_to_12_degrees(shared_data):
    folder = shared_data / "brainscore_files"
    placed = place_on_screen(of_file(folder / "rgb1.jpg"), target_visual_degrees=12, source_visual_degrees=10)
    np.testing.assert_array_equal(shown(placed), load_image(folder / "rgb1-10to12.png"))


@given(height=st.integers(4, 40), width=st.integers(4, 40), target=st.floats(0.5, 20), source=st.floats(0.5, 20))
def test_pixels_are_never_resampled(tmp_path_factory, height, width, target, source):
    image = noise(height, width)
    path = tmp_path_factory.mktemp("screen") / "image.png"
    Image.fromarray(image).save(path)
    size = np.round(target / source * np.array([height, width])).astype(int)
    stimuli = of_file(path)
    if size.min() < 1:
        with pytest.raises(ValueError, match="would be cropped to"):
            place_on_screen(stimuli, target, source)
        return
    placed = shown(place_on_screen(stimuli, target, source))
    assert placed.shape == (*size, 3)
    rows, columns = np.minimum(size, image.shape[:2])
    on_canvas = np.maximum(np.round((size - image.shape[:2]) / 2), 0).astype(int)
    in_image = np.maximum(np.round((image.shape[:2] - size) / 2), 0).astype(int)
    np.testing.assert_array_equal(
        placed[on_canvas[0] : on_canvas[0] + rows, on_canvas[1] : on_canvas[1] + columns],
        image[in_image[0] : in_image[0] + rows, in_image[1] : in_image[1] + columns],
    )
    if target >= source:
        n_gray = placed.shape[0] * placed.shape[1] - rows * columns
        assert (placed == 128).all(axis=2).sum() - (image == 128).all(axis=2).sum() == n_gray


def test_equal_degrees_give_the_same_set(stimulus_set):
    stimuli = stimulus_set([noise(4, 4), noise(4, 4)])
    assert place_on_screen(stimuli, target_visual_degrees=8, source_visual_degrees=8.0) is stimuli
    with_column = stimulus_set([noise(4, 4), noise(4, 4)], degrees=[8, 8])
    assert place_on_screen(with_column, target_visual_degrees=8) is with_column


def test_each_image_has_the_size_of_its_row(stimulus_set):
    stimuli = stimulus_set([noise(8, 8, n) for n in range(3)], degrees=[4, 8, 16], object_name=["a", "b", "c"])
    before = stimuli.copy()
    placed = place_on_screen(stimuli, target_visual_degrees=8)
    assert [shown(placed, n).shape[0] for n in range(3)] == [16, 8, 4]
    assert placed.get_stimulus("image1") == stimuli.get_stimulus("image1")
    assert placed["degrees"].tolist() == [8, 8, 8] and placed["object_name"].tolist() == ["a", "b", "c"]
    assert isinstance(placed, StimulusSet)
    assert placed.identifier == "made--target8.0--sourceNone"
    assert stimuli.equals(before) and stimuli.stimulus_paths == before.stimulus_paths


def test_one_file_for_one_content_whatever_its_name_or_set(stimulus_set):
    one = stimulus_set([noise(6, 6, 1), noise(6, 6, 2)], identifier="same")
    other = stimulus_set([noise(6, 6, 2), noise(6, 6, 3)], identifier="same")
    first, second = (place_on_screen(stimuli, 8, 4) for stimuli in (one, other))
    assert first.get_stimulus("image1") == second.get_stimulus("image0")
    assert len({*first.stimulus_paths.values(), *second.stimulus_paths.values()}) == 3
    assert all(cache_dir() in path.parents for path in first.stimulus_paths.values())
    np.testing.assert_array_equal(shown(second, 1)[3:9, 3:9], noise(6, 6, 3))


def test_a_file_that_was_changed_is_made_again(stimulus_set):
    one = stimulus_set([noise(6, 6, 10)])
    path = place_on_screen(one, 8, 4).get_stimulus("image0")
    content = path.read_bytes()
    path.write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    assert place_on_screen(one, 8, 4).get_stimulus("image0").read_bytes() == content
    made = path.stat()
    os.utime(path, ns=(made.st_atime_ns, made.st_mtime_ns + 5))  # as a copy of the folder has it
    place_on_screen(one, 8, 4)
    assert path.stat().st_ino == made.st_ino


@pytest.mark.parametrize("mode", ["P", "LA"])
def test_other_modes_show_as_they_load(tmp_path, mode):
    Image.fromarray(noise(16, 16)).convert(mode).save(tmp_path / "image.png")
    image = load_image(tmp_path / "image.png")
    stimuli = of_file(tmp_path / "image.png")
    np.testing.assert_array_equal(shown(place_on_screen(stimuli, 8, 4))[8:24, 8:24], image)
    np.testing.assert_array_equal(shown(place_on_screen(stimuli, 4, 8)), image[4:12, 4:12])


def test_a_jpeg_is_encoded_once_more_whatever_it_is_called(tmp_path):
    smooth = np.broadcast_to(np.arange(64, dtype=np.uint8)[:, None, None] * 3, (64, 64, 3))
    for name in ("photo.jpg", "photo"):
        Image.fromarray(smooth).save(tmp_path / name, "JPEG", quality=95)
        placed = place_on_screen(of_file(tmp_path / name), 8, 4)
        with Image.open(placed.get_stimulus("image0")) as file:
            assert file.format == "JPEG"
        inside = shown(placed)[36:92, 36:92].astype(int)
        assert 0 < np.abs(inside - load_image(tmp_path / name)[4:60, 4:60]).max() <= 8


def test_degrees_come_from_one_place_and_are_positive(stimulus_set):
    stimuli = stimulus_set([noise(4, 4)])
    with pytest.raises(ValueError, match="size of the images of 'made' is unknown"):
        place_on_screen(stimuli, 8)
    with pytest.raises(ValueError, match="'made' has a column 'degrees'.*leave out visual_degrees="):
        place_on_screen(stimulus_set([noise(4, 4)], degrees=[8]), 8, 4)
    for target, source in [(0, 8), (8, -1), (8, float("nan")), (float("inf"), 8)]:
        with pytest.raises(ValueError, match="degrees of visual angle must be positive"):
            place_on_screen(stimuli, target, source)
