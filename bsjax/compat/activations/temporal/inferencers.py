"""Division of videos into the windows of frames that a network is shown.

A video that is longer than the network accepts is shown in parts, a shorter one is padded with its last frame, and an
image is shown as a still video.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bsjax.activations.inputs.video import is_video, video_duration
from bsjax.compat.activations.video import Video

TIME = "T"
AXES = {"C": "channel", "H": "channel_y", "W": "channel_x", "K": "channel_token"}
"""Letters of the axes other than time, and the coordinates of units along them."""
# Tolerance for numbers of frames, which are computed from durations by division.
_ROUNDING = 1e-6
_EVENLY = "evenly_spaced"


class TemporalInferencer:
    """Shows a video as a whole, or in consecutive parts if it is longer than the network accepts.

    Args:
        get_activations: function of a list of preprocessed videos and layer names -> name -> activations.
        preprocessing: video -> input of the network.
        layer_activation_format: layer -> its axes except the first: ``"T"`` time, ``"C"`` channel, ``"H"`` row, ``"W"``
            column, ``"K"`` token.
        fps: frames per second at which videos are sampled.
        num_frames: number of frames that the network accepts, or (fewest, most). None for any number.
        duration: the same in ms.
        time_alignment: ``"evenly_spaced"``: the entries of a time axis divide the duration of the window evenly.
        convert_img_to_video: whether images are accepted and shown as still videos.
        img_duration: duration of an image, in ms.
        max_spatial_size: must be None.
        batch_size: number of videos per batch.
        visual_degrees, dtype, batch_grouper, batch_padding, max_workers: have no effect here; activations are
            float32.

    Raises:
        ValueError: a setting is out of range or not supported.
    """

    def __init__(
        self,
        get_activations: Callable[[list[Any], list[str]], Mapping[str, Any]],
        preprocessing: Callable[[Video], Any],
        layer_activation_format: Mapping[str, str],
        *,
        fps: float,
        num_frames: int | Sequence[float] | None = None,
        duration: float | Sequence[float] | None = None,
        time_alignment: str = _EVENLY,
        convert_img_to_video: bool = True,
        img_duration: float = 1000.0,
        max_spatial_size: float | None = None,
        batch_size: int = 32,
        visual_degrees: float = 8.0,
        dtype: Any = np.float32,
        batch_grouper: Callable[[Video], Any] | None = None,
        batch_padding: bool = False,
        max_workers: int | None = None,
    ) -> None:
        if not (fps > 0 and img_duration > 0):
            raise ValueError(f"fps and img_duration must be positive, got {fps} and {img_duration}")
        if time_alignment != _EVENLY:
            raise ValueError(
                f"time_alignment={time_alignment!r} is not known here, where entries of a time axis are {_EVENLY!r}; "
                "to have time among the units, flatten its axis in process_output"
            )
        if max_spatial_size is not None:
            raise ValueError(f"max_spatial_size={max_spatial_size} is not known here: pool in process_output")
        self.get_activations = get_activations
        self.preprocessing = preprocessing
        self.layer_activation_format = _checked_formats(layer_activation_format or {})
        self.fps = fps
        self._images = convert_img_to_video
        self.img_duration = img_duration
        self.batch_size = batch_size
        (fewest, most), (shortest, longest) = _range(num_frames, 1), _range(duration, 0)
        self._fewest = max(fewest, np.ceil(shortest * fps / 1000 - _ROUNDING), 1)
        self._most = min(most, np.floor(longest * fps / 1000 + _ROUNDING))
        if self._fewest > self._most:
            raise ValueError(
                f"num_frames={num_frames} and duration={duration} ms exclude each other at {fps:g} frames per second"
            )

    def window_length(self, n_frames: int) -> int:
        """Number of frames in each window, for a video of this many frames."""
        return int(min(max(n_frames, self._fewest), self._most))

    def frames_in(self, path: Path) -> int:
        """Number of frames of a video or an image.

        Raises:
            FileNotFoundError, ValueError: a video is missing or cannot be read, or images are not accepted.
        """
        if not is_video(path) and not self._images:
            raise ValueError(f"{path} is no video, and with convert_img_to_video=False no image is shown as one")
        duration = video_duration(path) if is_video(path) else self.img_duration
        return max(int(np.ceil(duration * self.fps / 1000 - _ROUNDING)), 1)

    def settings(self) -> tuple[Any, ...]:
        """All settings that determine how stimuli are shown, and how responses are processed."""
        shown = self.fps, float(self._fewest), float(self._most), self.img_duration
        return *shown, tuple(self.layer_activation_format.items())

    def time_axis(self, layer: str, shape: Sequence[int]) -> int | None:
        """The time axis of a layer's output for one video; None if it has none.

        Raises:
            ValueError: the number of axes differs from the layer's format.
        """
        axes = self.layer_activation_format[layer]
        if len(shape) != len(axes):
            raise ValueError(
                f"layer {layer!r} gives shape {tuple(shape)} for one video, and layer_activation_format says {axes!r}: "
                "it names each axis but the first, of what process_output makes"
            )
        return axes.index(TIME) if TIME in axes else None


def _range(given: float | Sequence[float] | None, least: float) -> tuple[float, float]:
    if given is None:
        return least, np.inf
    return (given[0], given[1]) if isinstance(given, Sequence) else (given, given)


def _checked_formats(formats: Mapping[str, str]) -> dict[str, str]:
    for layer, axes in formats.items():
        if len(set(axes)) < len(axes) or not set(axes) <= {TIME, *AXES}:
            known = ", ".join([TIME, *AXES])
            raise ValueError(
                f"layer_activation_format of {layer!r} is made of {known}, each once at most, got {axes!r}"
            )
    return dict(formats)
