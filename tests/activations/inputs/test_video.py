"""Frames of videos, and clips."""

import numpy as np
import pytest
from PIL import Image

from bsjax.activations.inputs.shown_items import Item
from bsjax.activations.inputs.video import clip_preprocessing, load_item, load_video, video_duration
from tests.support.lab import film as write_video

pytest.importorskip("av")


def levels_of(frames):
    return np.round(frames.mean(axis=(1, 2, 3)) / 10).astype(int).tolist()


@pytest.fixture(scope="module")
def video(tmp_path_factory):
    """2 s at 10 frames a second, levels 10 to 200."""
    return write_video(tmp_path_factory.mktemp("videos") / "ramp.mp4", range(10, 210, 10))


def test_frames_at_the_videos_own_rate(video):
    frames = load_video(video, fps=10, window=(0, 20))
    assert frames.shape == (20, 32, 32, 3) and frames.dtype == np.uint8
    assert levels_of(frames) == list(range(1, 21))
    assert video_duration(video) == pytest.approx(2000)


def test_a_window_is_a_part_of_the_whole(video):
    for first in (3, 7, 19):
        assert levels_of(load_video(video, fps=10, window=(first, 4))) == [min(first + n, 19) + 1 for n in range(4)]


def test_other_rates_show_what_was_on_at_the_time(video):
    assert levels_of(load_video(video, fps=5, window=(0, 5))) == [1, 3, 5, 7, 9]
    assert levels_of(load_video(video, fps=25, window=(10, 6))) == [5, 5, 5, 6, 6, 7]
    assert levels_of(load_video(video, fps=30, window=(27, 6))) == [10, 10, 10, 11, 11, 11]


def test_before_the_beginning_and_after_the_end(video):
    assert levels_of(load_video(video, fps=10, window=(-3, 5))) == [1, 1, 1, 1, 2]
    assert levels_of(load_video(video, fps=10, window=(18, 5))) == [19, 20, 20, 20, 20]


def test_an_image_is_a_still_clip(tmp_path):
    path = tmp_path / "image.png"
    Image.fromarray(np.arange(48, dtype=np.uint8).reshape(4, 4, 3)).save(path)
    clip = load_item(Item(path, window=(0, 5, 25.0)))
    assert clip.shape == (5, 4, 4, 3) and clip.strides[0] == 0
    np.testing.assert_array_equal(clip[3], load_item(Item(path)))


def test_items_of_videos(video):
    assert levels_of(load_item(Item(video, window=(4, 3, 10.0)))) == [5, 6, 7]
    with pytest.raises(ValueError, match="ramp.mp4 is a video, and this model sees images"):
        load_item(Item(video))


@pytest.mark.parametrize(
    ("layout", "axes"), [("NTHWC", (0, 1, 2, 3)), ("NTCHW", (0, 3, 1, 2)), ("NCTHW", (3, 0, 1, 2))]
)
def test_clips_are_preprocessed_frame_by_frame(layout, axes):
    clip = np.random.default_rng(0).integers(0, 256, (3, 8, 8, 3), np.uint8)
    still = np.broadcast_to(clip[0], clip.shape)
    batch = clip_preprocessing(3, size=8, mean=(0.5,) * 3, std=(2.0,) * 3, layout=layout)([clip, still, clip[0]])
    wanted = ((clip / 255 - 0.5) / 2).transpose(axes)
    np.testing.assert_allclose(batch[0], wanted, atol=1e-6)
    np.testing.assert_array_equal(batch[1], batch[2])
    np.testing.assert_allclose(batch[1], ((still / 255 - 0.5) / 2).transpose(axes), atol=1e-6)


def test_clips_have_one_length():
    with pytest.raises(ValueError, match="expected clips of 4 frames, got one of 3"):
        clip_preprocessing(4, size=8)([np.zeros((3, 8, 8, 3), np.uint8)])
    with pytest.raises(ValueError, match="layout must be one of NTHWC, NTCHW, NCTHW, got 'THWC'"):
        clip_preprocessing(4, layout="THWC")
