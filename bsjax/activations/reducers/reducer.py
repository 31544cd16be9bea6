"""The base class of reducers, and the type of their reductions of single layers."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

Reduction = Callable[[np.ndarray], np.ndarray]
"""Reduces float32 outputs of a batch, ``(images, *shape of the layer)`` -> ``(images, *reduced shape)``."""


class Reducer(ABC):
    """Settings by which layers are reduced. A reducer defines :meth:`reduced_shape` and :meth:`reduction`."""

    stimuli: Any = None
    """The stimulus set on which it is fitted; None if it needs no fitting."""

    keeps_units = False
    """Whether the reduced units are units of the layer, with their positions."""

    def digest(self) -> str:
        """A digest of everything that determines the result; by default the settings."""
        return repr(self)

    @abstractmethod
    def reduced_shape(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        """The reduced shape of a layer; an upper bound if it depends on the fit.

        Raises:
            ValueError: a layer of this shape cannot be reduced.
        """

    def units(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """The units of the layer that are kept, as positions in C order; None for all, or for new units."""
        return None

    def held_bytes(self, shape: tuple[int, ...], channels_last: bool) -> int:
        """Bytes of memory that the reduction of such a layer takes; by default none."""
        return 0

    @abstractmethod
    def reduction(self, shape: tuple[int, ...], channels_last: bool, fitting: np.ndarray | None) -> Reduction:
        """Prepare the reducer for one layer.

        Args:
            shape: of the layer's output for one image.
            channels_last: whether the last axis of an image-like output is the channel; otherwise the first is.
            fitting: the layer's activations for ``stimuli``, ``(stimuli, units)``, possibly memory-mapped; None if
                ``stimuli`` is None.
        """


def unchanged(outputs: np.ndarray) -> np.ndarray:
    """The reduction of a layer that is small enough."""
    return outputs
