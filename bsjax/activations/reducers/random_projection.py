"""Sparse random projections: distances kept within a few per cent, nothing to fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class SparseRandomProjection:
    """Random sums and differences of a few units each.

    Of a layer of p units, each component takes a share 1/√p of them with weights ±√(√p / n_components) (Li, Hastie &
    Church 2006), scikit-learn's. By the lemma of Johnson & Lindenstrauss (1984), squared distances between n images
    stay within a factor 1 ± ε for ``n_components`` of at least 4 log(n) / (ε²/2 - ε³/3): 6 % of the distance itself
    for 2,560 images and 4,000 components. A layer with no more units is left as it is.

    Args:
        n_components: how many to make.
        seed: of the weights.

    Raises:
        ValueError: fewer than one component.

    Example:
        >>> reduction = SparseRandomProjection(16).reduction((8, 8, 4), channels_last=True, fitting=None)
        >>> reduction(np.ones((2, 8, 8, 4), np.float32)).shape
        (2, 16)
    """

    n_components: int = 4000
    seed: int = 0

    stimuli = None
    keeps_units = False

    def __post_init__(self) -> None:
        if self.n_components < 1:
            raise ValueError(f"n_components must be at least 1, got {self.n_components}")

    def digest(self) -> str:
        """The settings."""
        return repr(self)

    def reduced_shape(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        """The components; the layer's own shape if it is no larger."""
        return shape if int(np.prod(shape)) <= self.n_components else (self.n_components,)

    def units(self, shape: tuple[int, ...]) -> np.ndarray | None:
        """None: components are new units."""
        return None

    def held_bytes(self, shape: tuple[int, ...], channels_last: bool) -> int:
        """The weights that are not zero, and where they stand."""
        n_units = int(np.prod(shape))
        return 0 if n_units <= self.n_components else int(8 * self.n_components * np.sqrt(n_units))

    def reduction(self, shape: tuple[int, ...], channels_last: bool, fitting: np.ndarray | None) -> _Projection:
        """The weights for one layer."""
        return _Projection(self, shape, self.reduced_shape(shape, channels_last))


class _Projection:
    def __init__(self, settings: SparseRandomProjection, shape: tuple[int, ...], reduced: tuple[int, ...]) -> None:
        self.shape = reduced
        self._weights = None
        if reduced != shape:
            # Typed by its default, "auto", alone.
            n_components: Any = settings.n_components
            from sklearn.random_projection import SparseRandomProjection as SklearnProjection

            projection = SklearnProjection(n_components, random_state=settings.seed)
            # It looks at the shape alone; a row that takes no memory will do.
            row = np.broadcast_to(np.float32(0), (1, int(np.prod(shape))))
            self._weights = projection.fit(row).components_.astype(np.float32)

    def __call__(self, outputs: np.ndarray) -> np.ndarray:
        if self._weights is None:
            return outputs
        return np.ascontiguousarray((self._weights @ outputs.reshape(len(outputs), -1).T).T)
