"""Video files, and clips of them for a network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from bsjax.activations.inputs.preprocessing import Preprocessing, preprocess_images
from bsjax.activations.inputs.shown_items import Item
from bsjax.core.extras import import_extra
from bsjax.core.file_reading import reading_as
from bsjax.data.files.images import load_image

_SUFFIXES = {".avi", ".m4v", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".ogv", ".webm", ".wmv"}
# Tolerance, as a fraction of a frame, for a frame that begins after the requested time, because time stamps are rounded
# to the clock of the file.
_EARLY = 0.01
_LAYOUTS = {"NTHWC": (0, 1, 2, 3, 4), "NTCHW": (0, 1, 4, 2, 3), "NCTHW": (0, 4, 1, 2, 3)}

Layout = Literal["NTHWC", "NTCHW", "NCTHW"]
Result = TypeVar("Result")


def is_video(path: str | Path) -> bool:
    """Whether a file is a video, according to its extension.

    Example:
        >>> is_video("film.MP4"), is_video("dog.png")
        (True, False)
    """
    return Path(path).suffix.lower() in _SUFFIXES


def video_duration(path: str | Path) -> float:
    """Duration of a video in ms, according to its file.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the video cannot be read, or has no duration.
        ImportError: PyAV is not installed.
    """

    def duration(container: Any, stream: Any) -> float:
        seconds = None
        if stream.duration is not None:
            seconds = float(stream.duration * stream.time_base)
        elif container.duration is not None:  # in microseconds
            seconds = container.duration / 1_000_000
        if not seconds:
            raise ValueError("it does not say how long it is; write it anew, e.g. as MP4")
        return 1000 * seconds

    return _opened(path, duration)


def load_video(path: str | Path, fps: float, window: tuple[int, int]) -> np.ndarray:
    """Sample a video at a given frame rate: frame i is the one shown at ``i / fps`` seconds.

    Args:
        path: a video in any format that PyAV (FFmpeg) reads.
        fps: frames per second of the result, independent of the file's rate.
        window: the first frame and the number of frames, at ``fps``. The first frame is repeated before the beginning,
            and the last frame after the end.

    Returns:
        uint8, ``(frames, height, width, 3)``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the video cannot be read; the message names the path.
        ImportError: PyAV is not installed.

    Example:
        >>> load_video("nowhere.mp4", fps=25, window=(0, 8))
        Traceback (most recent call last):
        ...
        FileNotFoundError: no video file at nowhere.mp4
    """
    first, n = window
    wanted = np.maximum(np.arange(first, first + n), 0) / fps + _EARLY / fps
    return _opened(path, partial(_frames_at, wanted=wanted))


def load_item(item: Item) -> np.ndarray:
    """Load an item as uint8: an image, ``(height, width, 3)``, or with a window a clip, frames first.

    The clip of an image is a view that repeats the image.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be read, or is a video without a window.
    """
    if item.window is None:
        if is_video(item.path):
            raise ValueError(
                f"{item.path} is a video, and this model sees images; "
                "a model of videos is a bsjax.activations.temporal.TemporalActivations"
            )
        return load_image(item.path)
    first, n, fps = item.window
    if is_video(item.path):
        return load_video(item.path, fps, (first, n))
    image = load_image(item.path)
    return np.broadcast_to(image, (n, *image.shape))


def clip_preprocessing(
    n_frames: int,
    size: int = 224,
    mean: Sequence[float] | None = None,
    std: Sequence[float] | None = None,
    layout: Layout = "NTHWC",
) -> Preprocessing:
    """The preprocessing for video networks: each frame is preprocessed as an image, and frames are stacked.

    Args:
        n_frames: number of frames per clip. A single image is repeated for all of them.
        size: side of the square in pixels.
        mean: subtracted from each channel, in units of [0, 1].
        std: each channel is divided by it, in units of [0, 1].
        layout: of the batch: N clips, T frames, H, W rows and columns, C channels.

    Raises:
        ValueError: the layout is unknown; when called, a clip has another number of frames.

    Example:
        >>> clip_preprocessing(4, size=8, layout="NCTHW")([np.zeros((20, 30, 3), np.uint8)]).shape
        (1, 3, 4, 8, 8)
    """
    if layout not in _LAYOUTS:
        raise ValueError(f"layout must be one of {', '.join(_LAYOUTS)}, got {layout!r}")
    return partial(_preprocess_clips, n_frames=n_frames, size=size, mean=mean, std=std, layout=layout)


def _preprocess_clips(
    clips: Sequence[np.ndarray],
    n_frames: int,
    size: int,
    mean: Sequence[float] | None,
    std: Sequence[float] | None,
    layout: Layout,
) -> np.ndarray:
    batch = np.empty((len(clips), n_frames, size, size, 3), np.float32)
    for number, clip in enumerate(clips):
        clip = np.broadcast_to(clip, (n_frames, *clip.shape)) if clip.ndim == 3 else clip
        if len(clip) != n_frames:
            raise ValueError(f"expected clips of {n_frames} frames, got one of {len(clip)}")
        still = clip.strides[0] == 0  # one image repeated: preprocess it once
        batch[number] = preprocess_images(list(clip[:1] if still else clip), size, mean, std, layout="NHWC")
    return np.ascontiguousarray(batch.transpose(_LAYOUTS[layout]))


def _frames_at(container: Any, stream: Any, wanted: np.ndarray) -> np.ndarray:
    """The frames that are shown at the given times, in seconds, in order."""
    base, begin = stream.time_base, stream.start_time or 0
    if wanted[0] > 0:
        # Seek to the last key frame before it.
        container.seek(int(wanted[0] / base) + begin, backward=True, stream=stream)
    found: list[np.ndarray] = []
    last = None
    for frame in container.decode(stream):
        time = float((frame.pts - begin) * base) if frame.pts is not None else 0.0
        if last is not None:
            _repeat(found, last, int(np.searchsorted(wanted, time, side="left")))
        if len(found) == len(wanted):
            break
        last = frame
    if last is None:
        raise ValueError("there is no picture in it")
    _repeat(found, last, len(wanted))
    return np.stack(found)


def _repeat(found: list[np.ndarray], frame: Any, until: int) -> None:
    if until > len(found):
        found.extend([frame.to_ndarray(format="rgb24")] * (until - len(found)))


def _opened(path: str | Path, use: Callable[[Any, Any], Result]) -> Result:
    av = import_extra("av", "video")
    if not Path(path).exists():
        raise FileNotFoundError(f"no video file at {path}")
    with reading_as("a video", path, ""), av.open(str(path)) as container:
        if not container.streams.video:
            raise ValueError("there is no video in it")
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        return use(container, stream)
