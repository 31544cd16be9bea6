"""Clips of fixed length from images and videos of any length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from bsjax.activations.inputs.shown_items import Item
from bsjax.activations.inputs.video import is_video, video_duration


@dataclass(frozen=True)
class Clip:
    """The input of a video network.

    Attributes:
        n_frames: number of frames per clip.
        fps: frames per second at which videos are sampled, independent of their own rate.
        context: how a video longer than a clip is shown. ``"blocks"``: in consecutive clips, the last one padded with
            its last frame. ``"causal"``: one clip for each time bin, which ends with the bin, and of whose output only
            the last bin is used, so that it depends on nothing later; before the video begins, its first frame is
            shown.
        img_duration: duration for which an image is shown as a still video, in ms.

    Raises:
        ValueError: a number is not positive, or the context is unknown.

    Example:
        >>> Clip(n_frames=16, fps=25).duration
        640.0
    """

    n_frames: int
    fps: float
    context: Literal["blocks", "causal"] = "blocks"
    img_duration: float = 1000.0

    def __post_init__(self) -> None:
        if self.context not in ("blocks", "causal"):
            raise ValueError(f"context must be 'blocks' or 'causal', got {self.context!r}")
        if not (self.n_frames >= 1 and self.fps > 0 and self.img_duration > 0):
            raise ValueError(f"n_frames, fps and img_duration must be positive, got {self}")

    @property
    def duration(self) -> float:
        """Length of a clip in ms."""
        return 1000 * self.n_frames / self.fps


@dataclass(frozen=True)
class Showing:
    """The clips in which stimuli are shown, for layers with a number of time bins per clip.

    Attributes:
        clip: the input of the network.
        bins_a_clip: number of time bins in the output for a clip.
        paths: the file of each stimulus.
        bins_of: file -> number of bins until its end.
    """

    clip: Clip
    bins_a_clip: int
    paths: Sequence[Path]
    bins_of: Mapping[Path, int]

    @property
    def edges(self) -> np.ndarray:
        """Start of each bin, and end of the last, in ms, until the end of the longest stimulus."""
        return np.arange(max(self.bins_of.values()) + 1) * self.clip.duration / self.bins_a_clip

    @property
    def ends(self) -> list[tuple[int, int]]:
        """For each clip, the stimulus and the bin with which it ends, counted from 1."""
        k = self.bins_a_clip
        if self.clip.context == "causal":
            return [(row, end) for row, path in enumerate(self.paths) for end in range(1, self.bins_of[path] + 1)]
        return [(row, end) for row, path in enumerate(self.paths) for end in range(k, self.bins_of[path] + k, k)]

    def items(self) -> list[Item]:
        """The clips, in the order of ``ends``."""
        n, fps = self.clip.n_frames, self.clip.fps
        items = []
        for row, end in self.ends:
            path = self.paths[row]
            # All clips of an image are identical.
            first = round(end * n / self.bins_a_clip) - n if is_video(path) else 0
            items.append(Item(path, window=(first, n, fps)))
        return items

    def joined(self, answers: np.ndarray) -> np.ndarray:
        """Concatenate the outputs for the clips of each stimulus.

        Args:
            answers: in the order of ``ends``, ``(clips, units, bins_a_clip)``.

        Returns:
            ``(stimuli, units, bins)``; NaN from the first bin that begins after the end of the stimulus.
        """
        n_bins = len(self.edges) - 1
        joined = np.full((len(self.paths), answers.shape[1], n_bins), np.nan, answers.dtype)
        for (row, end), answer in zip(self.ends, answers, strict=True):
            start = end - (1 if self.clip.context == "causal" else self.bins_a_clip)
            stop = min(end, self.bins_of[self.paths[row]])
            joined[row, :, start:stop] = answer[:, self.bins_a_clip - (end - start) :][:, : stop - start]
        return joined


def showing(paths: Sequence[Path], clip: Clip, bins_a_clip: int) -> Showing:
    """Divide images and videos into clips.

    Raises:
        FileNotFoundError: a video has no file.
        ValueError: a video cannot be read.

    Example:
        >>> shown = showing([Path("dog.png")], Clip(n_frames=8, fps=16), bins_a_clip=4)
        >>> shown.edges.tolist(), len(shown.items())
        ([0.0, 125.0, 250.0, 375.0, 500.0, 625.0, 750.0, 875.0, 1000.0], 2)
    """
    width = clip.duration / bins_a_clip
    lasts = {path: video_duration(path) if is_video(path) else clip.img_duration for path in dict.fromkeys(paths)}
    bins_of = {path: max(int(np.ceil(duration / width - 1e-6)), 1) for path, duration in lasts.items()}
    return Showing(clip, bins_a_clip, paths, bins_of)
