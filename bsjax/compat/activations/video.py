"""Videos, and images as still videos, as passed to the preprocessing of plugins; frames are read on request."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from PIL import Image

from bsjax.activations.inputs.video import load_video, video_duration
from bsjax.core.extras import import_extra
from bsjax.core.file_reading import reading_as
from bsjax.data.files.images import image_size, load_image

# Tolerance for times and frame numbers, which are computed from each other by division.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Video:
    """A part of a video file, at a given frame rate and size.

    Attributes:
        path: the file.
        fps: frames per second.
        start: start of the part, in ms. Before the beginning of the video, its first frame is repeated.
        end: end of the part, in ms. After the end of the video, its last frame is repeated.
        size: (width, height) to resize frames to; by default their own.

    Example:
        >>> part = Video("film.mp4", fps=25, start=0, end=1000).set_window(200, 400).set_fps(10)
        >>> part.duration, part.num_frames
        (200, 2)
    """

    path: str | Path
    fps: float
    start: float
    end: float
    size: tuple[int, int] | None = None

    @staticmethod
    def from_path(path: str | Path) -> Video:
        """A whole video with its own frame rate and size.

        Raises:
            FileNotFoundError, ValueError: the file is missing, or not a readable video.
            ImportError: PyAV is not installed.
        """
        return Video(path, _frame_rate(path), 0, video_duration(path))

    @staticmethod
    def from_img_path(img_path: str | Path, duration: float, fps: float) -> Video:
        """A still image, shown for a duration in ms."""
        return VideoFromImage(img_path, fps, 0, duration)

    @property
    def duration(self) -> float:
        """Duration in ms."""
        return self.end - self.start

    @property
    def num_frames(self) -> int:
        """Number of whole frames."""
        return int(self.duration * self.fps / 1000 + _ROUNDING)

    @property
    def frame_size(self) -> tuple[int, int]:
        """Width and height of a frame."""
        return self.size or self._own_size()

    def copy(self) -> Self:
        """A copy that refers to the same file."""
        return replace(self)

    def set_size(self, size: tuple[int, int]) -> Self:
        """A copy with another size (width, height)."""
        return replace(self, size=size)

    def set_fps(self, fps: float) -> Self:
        """A copy with another frame rate.

        Raises:
            ValueError: a frame would last longer than the video.
        """
        if 1000 / fps > self.duration + _ROUNDING:
            raise ValueError(f"at {fps:g} frames a second none fits into the {self.duration:g} ms of {self.path}")
        return replace(self, fps=fps)

    def set_window(self, start: float, end: float, padding: str = "repeat") -> Self:
        """A part from ``start`` to ``end`` ms after its own start; it may extend beyond the video.

        Raises:
            ValueError: the end is before the start, or ``padding`` is not ``"repeat"``.
        """
        if end < start or padding != "repeat":
            raise ValueError(f"a window is start <= end, padded by 'repeat'; got {start}, {end}, {padding!r}")
        return replace(self, start=self.start + start, end=self.start + end)

    def to_numpy(self) -> np.ndarray:
        """The frames: uint8, ``(frames, height, width, 3)``.

        Raises:
            FileNotFoundError, ValueError: the file is missing or cannot be read.
            ImportError: PyAV is not installed.
        """
        first = self.start * self.fps / 1000
        frames = self._frames(first, int(np.ceil(self.duration * self.fps / 1000 - _ROUNDING)))
        return frames if self.size is None else np.stack([_resized(frame, self.size) for frame in frames])

    def to_frames(self) -> list[np.ndarray]:
        """The frames as a list."""
        return list(self.to_numpy())

    def to_pil_imgs(self) -> list[Image.Image]:
        """The frames for Pillow."""
        return [Image.fromarray(frame) for frame in self.to_numpy()]

    def _frames(self, first: float, n: int) -> np.ndarray:
        if abs(first - round(first)) < _ROUNDING:
            return load_video(self.path, self.fps, (round(first), n))
        # Times between the frames counted from the file's start: choose for each a rate with a frame at that time.
        times = np.maximum(np.arange(n) + first, 0) / self.fps
        numbers = [max(round(time * self.fps), 1) if time > 0 else 0 for time in times]
        rates = [number / time if number else self.fps for number, time in zip(numbers, times, strict=True)]
        found = [load_video(self.path, rate, (number, 1)) for rate, number in zip(rates, numbers, strict=True)]
        return np.concatenate(found)

    def _own_size(self) -> tuple[int, int]:
        height, width = load_video(self.path, 1, (0, 1)).shape[1:3]
        return width, height


class VideoFromImage(Video):
    """A still image as a video."""

    def _frames(self, first: float, n: int) -> np.ndarray:
        return np.repeat(load_image(self.path)[None], n, axis=0)

    def _own_size(self) -> tuple[int, int]:
        return image_size(self.path)


def _frame_rate(path: str | Path) -> float:
    av = import_extra("av", "video")
    if not Path(path).exists():
        raise FileNotFoundError(f"no video file at {path}")
    with reading_as("a video", path, ""), av.open(str(path)) as container:
        stream: Any = next(iter(container.streams.video), None)
        if stream is None or not stream.average_rate:
            raise ValueError("it does not say how many frames a second it has")
        return float(stream.average_rate)


def _resized(picture: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """An image resized to (width, height) from the four nearest pixels, as OpenCV's bilinear interpolation."""
    height, width = picture.shape[:2]
    wide, high = size
    if (width, height) == (wide, high):
        return picture
    scale = (width / wide, 0, 0, 0, height / high, 0)
    image = Image.fromarray(picture)
    return np.asarray(image.transform((wide, high), Image.Transform.AFFINE, scale, Image.Resampling.BILINEAR))
