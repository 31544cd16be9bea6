"""Sparse random projection, which preserves distances within a few per cent without fitting."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from bsjax.activations.reducers.reducer import Reducer, Reduction, unchanged


@dataclass(frozen=True)
class SparseRandomProjection(Reducer):
    """Random sums and differences of a few units each.

    For a layer of p units, each component sums a share 1/√p of them with weights ±√(√p / n_components) (Li, Hastie &
    Church 2006), as in scikit-learn. By the lemma of Johnson & Lindenstrauss (1984), squared distances between n
    images change by at most a factor 1 ± ε for ``n_components`` of at least 4 log(n) / (ε²/2 - ε³/3): for 2,560 images
    and 4,000 components, distances change by at most 6 %. A layer with no more units is unchanged.

    Args:
        n_components: number of components.
        seed: for the weights.

    Raises:
        ValueError: fewer than one component.

    Example:
        >>> reduction = SparseRandomProjection(16).reduction((8, 8, 4), channels_last=True, fitting=None)
        >>> reduction(np.ones((2, 8, 8, 4), np.float32)).shape
        (2, 16)
    """

    n_components: int = 4000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.n_components < 1:
            raise ValueError(f"n_components must be at least 1, got {self.n_components}")

    def reduced_shape(self, shape: tuple[int, ...], channels_last: bool) -> tuple[int, ...]:
        """The number of components; the layer's own shape if it is no larger."""
        return shape if int(np.prod(shape)) <= self.n_components else (self.n_components,)

    def held_bytes(self, shape: tuple[int, ...], channels_last: bool) -> int:
        """Bytes of the non-zero weights and their indices."""
        n_units = int(np.prod(shape))
        return 0 if n_units <= self.n_components else int(8 * self.n_components * np.sqrt(n_units))

    def reduction(self, shape: tuple[int, ...], channels_last: bool, fitting: np.ndarray | None) -> Reduction:
        """Draw the weights for one layer."""
        if self.reduced_shape(shape, channels_last) == shape:
            return unchanged
        from sklearn.random_projection import SparseRandomProjection as SklearnProjection

        n_components: Any = self.n_components  # the argument is typed by its default, "auto"
        # Fitting uses only the shape, so a row without memory suffices.
        row = np.broadcast_to(np.float32(0), (1, int(np.prod(shape))))
        fitted = SklearnProjection(n_components, random_state=self.seed).fit(row)
        weights = fitted.components_.astype(np.float32)
        return lambda outputs: np.ascontiguousarray((weights @ outputs.reshape(len(outputs), -1).T).T)
