"""The protocol of reducers."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bsjax.data import StimulusSet


class Reduction(Protocol):
    """A reducer made ready for one layer."""

    shape: tuple[int, ...]
    """Of what is left of the output for one image."""

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        """Float32 outputs of a batch, ``(images, *shape of the layer)``, reduced to ``(images, *self.shape)``."""
        ...


class Reducer(Protocol):
    """How a layer is made smaller. An instance holds settings only."""

    @property
    def stimuli(self) -> StimulusSet | None:
        """What it is fitted on; None if it needs nothing."""
        ...

    keeps_units: bool
    """Whether what is left are units of the layer, with their positions."""

    def digest(self) -> str:
        """A digest of all that decides what it does."""
        ...

    def reduced_shape(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        """The shape that is left of a layer's; where that depends on the fit, the largest that it can be.

        Raises:
            ValueError: it cannot reduce a layer of this shape.
        """
        ...

    def units(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """Which units of the layer are kept, as positions in C order; None for all, or if they are made anew."""
        ...

    def held_bytes(self, shape: tuple[int, ...], channels_last: bool) -> int:
        """Memory that its reduction of such a layer takes."""
        ...

    def reduction(self, shape: tuple[int, ...], channels_last: bool, fitting: np.ndarray | None) -> Reduction:
        """The reducer for one layer.

        Args:
            shape: of the layer's output for one image.
            channels_last: whether the last axis of an image-like output is the channel; else the first is.
            fitting: the layer's activations for ``stimuli``, ``(stimuli, units)``, perhaps mapped from a file; None
                if ``stimuli`` is.
        """
        ...
