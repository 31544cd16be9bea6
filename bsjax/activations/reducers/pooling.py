"""Spatial pooling: one value for each channel and each part of the image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class SpatialPooling:
    """Mean or maximum of each channel over the cells of a ``size`` x ``size`` grid.

    Cell i of an axis of length n covers positions ⌊i n / size⌋ to ⌈(i + 1) n / size⌉, as in torch's adaptive pooling.
    Tokens of a transformer, ``(tokens, features)``, are pooled into one. A layer without spatial axes, or no larger
    than the grid, is unchanged.

    Args:
        size: cells along each side of the image.
        kind: ``"mean"`` or ``"max"``.

    Raises:
        ValueError: the kind is unknown, or the size is below 1.

    Example:
        >>> pooled = SpatialPooling(1).reduction((2, 4, 4), channels_last=False, fitting=None)
        >>> pooled(np.arange(32, dtype=np.float32).reshape(1, 2, 4, 4)).tolist()
        [[[[7.5]], [[23.5]]]]
    """

    size: int = 1
    kind: Literal["mean", "max"] = "mean"

    stimuli = None
    keeps_units = False

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size must be at least 1, got {self.size}")
        if self.kind not in ("mean", "max"):
            raise ValueError(f"kind must be 'mean' or 'max', got {self.kind!r}")

    def digest(self) -> str:
        """The settings."""
        return repr(self)

    def reduced_shape(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        """The layer's shape with smaller spatial axes.

        Raises:
            ValueError: tokens with a grid of more than one cell.
        """
        axes = self._axes(shape, channels_last)
        return tuple(min(self.size, length) if axis in axes else length for axis, length in enumerate(shape))

    def units(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """None, because cells are new units."""
        return None

    def held_bytes(self, shape: tuple[int, ...], channels_last: bool) -> int:
        """Zero; pooling stores nothing."""
        return 0

    def reduction(self, shape: tuple[int, ...], channels_last: bool, fitting: np.ndarray | None) -> _Pooled:
        """The pooling of one layer."""
        return _Pooled(self, self._axes(shape, channels_last), self.reduced_shape(shape, channels_last))

    def _axes(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        if len(shape) >= 3:
            return (len(shape) - 3, len(shape) - 2) if channels_last else (len(shape) - 2, len(shape) - 1)
        if len(shape) < 2:
            return ()
        if self.size > 1:
            raise ValueError(
                f"a layer of shape {shape}, tokens by features, cannot be pooled on a grid of side {self.size}: "
                "where a token lies is not known; use size=1, or another reducer"
            )
        return (0,)


class _Pooled:
    def __init__(self, settings: SpatialPooling, axes: tuple[int, ...], shape: tuple[int, ...]) -> None:
        self.shape = shape
        self._axes, self._pool = axes, np.mean if settings.kind == "mean" else np.max

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        for axis in self._axes:
            # Axes can be pooled one after the other, because cells are rectangles.
            n, size = outputs.shape[axis + 1], self.shape[axis]
            cells = [range(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
            outputs = np.stack([self._pool(outputs.take(cell, axis + 1), axis=axis + 1) for cell in cells], axis + 1)
        return outputs.astype(np.float32, copy=False)
