"""Spatial pooling: one value for each channel and each part of the image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from bsjax.activations.reducers.reducer import Reducer, Reduction


@dataclass(frozen=True)
class SpatialPooling(Reducer):
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

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError(f"size must be at least 1, got {self.size}")
        if self.kind not in ("mean", "max"):
            raise ValueError(f"kind must be 'mean' or 'max', got {self.kind!r}")

    def reduced_shape(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        """The layer's shape with smaller spatial axes.

        Raises:
            ValueError: tokens with a grid of more than one cell.
        """
        axes = self._axes(shape, channels_last)
        return tuple(min(self.size, length) if axis in axes else length for axis, length in enumerate(shape))

    def reduction(self, shape: tuple[int, ...], channels_last: bool, fitting: np.ndarray | None) -> Reduction:
        """The pooling of one layer."""
        axes, reduced = self._axes(shape, channels_last), self.reduced_shape(shape, channels_last)
        pool = np.mean if self.kind == "mean" else np.max

        def pooled(outputs: np.ndarray) -> np.ndarray:
            for axis in axes:
                # Axes can be pooled one after the other, because cells are rectangles.
                n, size = outputs.shape[axis + 1], reduced[axis]
                cells = [range(i * n // size, -(-(i + 1) * n // size)) for i in range(size)]
                outputs = np.stack([pool(outputs.take(cell, axis + 1), axis=axis + 1) for cell in cells], axis + 1)
            return outputs.astype(np.float32, copy=False)

        return pooled

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
