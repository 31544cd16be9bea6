"""Videos and images as the preprocessing of plugins takes them: read when their pixels are asked for."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, Self

import numpy as np
from PIL import Image as Picture

from bsjax.activations.inputs.video import is_video, load_video, video_duration
from bsjax.core.extras import import_extra
from bsjax.core.file_reading import reading_as
from bsjax.data.files.images import image_size, load_image

_IMAGES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
# Times and numbers of frames come from each other by division.
_ROUNDING = 1e-6


class Stimulus:
    """What a model is shown."""

    _size: Any  # (width, height), or None for that of the file

    @staticmethod
    def is_video_path(path: str | Path) -> bool:
        """Whether a file's name says that it is a video."""
        return is_video(path)

    @staticmethod
    def is_image_path(path: str | Path) -> bool:
        """Whether a file's name says that it is an image.

        Example:
            >>> Stimulus.is_image_path("dog.PNG"), Stimulus.is_image_path("film.mp4")
            (True, False)
        """
        return Path(path).suffix.lower() in _IMAGES

    def copy(self) -> Self:
        """Another one of the same file."""
        return copy.copy(self)

    def set_size(self, size: tuple[int, int]) -> Self:
        """The same with frames of another (width, height)."""
        changed = self.copy()
        changed._size = size
        return changed


class Image(Stimulus):
    """An image in a file.

    Args:
        path: the file.
        size: (width, height) that it is brought to.
    """

    def __init__(self, path: str | Path, size: tuple[int, int]) -> None:
        self._path = path
        self._size = size

    @classmethod
    def from_path(cls, path: str | Path) -> Self:
        """An image in the size that it has.

        Raises:
            FileNotFoundError, ValueError: it is not there, or no image.
        """
        return cls(path, image_size(path))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return self._size

    def to_numpy(self) -> np.ndarray:
        """uint8, ``(height, width, 3)``."""
        return _resized(load_image(self._path), self._size)

    def to_pil_img(self) -> Picture.Image:
        """The same for Pillow."""
        return Picture.fromarray(self.to_numpy())


class Video(Stimulus):
    """A part of a video in a file, at a frame rate and in a size of one's own.

    Args:
        path: the file.
        fps: frames per second.
        start: of the part, in ms. Before the video begins there is its first frame.
        end: of the part, in ms. After the video ends there is its last frame.
        size: (width, height) that frames are brought to; their own if not given.

    Example:
        >>> part = Video("film.mp4", fps=25, start=0, end=1000).set_window(200, 400).set_fps(10)
        >>> part.duration, part.num_frames
        (200, 2)
    """

    def __init__(
        self, path: str | Path, fps: float, start: float, end: float, size: tuple[int, int] | None = None
    ) -> None:
        self._path = path
        self._fps = fps
        self._start, self._end = start, end
        self._size = size

    @staticmethod
    def from_path(path: str | Path) -> Video:
        """A whole video as it is.

        Raises:
            FileNotFoundError, ValueError: it is not there, or no video that can be read.
            ImportError: PyAV is not installed.
        """
        return Video(path, _frame_rate(path), 0, video_duration(path))

    @staticmethod
    def from_img_path(img_path: str | Path, duration: float, fps: float) -> Video:
        """An image that is shown still, for some ms."""
        return VideoFromImage(img_path, fps, 0, duration)

    @property
    def duration(self) -> float:
        """In ms."""
        return self._end - self._start

    @property
    def fps(self) -> float:
        """Frames per second."""
        return self._fps

    @property
    def num_frames(self) -> int:
        """How many whole frames there are."""
        return int(self.duration * self.fps / 1000 + _ROUNDING)

    @property
    def frame_size(self) -> tuple[int, int]:
        """Width and height of a frame."""
        return self._size or self._own_size()

    def set_fps(self, fps: float) -> Self:
        """The same at another frame rate.

        Raises:
            ValueError: a frame would last longer than the video.
        """
        if 1000 / fps > self.duration + _ROUNDING:
            raise ValueError(f"at {fps:g} frames a second none fits into the {self.duration:g} ms of {self._path}")
        changed = self.copy()
        changed._fps = fps
        return changed

    def set_window(self, start: float, end: float, padding: str = "repeat") -> Self:
        """A part of it, from ``start`` to ``end`` ms after its own start; it may reach beyond the video.

        Raises:
            ValueError: it ends before it starts, or ``padding`` is another one than ``"repeat"``.
        """
        if end < start or padding != "repeat":
            raise ValueError(f"a window is start <= end, padded by 'repeat'; got {start}, {end}, {padding!r}")
        changed = self.copy()
        changed._start, changed._end = self._start + start, self._start + end
        return changed

    def to_numpy(self) -> np.ndarray:
        """The frames: uint8, ``(frames, height, width, 3)``.

        Raises:
            FileNotFoundError, ValueError: the file is not there, or cannot be read.
            ImportError: PyAV is not installed.
        """
        first = self._start * self._fps / 1000
        frames = self._frames(first, int(np.ceil(self.duration * self._fps / 1000 - _ROUNDING)))
        return frames if self._size is None else np.stack([_resized(frame, self._size) for frame in frames])

    def to_frames(self) -> list[np.ndarray]:
        """The frames one by one."""
        return list(self.to_numpy())

    def to_pil_imgs(self) -> list[Picture.Image]:
        """The same for Pillow."""
        return [Picture.fromarray(frame) for frame in self.to_numpy()]

    def _frames(self, first: float, n: int) -> np.ndarray:
        if abs(first - round(first)) < _ROUNDING:
            return load_video(self._path, self._fps, (round(first), n))
        # Off the frames that are counted from the start of the file: each at a rate of its own that has one there.
        times = np.maximum(np.arange(n) + first, 0) / self._fps
        numbers = [max(round(time * self._fps), 1) if time > 0 else 0 for time in times]
        rates = [number / time if number else self._fps for number, time in zip(numbers, times, strict=True)]
        found = [load_video(self._path, rate, (number, 1)) for rate, number in zip(rates, numbers, strict=True)]
        return np.concatenate(found)

    def _own_size(self) -> tuple[int, int]:
        height, width = load_video(self._path, 1, (0, 1)).shape[1:3]
        return width, height


class VideoFromImage(Video):
    """An image that is shown still."""

    def _frames(self, first: float, n: int) -> np.ndarray:
        return np.repeat(load_image(self._path)[None], n, axis=0)

    def _own_size(self) -> tuple[int, int]:
        return image_size(self._path)


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
    """A picture in another (width, height): each pixel from the four about its place, as OpenCV's bilinear does."""
    height, width = picture.shape[:2]
    wide, high = size
    if (width, height) == (wide, high):
        return picture
    scale = (width / wide, 0, 0, 0, height / high, 0)
    image = Picture.fromarray(picture)
    return np.asarray(image.transform((wide, high), Picture.Transform.AFFINE, scale, Picture.Resampling.BILINEAR))
