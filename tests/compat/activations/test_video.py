"""Videos and images as the preprocessing of plugins takes them."""

import numpy as np
import pytest
from PIL import Image

from bsjax.activations.inputs.video import load_video
from bsjax.compat.activations.video import Video

av = pytest.importorskip("av")


@pytest.fixture(scope="module")
def ramp(tmp_path_factory):
    """Frame n has the level 10 n + 10; two seconds at 10 frames a second, 32 pixels wide."""
    from tests.activations.inputs.test_video import write_video

    return write_video(tmp_path_factory.mktemp("videos") / "ramp.mp4", range(10, 210, 10))


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "image.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (20, 30, 3), np.uint8)).save(path)
    return path


def numbers_of(frames):
    return np.round(frames.mean((1, 2, 3)) / 10).astype(int).tolist()


def test_a_whole_video_is_as_it_is(ramp):
    video = Video.from_path(ramp)
    assert (video.duration, video.fps, video.num_frames, video.frame_size) == (2000, 10, 20, (32, 32))
    frames = video.to_numpy()
    assert frames.dtype == np.uint8 and frames.shape == (20, 32, 32, 3)
    np.testing.assert_array_equal(frames, load_video(ramp, 10, (0, 20)))
    assert [frame.size for frame in video.to_pil_imgs()] == [(32, 32)] * 20 and len(video.to_frames()) == 20


def test_nothing_is_read_before_pixels_are_asked_for():
    video = Video("nowhere.mp4", fps=10, start=0, end=1000).set_window(100, 900).set_fps(5).set_size((8, 8))
    assert (video.num_frames, video.duration, video.frame_size) == (4, 800, (8, 8))
    with pytest.raises(FileNotFoundError, match="nowhere.mp4"):
        video.to_numpy()
    with pytest.raises(FileNotFoundError, match="nowhere.mp4"):
        Video.from_path("nowhere.mp4")


def test_windows_are_counted_from_each_other_and_repeat_the_ends(ramp):
    video = Video.from_path(ramp)
    assert numbers_of(video.set_window(-200, 200).to_numpy()) == [1, 1, 1, 2]
    assert numbers_of(video.set_window(1800, 2200).to_numpy()) == [19, 20, 20, 20]
    assert numbers_of(video.set_window(-300, 0).set_window(300, 500).to_numpy()) == [1, 2]
    assert video.num_frames == 20  # each is another video


def test_the_frame_rate_is_ones_own(ramp):
    video = Video.from_path(ramp)
    assert numbers_of(video.set_fps(5).to_numpy()) == [1, 3, 5, 7, 9, 11, 13, 15, 17, 19]
    assert numbers_of(video.set_fps(20).set_window(0, 200).to_numpy()) == [1, 1, 2, 2]
    with pytest.raises(ValueError, match="at 2 frames a second none fits into the 300 ms"):
        video.set_window(0, 300).set_fps(2)


def test_a_window_may_begin_between_frames(ramp):
    """At two frames a second, from 350 ms on: what is on at 350, 850 and 1350 ms."""
    video = Video.from_path(ramp).set_fps(2).set_window(350, 1850)
    assert numbers_of(video.to_numpy()) == [4, 9, 14]
    assert numbers_of(video.set_window(-400, 600).to_numpy()) == [1, 5]  # from -50 ms on


def test_sizes_are_as_opencv_resizes(picture):
    cv2 = pytest.importorskip("cv2")
    whole = np.asarray(Image.open(picture))
    for size in ((12, 9), (75, 40)):
        [resized] = Video.from_img_path(picture, 100, 10).set_size(size).to_numpy()
        assert resized.shape == (size[1], size[0], 3)
        assert np.abs(resized.astype(int) - cv2.resize(whole, size)).max() <= 1


def test_an_image_is_a_still_video(picture):
    video = Video.from_img_path(picture, 1000, 25)
    assert (video.num_frames, video.frame_size, video.set_fps(5).num_frames) == (25, (30, 20), 5)
    frames = video.set_window(-100, 300).to_numpy()
    assert frames.shape == (10, 20, 30, 3) and frames.flags.writeable
    assert (frames == np.asarray(Image.open(picture))).all()
