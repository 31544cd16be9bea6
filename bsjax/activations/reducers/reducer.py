"""The protocols of reducers and of their reductions of single layers."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from bsjax.data import StimulusSet


class Reduction(Protocol):
    """A reducer prepared for one layer."""

    shape: tuple[int, ...]
    """Shape of the reduced output for one image."""

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        """Reduce float32 outputs of a batch from ``(images, *shape of the layer)`` to ``(images, *self.shape)``."""
        ...


class Reducer(Protocol):
    """Settings by which layers are reduced."""

    @property
    def stimuli(self) -> StimulusSet | None:
        """The stimuli on which it is fitted; None if it needs no fitting."""
        ...

    keeps_units: bool
    """Whether the reduced units are units of the layer, with their positions."""

    def digest(self) -> str:
        """A digest of everything that determines the result."""
        ...

    def reduced_shape(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        """The reduced shape of a layer; an upper bound if it depends on the fit.

        Raises:
            ValueError: a layer of this shape cannot be reduced.
        """
        ...

    def units(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """The units of the layer that are kept, as positions in C order; None for all, or for new units."""
        ...

    def held_bytes(self, shape: tuple[int, ...], channels_last: bool) -> int:
        """Bytes of memory that the reduction of such a layer takes."""
        ...

    def reduction(self, shape: tuple[int, ...], channels_last: bool, fitting: np.ndarray | None) -> Reduction:
        """Prepare the reducer for one layer.

        Args:
            shape: of the layer's output for one image.
            channels_last: whether the last axis of an image-like output is the channel; otherwise the first is.
            fitting: the layer's activations for ``stimuli``, ``(stimuli, units)``, possibly memory-mapped; None if
                ``stimuli`` is None.
        """
        ...
